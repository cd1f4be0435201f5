import { expect, test } from 'vitest'
import type { JobInput } from '../../../../bench/engine/job.ts'
import { type Emit, LOOP_JOBS, type LoopJob } from '../../../../bench/engine/limit/loop-jobs.ts'
import { paymentsInput } from '../../../../bench/engine/velocity/job.ts'
import { termsInput } from '../../../../bench/engine/windowed-counts/job.ts'
import { FIRST_MS } from '../../../../bench/engine/windowed-counts/terms.ts'
import { byteWriter } from '../../../../schemas/codec.ts'
import { integer, seededRandom } from '../../../../tools/random/random.ts'

const RECORDS = 2_000
const PER_COMMIT = 37
const HOUR_MS = 3_600_000
const random = seededRandom(5)
const draw = (most: number) => Array.from({ length: RECORDS }, () => integer(random, most))

/**
 * Runs a job of the bare loop over an input.
 * @returns 'ok', or the verifier's first fault
 */
function run(job: LoopJob, input: JobInput): string {
  const check = input.check()
  let fault: string | undefined
  const emit: Emit = (_time, key, keyEnd, value, valueEnd) => {
    const bytes = Buffer.concat([key.subarray(0, keyEnd), value.subarray(0, valueEnd)])
    fault ??= check.record(bytes, 0, keyEnd, keyEnd, bytes.length)
  }
  const [key, value] = [byteWriter(), byteWriter()]
  for (let i = 0; i < input.count; i++) {
    key.length = 0
    value.length = 0
    const time = input.write(i, key, value)
    const bytes = Buffer.concat([key.buffer.subarray(0, key.length), value.buffer.subarray(0, value.length)])
    job.record(bytes, 0, key.length, key.length, bytes.length, time, emit)
    if (i % PER_COMMIT === 0) job.beforeCommit(emit)
  }
  job.beforeCommit(emit)
  return fault ?? check.missing() ?? 'ok'
}

test('the bare loop without an engine counts terms in windows correctly', () => {
  const terms = {
    count: RECORDS,
    names: ['rain', 'sun', '#wind', 'snow'],
    term: Int32Array.from(draw(4)),
    tweetId: BigInt64Array.from(draw(1_000), BigInt),
    ts: Float64Array.from(draw(10_000), (jitter, i) => FIRST_MS + i * 4_000 + jitter),
  }
  expect(run(LOOP_JOBS.J1!(), termsInput(terms))).toBe('ok')
})

test('the bare loop without an engine computes payment features correctly', () => {
  let now = FIRST_MS
  const payments = {
    count: RECORDS,
    txId: Float64Array.from(draw(1), (_, i) => i),
    card: Float64Array.from(draw(20)),
    terminal: Float64Array.from(draw(7)),
    cents: Float64Array.from(draw(100_000)),
    ts: Float64Array.from(draw(3 * HOUR_MS), (step) => (now += step)),
  }
  expect(run(LOOP_JOBS.J2!(), paymentsInput(payments))).toBe('ok')
})
