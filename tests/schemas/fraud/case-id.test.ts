import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newestFirst, nextCaseId, partitionOfCase } from '../../../schemas/fraud/cases/case-id.ts'
import { NOON } from './payments.ts'

test('ids increase even if the clock goes backwards, and contain their partition', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5, max: 2 }), { maxLength: 200 }), fc.integer({ min: 0, max: 1_023 }), (steps, partition) => {
      let now = NOON
      let last: string | undefined
      for (const step of steps) {
        now += step
        const id = nextCaseId(last, now, partition)
        if (last !== undefined) expect(BigInt(id) > BigInt(last)).toBe(true)
        expect(partitionOfCase(id)).toBe(partition)
        last = id
      }
    }),
  )
})

test('when the ids of a millisecond are used up, the ids of the next millisecond follow', () => {
  const ids = new Set<string>()
  let last: string | undefined
  for (let made = 0; made < 10_000; made++) {
    last = nextCaseId(last, NOON, 3)
    ids.add(last)
  }
  expect(ids.size).toBe(10_000)
  expect(partitionOfCase(last!)).toBe(3)
})

test('ids from different partitions differ, exceed 2^53 and sort by time', () => {
  const ids = [nextCaseId(undefined, NOON, 0), nextCaseId(undefined, NOON, 1), nextCaseId(undefined, NOON + 1, 0)]
  expect(new Set(ids).size).toBe(3)
  for (const id of ids) expect(BigInt(id) > 2n ** 53n).toBe(true)
  expect([ids[1], ids[2], ids[0]].sort(newestFirst)).toEqual([ids[2], ids[1], ids[0]])
  expect(() => nextCaseId(undefined, NOON, 1_024)).toThrow(RangeError)
})

test('ids are compared as numbers, whatever their length', () => {
  const id = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })
  fc.assert(
    fc.property(id, fc.oneof(id, fc.bigInt({ min: 1n, max: 2_000n })), (a, b) => {
      expect(Math.sign(newestFirst(String(a), String(b)))).toBe(a === b ? 0 : a < b ? 1 : -1)
    }),
  )
})

test.each(['', '0', '-1', '01', '1.5', 'x', '9223372036854775808', '1e3'])('%j is not an id of a case', (text) => {
  expect(partitionOfCase(text)).toBeUndefined()
})
