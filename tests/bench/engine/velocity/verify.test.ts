import fc from 'fast-check'
import { expect, test } from 'vitest'
import { paymentsInput } from '../../../../bench/engine/velocity/job.ts'
import type { Payments } from '../../../../bench/engine/velocity/payments.ts'
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
