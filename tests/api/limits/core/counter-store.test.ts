import { expect, test } from 'vitest'
import type { Ask, Counter, CounterStore, ScriptRunner, Undecided } from '../../../../api/limits/core/counter.ts'
import { counterStore } from '../../../../api/limits/core/counter-store.ts'
import { ownCounts } from '../../../../api/limits/core/own-counts.ts'

const SOON = { timeout: 30_000, interval: 5 }
const NOW_US = 1_800_000_000_000_000
const WINDOW_SECONDS = 60
const WINDOW_INDEX = NOW_US / 1e6 / WINDOW_SECONDS
const HARD = 0
const UP_TO = 2
const GIVE_BACK = 3

const counter: Counter = { key: 'limits:{acme}:r:w60', tag: 'acme', limit: { limit: 1_000, windowSeconds: WINDOW_SECONDS, burst: 0 } }
const take = (mode: 'hard' | 'up-to', units: number): Ask => ({ mode, counter, units })

/** Creates a script runner whose replies the test supplies. A reply grants each counter the same number of units. */
function heldScripts() {
  const sent: { readonly args: readonly (string | number)[]; answer(taken: number): void; fail(error: Error): void }[] = []
  const scripts: ScriptRunner = {
    run: (keys, args) =>
      new Promise((resolve, reject) => {
        sent.push({ args, answer: (taken) => resolve([NOW_US, ...keys.flatMap(() => [taken, 0, 0])]), fail: reject })
      }),
    groupOf: () => '',
    nodeOf: () => '',
  }
  return { scripts, sent }
}

/** Returns whether a decision waits for a reply from Redis. It does so only while the circuit is closed. */
function isAsking(store: CounterStore): boolean {
  return store.decide([take('hard', 1)]) instanceof Promise
}

/** Returns the mode, extra field and units of each kind of request in a script's arguments. */
function kindsOf(args: readonly (string | number)[]) {
  return Array.from({ length: Number(args[0]) }, (_, kind) => {
    const [mode, , , extra, units] = args.slice(1 + 5 * kind)
    return { mode, extra, units }
  })
}

test('the slice in a late reply is returned, even while the circuit is open, but the units of requests that were let through stay counted', async () => {
  const { scripts, sent } = heldScripts()
  const clock = { ms: 0 }
  const store = counterStore({ scripts, monotonic: () => clock.ms, timeoutMs: 1 })
  const asked = Promise.all([store.decide([take('up-to', 20)]), store.decide([take('hard', 1)])])
  expect(await asked).toEqual([{ undecided: 'timeout' }, { undecided: 'timeout' }])
  clock.ms += 20
  expect(await store.decide([take('hard', 1)])).toEqual({ undecided: 'timeout' })
  expect(await store.decide([take('hard', 1)])).toEqual({ undecided: 'circuit_open' })
  sent[0].answer(20)
  await expect.poll(() => sent.length, SOON).toBe(3)
  expect(kindsOf(sent[2].args)).toEqual([{ mode: GIVE_BACK, extra: WINDOW_INDEX, units: 20 }])
})

test('a probe takes no slice, because no request waits to spend it', async () => {
  const { scripts, sent } = heldScripts()
  const clock = { ms: 0 }
  const store = counterStore({ scripts, monotonic: () => clock.ms, timeoutMs: 30_000 })
  const first = store.decide([take('hard', 1)])
  await expect.poll(() => sent.length, SOON).toBe(1)
  sent[0].fail(new Error('connection refused'))
  expect(await first).toEqual({ undecided: 'unreachable' })
  clock.ms += 60_000
  expect(await store.decide([take('up-to', 20)])).toEqual({ undecided: 'circuit_open' })
  await expect.poll(() => sent.length, SOON).toBe(2)
  expect(kindsOf(sent[1].args)).toEqual([{ mode: UP_TO, extra: 0, units: 0 }])
  sent[1].answer(0)
  // The reply to the probe closes the circuit.
  await expect.poll(() => isAsking(store), SOON).toBe(true)
  await expect.poll(() => sent.length, SOON).toBe(3)
})

test('the first read after an outage gets the counts, because it serves as the probe', async () => {
  const { scripts, sent } = heldScripts()
  const clock = { ms: 0 }
  const store = counterStore({ scripts, monotonic: () => clock.ms, timeoutMs: 30_000 })
  const read = () => store.decide([{ mode: 'soft', counter, units: 0 }])
  const during = read()
  await expect.poll(() => sent.length, SOON).toBe(1)
  sent[0].fail(new Error('connection refused'))
  expect(await during).toEqual({ undecided: 'unreachable' })
  clock.ms += 60_000
  const afterwards = read()
  await expect.poll(() => sent.length, SOON).toBe(2)
  sent[1].answer(0)
  expect(await afterwards).toEqual([{ taken: 0, nowUs: NOW_US, held: 0, heldBefore: 0 }])
  expect(isAsking(store)).toBe(true)
  await expect.poll(() => sent.length, SOON).toBe(3)
})

test('a request that sends a probe is counted once', async () => {
  const { scripts, sent } = heldScripts()
  const clock = { ms: 0 }
  const monotonic = () => clock.ms
  const own = ownCounts({ now: () => NOW_US / 1_000, monotonic })
  const store = counterStore({ scripts, monotonic, timeoutMs: 30_000, own })
  const first = store.decide([take('hard', 1)])
  await expect.poll(() => sent.length, SOON).toBe(1)
  sent[0].fail(new Error('connection refused'))
  await first
  clock.ms += 1_000
  const asks = [take('hard', 1)]
  // The instance's own counts allow this request, and the next request charges it to Redis.
  own.decide(asks, (await store.decide(asks)) as Undecided)
  await expect.poll(() => sent.length, SOON).toBe(2)
  sent[1].answer(0)
  await expect.poll(() => isAsking(store), SOON).toBe(true)
  await expect.poll(() => sent.length, SOON).toBe(3)
  expect(sent.slice(1).flatMap(({ args }) => kindsOf(args))).toEqual([
    { mode: HARD, extra: 0, units: 0 },
    { mode: GIVE_BACK, extra: WINDOW_INDEX, units: -1 },
    { mode: HARD, extra: 0, units: 1 },
  ])
})

test('a slice counts as lost if the connection is lost before the reply, even after the request has timed out, but not if Redis replies with an error', async () => {
  const { scripts, sent } = heldScripts()
  const lost: string[] = []
  const slice = (name: string): Ask => ({ mode: 'up-to', counter, units: 20, onUnknownOutcome: () => lost.push(name) })
  const closed = counterStore({ scripts, monotonic: () => 0, timeoutMs: 30_000 })
  const refused = counterStore({ scripts, monotonic: () => 0, timeoutMs: 30_000 })
  const late = counterStore({ scripts, monotonic: () => 0, timeoutMs: 1 })
  const asked = [closed.decide([slice('closed')]), refused.decide([slice('refused')]), late.decide([slice('late')])]
  await expect.poll(() => sent.length, SOON).toBe(3)
  sent[0].fail(new Error('Connection is closed.'))
  sent[1].fail(Object.assign(new Error('OOM'), { name: 'ReplyError' }))
  expect(await Promise.all(asked)).toEqual([{ undecided: 'unreachable' }, { undecided: 'error_reply' }, { undecided: 'timeout' }])
  expect(lost).toEqual(['closed'])
  sent[2].fail(new Error('Connection is closed.'))
  await expect.poll(() => lost, SOON).toEqual(['closed', 'late'])
})

test('returned units are sent while the circuit is open, and do not count as a probe', async () => {
  const { scripts, sent } = heldScripts()
  const failures: string[] = []
  const store = counterStore({ scripts, monotonic: () => 0, timeoutMs: 30_000, onFailure: (reason) => void failures.push(reason) })
  const first = store.decide([take('hard', 1)])
  await expect.poll(() => sent.length, SOON).toBe(1)
  sent[0].fail(new Error('connection refused'))
  await first
  const returned = store.decide([{ mode: 'give-back', counter, units: 3, windowIndex: WINDOW_INDEX }])
  await expect.poll(() => sent.length, SOON).toBe(2)
  sent[1].answer(0)
  await returned
  expect(await store.decide([take('hard', 1)])).toEqual({ undecided: 'circuit_open' })
  expect(failures).toEqual(['unreachable'])
})

test('an error that concerns only one slot of a cluster does not open the circuit, and closes an open circuit if it is the reply to a probe', async () => {
  const { scripts, sent } = heldScripts()
  const clock = { ms: 0 }
  const store = counterStore({ scripts, monotonic: () => clock.ms, timeoutMs: 30_000 })
  const isMoving = Object.assign(new Error('TRYAGAIN Multiple keys request during rehashing of slot'), { name: 'ReplyError' })
  const first = store.decide([take('hard', 1)])
  await expect.poll(() => sent.length, SOON).toBe(1)
  sent[0].fail(isMoving)
  expect(await first).toEqual({ undecided: 'error_reply' })
  const second = store.decide([take('hard', 1)])
  await expect.poll(() => sent.length, SOON).toBe(2)
  sent[1].fail(new Error('connection refused'))
  expect(await second).toEqual({ undecided: 'unreachable' })
  clock.ms += 60_000
  expect(await store.decide([take('hard', 1)])).toEqual({ undecided: 'circuit_open' })
  await expect.poll(() => sent.length, SOON).toBe(3)
  sent[2].fail(isMoving)
  await expect.poll(() => isAsking(store), SOON).toBe(true)
})

test('if one shard refuses a request and another does not answer, only the rule of the first shard counts as exceeded', async () => {
  const scripts: ScriptRunner = {
    run: async (keys) => {
      if (keys[0].includes('away')) throw new Error('connection refused')
      return [NOW_US, ...keys.flatMap(() => [0, 1_000, 0])]
    },
    groupOf: (tag) => tag,
    nodeOf: (group) => group,
  }
  const store = counterStore({ scripts, monotonic: () => 0, timeoutMs: 30_000 })
  const away: Ask = { mode: 'hard', counter: { ...counter, key: 'limits:{away}:r:w60', tag: 'away' }, units: 1 }
  expect(await store.decide([take('hard', 1), away])).toMatchObject([{ taken: 0, held: 1_000 }, { taken: 1 }])
})
