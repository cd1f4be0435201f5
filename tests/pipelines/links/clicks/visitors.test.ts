import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addHash, estimate, REGISTERS } from '../../../../pipelines/links/clicks/hyperloglog.ts'
import { addVisitors, countVisitors, EXACT_VISITORS, noVisitors } from '../../../../pipelines/links/clicks/visitors.ts'

const STANDARD_ERROR = 1.04 / Math.sqrt(REGISTERS)

function visitor(number: number): string {
  return hash('sha256', `visitor ${number}`, 'hex').slice(0, 16)
}

function visitorsUpTo(count: number): Set<string> {
  return new Set(Array.from({ length: count }, (_, number) => visitor(number)))
}

test('while counts are exact, each visitor is counted once, no matter how visitors are split into batches', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 60 }), { maxLength: 20 }), (batches) => {
      const visitors = noVisitors()
      const truth = new Set<number>()
      for (const batch of batches) {
        const before = truth.size
        for (const number of batch) truth.add(number)
        expect(addVisitors(visitors, new Set(batch.map(visitor)))).toBe(truth.size > before)
      }
      expect(countVisitors(visitors)).toEqual({ count: truth.size, isExact: true })
    }),
    { numRuns: 50 },
  )
})

test('the count is exact up to EXACT_VISITORS, and an estimate above that number', () => {
  const visitors = noVisitors()
  addVisitors(visitors, visitorsUpTo(EXACT_VISITORS))
  expect(countVisitors(visitors)).toEqual({ count: EXACT_VISITORS, isExact: true })
  addVisitors(visitors, new Set([visitor(EXACT_VISITORS)]))
  const { count, isExact } = countVisitors(visitors)
  expect(isExact).toBe(false)
  expect(Math.abs(count - EXACT_VISITORS - 1)).toBeLessThan(4 * STANDARD_ERROR * EXACT_VISITORS)
})

test('visitors who were counted before do not change the sketch', () => {
  const visitors = noVisitors()
  addVisitors(visitors, visitorsUpTo(5_000))
  expect(addVisitors(visitors, visitorsUpTo(5_000))).toBe(false)
})

test('the order of visitors does not affect the estimate', () => {
  const [one, other] = [noVisitors(), noVisitors()]
  const all = [...visitorsUpTo(3_000)]
  addVisitors(one, new Set(all))
  for (let at = 0; at < all.length; at += 100) addVisitors(other, new Set(all.slice(at, at + 100).reverse()))
  expect(other.registers.equals(one.registers)).toBe(true)
})

/**
 * Creates a generator of 32-bit numbers that are distributed as evenly as hashes. It is the 32-bit form of SplitMix
 * (Steele, Vigna).
 */
function randomBits(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x9e3779b9) | 0
    let z = state ^ (state >>> 16)
    z = Math.imul(z, 0x21f0aaad)
    z ^= z >>> 15
    z = Math.imul(z, 0x735a2d97)
    return (z ^ (z >>> 15)) >>> 0
  }
}

test.each([1_100, 5_000, 20_000, 100_000, 500_000])('estimates of %i visitors have the stated error', (count) => {
  const runs = count > 100_000 ? 8 : 20
  let squares = 0
  for (let run = 0; run < runs; run++) {
    const random = randomBits(1_000_003 * run + count)
    const registers = Buffer.alloc(REGISTERS)
    for (let i = 0; i < count; i++) addHash(registers, random(), random())
    squares += (estimate(registers) / count - 1) ** 2
  }
  // With so few runs, the root mean square is itself uncertain. It exceeds 1.6 times the standard error with a
  // probability below one in a thousand for 20 runs, and below one in a hundred for eight.
  expect(Math.sqrt(squares / runs)).toBeLessThan(1.6 * STANDARD_ERROR)
})

test('the estimate of an empty sketch is 0, and the estimate of a saturated sketch is above 2^60', () => {
  expect(estimate(Buffer.alloc(REGISTERS))).toBe(0)
  const full = Buffer.alloc(REGISTERS, 52)
  expect(estimate(full)).toBeGreaterThan(2 ** 60)
})
