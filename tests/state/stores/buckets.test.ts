import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addTo,
  type Buckets,
  bucketBefore,
  bucketFrom,
  dropBefore,
  eachBucket,
  emptyBuckets,
  newestOf,
  sumOf,
} from '../../../state/stores/buckets.ts'

const KEEP = 10
const additions = fc.array(fc.record({ bucket: fc.integer({ min: 1000, max: 1030 }), count: fc.integer({ min: 1, max: 5 }) }), {
  maxLength: 60,
})

function entriesOf(buckets: Buckets): [number, number][] {
  const entries: [number, number][] = []
  eachBucket(buckets, (bucket, count) => entries.push([bucket, count]))
  return entries
}

test('buckets behave like a map that drops old entries', () => {
  fc.assert(
    fc.property(additions, (all) => {
      const buckets = emptyBuckets()
      const model = new Map<number, number>()
      const dropped: [number, number][] = []
      for (const { bucket, count } of all) {
        const newest = Math.max(-Infinity, ...model.keys())
        const expected = bucket <= newest - KEEP ? 0 : (model.get(bucket) ?? 0) + count
        if (expected > 0) model.set(bucket, expected)
        const before = new Map(model)
        for (const known of model.keys()) if (known <= Math.max(newest, bucket) - KEEP) model.delete(known)
        dropped.length = 0
        expect(addTo(buckets, bucket, count, KEEP, (...drop) => dropped.push(drop))).toBe(expected)
        expect(dropped).toEqual([...before].filter(([known]) => !model.has(known)).sort((a, b) => a[0] - b[0]))
        expect(entriesOf(buckets)).toEqual([...model].sort((a, b) => a[0] - b[0]))
        expect(buckets.first + (buckets.at[0] ?? 0)).toBe(entriesOf(buckets)[0]?.[0] ?? buckets.first)
      }
    }),
  )
})

test('the sum of a range, the newest bucket and the neighbours of a bucket match the entries', () => {
  fc.assert(
    fc.property(additions, fc.integer({ min: 995, max: 1035 }), fc.integer({ min: 0, max: 20 }), (all, from, length) => {
      const buckets = emptyBuckets()
      for (const { bucket, count } of all) addTo(buckets, bucket, count, KEEP)
      const entries = entriesOf(buckets)
      const inside = entries.filter(([bucket]) => bucket >= from && bucket <= from + length)
      expect(sumOf(buckets, from, from + length)).toBe(inside.reduce((sum, [, count]) => sum + count, 0))
      expect(newestOf(buckets)).toBe(entries.at(-1)?.[0] ?? -1)
      expect(bucketBefore(buckets, from)).toBe(Math.max(-Infinity, ...entries.map(([b]) => b).filter((b) => b < from)))
      expect(bucketFrom(buckets, from)).toBe(Math.min(Infinity, ...entries.map(([b]) => b).filter((b) => b >= from)))
    }),
  )
})

test('buckets can be filled again after all entries have been dropped', () => {
  const buckets = emptyBuckets()
  addTo(buckets, 100, 1, KEEP)
  dropBefore(buckets, 101)
  expect(newestOf(buckets)).toBe(-1)
  expect(addTo(buckets, 5, 2, KEEP)).toBe(2)
  expect(entriesOf(buckets)).toEqual([[5, 2]])
})
