import { expect, test } from 'vitest'
import { rehearsePayment } from '../../../api/fraud/score/rehearse-payment.ts'
import { warmUp } from '../../../api/fraud/score/warm-up.ts'
import { manualRuntime } from '../../../runtime/manual.ts'
import { personalHashes } from '../../../schemas/fraud/personal-hash.ts'
import { NOON } from '../../schemas/fraud/payments.ts'
import { LOW_RISK, scoreWorld } from './score-world.ts'

const hashes = personalHashes('0123456789abcdef012345')
const SECONDS = 1_000

test('a rehearsal runs all Redis scripts of scoring, but leaves no log entries, counts or lasting answers', async () => {
  const { state, logged, stages, activities, keptMs, tallied, rehearsed } = scoreWorld()
  state.outcome = LOW_RISK
  expect(await rehearsePayment({ score: rehearsed, hashes, now: () => NOON })).toBe(true)
  expect(new Set(state.calls)).toEqual(new Set(['claim-answer', 'enrich', 'keep-answer']))
  expect(keptMs).toEqual(keptMs.map(() => 1))
  expect(keptMs.length).toBeGreaterThan(0)
  expect({ logged, stages, activities }).toEqual({ logged: [], stages: [], activities: [] })
  expect(tallied()).toBe(0)
})

test('a rehearsal returns false if a part was unavailable', async () => {
  const { state, rehearsed } = scoreWorld()
  expect(await rehearsePayment({ score: rehearsed, hashes, now: () => NOON })).toBe(false)
  state.outcome = LOW_RISK
  state.redis = 'fails'
  expect(await rehearsePayment({ score: rehearsed, hashes, now: () => NOON })).toBe(false)
})

/** Advances the clock in steps until the condition holds. */
async function advanceUntil(runtime: ReturnType<typeof manualRuntime>, isReached: () => boolean): Promise<void> {
  for (let steps = 0; !isReached(); steps++) {
    if (steps > 1_000) throw new Error('never')
    runtime.advance(10)
    await runtime.nextTurn()
  }
}

test('a process is ready after some bursts of rehearsals in which every part was available', async () => {
  const runtime = manualRuntime()
  let scored = 0
  let isCold = true
  const { probe, done } = warmUp({
    ...runtime,
    async rehearse() {
      scored++
      return !isCold
    },
  })
  expect(await probe.check()).toBe('scoring is warming up')
  await advanceUntil(runtime, () => scored > 20)
  expect(await probe.check()).toBe('scoring is warming up')
  isCold = false
  let isDone = false
  void done.then(() => {
    isDone = true
  })
  await advanceUntil(runtime, () => isDone)
  expect(await probe.check()).toBeUndefined()
  expect(runtime.monotonic()).toBeLessThan(1 * SECONDS)
})

test.each([
  ['fails', () => Promise.reject(new Error('not read yet'))],
  ['finds a part unavailable', () => Promise.resolve(false)],
  ['hangs', () => new Promise<never>(() => undefined)],
])('a process whose rehearsal %s is ready after three seconds', async (_what, rehearse) => {
  const runtime = manualRuntime()
  const { probe } = warmUp({ ...runtime, rehearse })
  await advanceUntil(runtime, () => runtime.monotonic() >= 2.9 * SECONDS)
  expect(await probe.check()).toBe('scoring is warming up')
  await advanceUntil(runtime, () => runtime.monotonic() >= 3 * SECONDS)
  expect(await probe.check()).toBeUndefined()
})
