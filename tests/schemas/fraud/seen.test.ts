import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withSightings } from '../../../schemas/fraud/profile/seen.ts'

const ROW_BYTES = 16
const LIMIT = { keptMs: 50, most: 8 }

interface Seen {
  readonly hash: number
  readonly first: number
  readonly last: number
}

const sightings = fc.array(fc.record({ hash: fc.integer({ min: 0, max: 15 }), at: fc.integer({ min: 0, max: 60 }) }), { maxLength: 40 })

test('the most recently seen entities are kept with their first and last times, and among equal times, the entities with the smallest hashes are kept', () => {
  fc.assert(
    fc.property(fc.array(sightings, { maxLength: 6 }), (batches) => {
      let rows: Buffer = Buffer.alloc(0)
      let expected: Seen[] = []
      let newest = 0
      for (const batch of batches) {
        newest = Math.max(newest, ...batch.map(({ at }) => at))
        rows = withSightings(rows, batch, LIMIT, newest)
        expected = expectedAfter(expected, batch, newest)
      }
      expect(rowsOf(rows)).toEqual(expected)
    }),
  )
})

function expectedAfter(before: readonly Seen[], batch: readonly { hash: number; at: number }[], newest: number): Seen[] {
  const all = [...before, ...batch.map(({ hash, at }) => ({ hash, first: at, last: at }))]
  return [...Map.groupBy(all, ({ hash }) => hash)]
    .map(([hash, seen]) => ({ hash, first: Math.min(...seen.map(({ first }) => first)), last: Math.max(...seen.map(({ last }) => last)) }))
    .filter(({ last }) => last > newest - LIMIT.keptMs)
    .sort((a, b) => b.last - a.last || a.hash - b.hash)
    .slice(0, LIMIT.most)
    .sort((a, b) => a.hash - b.hash)
}

function rowsOf(rows: Buffer): Seen[] {
  return Array.from({ length: rows.length / ROW_BYTES }, (_, index) => {
    const row = rows.subarray(index * ROW_BYTES)
    return { hash: row.readUInt32BE(0), first: row.readUIntBE(4, 6), last: row.readUIntBE(10, 6) }
  }).sort((a, b) => a.hash - b.hash)
}
