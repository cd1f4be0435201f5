import fc from 'fast-check'
import { expect, test } from 'vitest'
import { termsInput } from '../../../../bench/engine/windowed-counts/job.ts'
import { FIRST_MS, type Terms } from '../../../../bench/engine/windowed-counts/terms.ts'
import { hoppingCounts } from '../../../../bench/engine/windowed-counts/topology.ts'
import { runJob } from '../run-job.ts'

const NAMES = ['rain', 'sun', '#wind']
const JITTER_MS = 5_000

/** Records at steps from milliseconds to many windows. Jitter swaps neighbours, but makes no record late. */
const termsArbitrary = fc
  .array(
    fc.record({
      term: fc.nat({ max: NAMES.length - 1 }),
      step: fc.oneof(fc.constantFrom(0, 60_000, 300_000, 3_600_000), fc.nat({ max: 90_000 })),
      jitter: fc.integer({ min: -JITTER_MS, max: JITTER_MS }),
    }),
    { minLength: 1, maxLength: 80, size: 'max' },
  )
  .map((list): Terms => {
    let now = FIRST_MS
    const ts = list.map(({ step, jitter }) => {
      now += step
      return now + jitter
    })
    return {
      count: list.length,
      names: NAMES,
      term: Int32Array.from(list, ({ term }) => term),
      tweetId: BigInt64Array.from(list, (_, i) => 2n ** 60n + BigInt(i)),
      ts: Float64Array.from(ts),
    }
  })

test('the topology produces what the verifier expects, across commits and crashes', () => {
  fc.assert(
    fc.property(termsArbitrary, fc.infiniteStream(fc.nat()), (terms, choices) => {
      expect(runJob(hoppingCounts, termsInput(terms), choices)).toBe('ok')
    }),
    { numRuns: 50 },
  )
})
