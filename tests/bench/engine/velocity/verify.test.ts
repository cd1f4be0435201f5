import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JobTopology } from '../../../../bench/engine/job.ts'
import { paymentsInput } from '../../../../bench/engine/velocity/job.ts'
import { type Payments, spreadOverCards } from '../../../../bench/engine/velocity/payments.ts'
import { velocityFeatures } from '../../../../bench/engine/velocity/topology.ts'
import { runJob } from '../run-job.ts'

const HOUR_MS = 3_600_000

/** Payments of a few cards, ordered by time. Steps of whole hours hit the edges of windows. */
const paymentsArbitrary = fc
  .array(
    fc.record({
      card: fc.integer({ min: 0, max: 3 }),
      cents: fc.integer({ min: 0, max: 100_000 }),
      step: fc.oneof(fc.constantFrom(0, HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS), fc.integer({ min: 0, max: 30 * HOUR_MS })),
    }),
    { maxLength: 60, size: 'max' },
  )
  .map((list): Payments => {
    let now = 1_522_540_800_000
    const ts = list.map(({ step }) => (now += step))
    return {
      count: list.length,
      txId: Float64Array.from(list, (_, i) => i),
      card: Float64Array.from(list, ({ card }) => card),
      terminal: Float64Array.from(list, (_, i) => i % 7),
      cents: Float64Array.from(list, ({ cents }) => cents),
      ts: Float64Array.from(ts),
    }
  })

test('the topology produces what the verifier expects, across commits and crashes', () => {
  fc.assert(
    fc.property(paymentsArbitrary, fc.infiniteStream(fc.nat()), (payments, choices) => {
      expect(runJob(velocityFeatures, paymentsInput(payments), choices)).toBe('ok')
    }),
    { numRuns: 50 },
  )
})

test('with padded states, the topology also produces what the verifier expects', () => {
  fc.assert(
    fc.property(paymentsArbitrary, fc.infiniteStream(fc.nat()), (payments, choices) => {
      const padded = (options: JobTopology) => velocityFeatures({ ...options, statePadding: 300 })
      expect(runJob(padded, paymentsInput(payments), choices)).toBe('ok')
    }),
    { numRuns: 10 },
  )
})

test('payments that are spread over the cards visit each card once before they visit cards at random', () => {
  const zeros = () => new Float64Array(200)
  const payments = { count: 200, txId: zeros(), card: zeros(), terminal: zeros(), cents: zeros(), ts: zeros() }
  const { card } = spreadOverCards(payments, 50)
  expect([...card.subarray(0, 50)]).toEqual(Array.from({ length: 50 }, (_, i) => i))
  const random = [...card.subarray(50)]
  expect(random.every((each) => Number.isInteger(each) && each >= 0 && each < 50)).toBe(true)
  expect(new Set(random).size).toBeGreaterThan(40)
  expect(spreadOverCards(payments, 50).card).toEqual(card)
})
