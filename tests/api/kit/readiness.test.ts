import { expect, test } from 'vitest'
import { readiness, viewProbe } from '../../../api/kit/readiness.ts'
import { fakeRedis } from '../../state/views/fake-redis.ts'

const MAX_AGE_MS = 1_000

/** Creates a probe that counts how often it is checked. */
function counted() {
  const clock = { now: 0 }
  const state = { asked: 0, reason: undefined as string | undefined }
  const probe = {
    name: 'redis',
    async check() {
      state.asked++
      return state.reason
    },
  }
  return { clock, state, ready: readiness([probe], { maxAgeMs: MAX_AGE_MS, monotonic: () => clock.now }) }
}

test('each probe is checked at most once a second, however often the report is requested', async () => {
  const { clock, state, ready } = counted()
  await Promise.all(Array.from({ length: 50 }, () => ready.report()))
  clock.now += MAX_AGE_MS - 1
  await ready.report()
  expect(state.asked).toBe(1)
  state.reason = 'gone'
  clock.now += 1
  expect((await ready.report()).missing).toEqual([{ name: 'redis', reason: 'gone' }])
  expect(state.asked).toBe(2)
})

test('a check is not started again while it still runs, even if the last report is too old to be reused', async () => {
  const clock = { now: 0 }
  const answers: ((reason: string) => void)[] = []
  const probe = { name: 'redis', check: () => new Promise<string>((answer) => answers.push(answer)) }
  const ready = readiness([probe], { maxAgeMs: MAX_AGE_MS, monotonic: () => clock.now })
  const first = ready.report()
  clock.now += MAX_AGE_MS + 1
  const second = ready.report()
  expect(answers).toHaveLength(1)
  answers[0]('gone')
  for (const report of [first, second]) expect((await report).missing).toEqual([{ name: 'redis', reason: 'gone' }])
  const third = ready.report()
  expect(answers).toHaveLength(2)
  answers[1]('still gone')
  expect((await third).missing).toEqual([{ name: 'redis', reason: 'still gone' }])
})

test('a probe that several services share is checked and reported once', async () => {
  let asked = 0
  const probe = { name: 'results', optional: true, check: async () => `asked ${++asked} times` }
  expect((await readiness([probe, probe]).report()).degraded).toEqual([{ name: 'results', reason: 'asked 1 times' }])
})

test('a stopping process is immediately not ready, even if the last checks succeeded', async () => {
  const { state, ready } = counted()
  expect((await ready.report()).missing).toEqual([])
  ready.startDraining()
  expect((await ready.report()).missing).toEqual([{ name: 'process', reason: 'stopping' }])
  expect(state.asked).toBe(1)
})

test('a process is not ready before its views are built, but stays ready when a view is built again', async () => {
  const redis = fakeRedis()
  const ready = readiness([viewProbe(redis.reader, { partitionsOf: () => 2 }, 'links', { name: 'link-decisions' })], { maxAgeMs: 0 })
  const missing = { name: 'view links', reason: 'still being built: partitions 0, 1' }
  expect(await ready.report()).toEqual({ missing: [missing], degraded: [] })
  redis.caughtUp('links', 2)
  expect(await ready.report()).toEqual({ missing: [], degraded: [] })
  redis.flush()
  expect(await ready.report()).toEqual({ missing: [], degraded: [missing] })
})
