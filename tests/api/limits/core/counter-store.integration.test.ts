import fc from 'fast-check'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import type { Ask, Counter, CounterStore, Reading } from '../../../../api/limits/core/counter.ts'
import { counterStore } from '../../../../api/limits/core/counter-store.ts'
import { type Limit, US_PER_SECOND } from '../../../../api/limits/core/formulas.ts'
import { statusOf } from '../../../../api/limits/core/limiter.ts'
import { ownCounts } from '../../../../api/limits/core/own-counts.ts'
import { connectLimiterRedis, type LimiterRedis } from '../../../../api/limits/core/redis-connection.ts'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { testStack, uniqueName } from '../../../stack/index.ts'
import { privateRedisCluster } from '../../../state/views/redis-cluster.ts'
import { modelOf } from './model.ts'
import { clockedScripts } from './test-clock.ts'

const START_US = Date.UTC(2026, 0, 15, 12) * 1_000
/**
 * How long the store waits for Redis. It is long because these tests check correctness, not speed: the store must not
 * fail open on a busy machine.
 */
const PATIENT_MS = 20_000
const CLUSTER_NODES = 3

function patientStore(scripts: LimiterRedis['scripts']): CounterStore {
  return counterStore({ scripts, monotonic: () => performance.now(), timeoutMs: PATIENT_MS })
}

async function clocked() {
  const redis = new Redis(await testStack().redis())
  onTestFinished(() => redis.disconnect())
  const { scripts, setTime } = clockedScripts(redis, uniqueName('clock'))
  return { redis, scripts, setTime, store: patientStore(scripts) }
}

async function connected(url: string, cluster: boolean) {
  const redis = connectLimiterRedis({ url, cluster })
  onTestFinished(() => redis.close())
  const store = patientStore(redis.scripts)
  const probe = counterOf(SMALL)
  await waitUntil(async () => !('undecided' in (await store.decide([{ mode: 'hard', counter: probe, units: 0 }]))), {
    what: 'a connection',
    timeoutMs: PATIENT_MS,
  })
  return { redis, store }
}

function counterOf(limit: Limit, tag = uniqueName('caller'), name = 'rule'): Counter {
  return { tag, key: `limits:{${tag}}:${name}`, limit }
}

const SMALL: Limit = { limit: 3, windowSeconds: 10, burst: 0 }

async function decided(store: CounterStore, asks: readonly Ask[]): Promise<readonly Reading[]> {
  const outcome = await store.decide(asks)
  if ('undecided' in outcome) throw new Error(`undecided: ${outcome.undecided}`)
  return outcome
}

async function take(store: CounterStore, counter: Counter, units = 1): Promise<boolean> {
  const [reading] = await decided(store, [{ mode: 'hard', counter, units }])
  return reading.taken === units
}

const limits = fc.record({
  limit: fc.integer({ min: 1, max: 20 }),
  windowSeconds: fc.constantFrom(1, 2, 7, 60),
  burst: fc.constantFrom(0, 0, 1, 5, 40),
})
/**
 * Generates gaps between requests as fractions of a window, from bursts to pauses longer than two windows. Some are
 * exact multiples of a window, so that requests hit the edges of windows.
 */
const gaps = fc.array(fc.oneof(fc.constantFrom(0, 1e-6, 0.5, 1, 2, 3), fc.double({ min: 0, max: 0.3, noNaN: true })), {
  minLength: 1,
  maxLength: 60,
})

/** Maximum number of requests from one turn of the event loop that share a script call. */
const ASKS_PER_SCRIPT = 16

test('every decision equals that of the exact model, for random arrivals and at window edges', async () => {
  const { store, setTime } = await clocked()
  await fc.assert(
    fc.asyncProperty(limits, gaps, fc.integer({ min: 0, max: 999_999 }), async (limit, pattern, offset) => {
      const counter = counterOf(limit)
      const model = modelOf(limit)
      let now = START_US + offset
      for (const gap of pattern) {
        now += Math.round(gap * limit.windowSeconds * US_PER_SECOND)
        await setTime(now)
        expect(await take(store, counter)).toBe(model.request(now))
      }
    }),
    { numRuns: 60 },
  )
})

test('a bucket still decides after its capacity is raised so far that filling it takes billions of years', async () => {
  const { store, setTime } = await clocked()
  await setTime(START_US)
  const year = { limit: 1, windowSeconds: 31_536_000 }
  const counter = counterOf({ ...year, burst: 1 })
  expect([await take(store, counter), await take(store, counter), await take(store, counter)]).toEqual([true, true, false])
  const raised = { ...counter, limit: { ...year, burst: 2_147_483_646 } }
  await setTime(START_US + 2 * year.windowSeconds * US_PER_SECOND)
  expect([await take(store, raised), await take(store, raised), await take(store, raised)]).toEqual([true, true, false])
})

test('requests in the same turn of the event loop share script calls, which decide them one after another', async () => {
  const { scripts, setTime } = await clocked()
  let calls = 0
  function run(keys: readonly string[], args: readonly (string | number)[]): Promise<number[]> {
    calls++
    return scripts.run(keys, args)
  }
  const store = patientStore({ ...scripts, run })
  await fc.assert(
    fc.asyncProperty(limits, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 }), async (limit, rushes) => {
      const counter = counterOf(limit)
      const model = modelOf(limit)
      let now = START_US
      for (const requests of rushes) {
        now += Math.round(0.37 * limit.windowSeconds * US_PER_SECOND)
        await setTime(now)
        const before = calls
        const answers = await Promise.all(Array.from({ length: requests }, () => take(store, counter)))
        expect(answers).toEqual(Array.from({ length: requests }, () => model.request(now)))
        expect(calls - before).toBe(Math.ceil(requests / ASKS_PER_SCRIPT))
      }
    }),
    { numRuns: 40 },
  )
})

test('requests in the same turn of the event loop may have different limits, and each is decided by its own limit', async () => {
  const { store, setTime } = await clocked()
  const request = fc.record({ counter: fc.integer({ min: 0, max: 3 }), units: fc.integer({ min: 1, max: 3 }) })
  const kinds = fc.array(limits, { minLength: 4, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(kinds, fc.array(fc.array(request, { maxLength: 90 }), { minLength: 1, maxLength: 3 }), async (kinds, turns) => {
      const counters = kinds.map((limit) => ({ limit, counter: counterOf(limit), model: modelOf(limit) }))
      let now = START_US
      for (const requests of turns) {
        now += 700_000
        await setTime(now)
        const answers = await Promise.all(requests.map(({ counter, units }) => take(store, counters[counter].counter, units)))
        expect(answers).toEqual(requests.map(({ counter, units }) => counters[counter].model.request(now, units)))
      }
    }),
    { numRuns: 30 },
  )
})

test.each([
  ['a window', { limit: 5, windowSeconds: 60, burst: 0 }],
  ['a bucket', { limit: 3, windowSeconds: 60, burst: 2 }],
])('requests that were admitted without Redis are charged to %s before the next decision, even beyond the limit', async (_name, limit) => {
  const { scripts, setTime } = await clocked()
  await setTime(START_US)
  const own = ownCounts({ now: () => START_US / 1_000, monotonic: () => 0 })
  const charging = counterStore({ scripts, monotonic: () => 0, timeoutMs: PATIENT_MS, own })
  const counter = counterOf(limit)
  const admit = (units: number) => own.decide([{ mode: 'hard', counter, units }], { undecided: 'circuit_open' })[0].taken
  expect([admit(3), admit(1)]).toEqual([3, 1])
  expect([await take(charging, counter), await take(charging, counter)]).toEqual([true, false])
  own.forget([counter.key])
  expect(admit(5)).toBe(5)
  expect(await take(charging, counter)).toBe(false)
})

test('requests in the last microsecond of a window count fully at the start of the next window, and then their weight decreases', async () => {
  const { store, setTime } = await clocked()
  const counter = counterOf({ limit: 10, windowSeconds: 60, burst: 0 })
  const edge = Math.ceil(START_US / 60e6) * 60e6 + 60e6
  await setTime(edge - 1)
  for (let request = 0; request < 10; request++) expect(await take(store, counter)).toBe(true)
  expect(await take(store, counter)).toBe(false)
  await setTime(edge)
  expect(await take(store, counter)).toBe(false)
  await setTime(edge + 1)
  expect(await take(store, counter)).toBe(true)
  expect(await take(store, counter)).toBe(false)
  // Half of the window has passed, so the previous window's ten requests count as five. The current window has one
  // request.
  await setTime(edge + 30e6)
  const answers = await Promise.all(Array.from({ length: 6 }, () => take(store, counter)))
  expect(answers).toEqual([true, true, true, true, false, false])
})

test('remaining units and reset times follow the documented formulas', async () => {
  const { store, setTime } = await clocked()
  const limit = { limit: 10, windowSeconds: 60, burst: 0 }
  const counter = counterOf(limit)
  await setTime(120e6)
  await take(store, counter, 4)
  await setTime(195e6)
  // The estimate is 4 × (1 − 15/60) + 0 = 3, so 10 − 3 − 1 = 6 requests remain.
  const [reading] = await decided(store, [{ mode: 'hard', counter, units: 1 }])
  expect(statusOf(limit, reading, 1)).toEqual({ estimate: 3, remaining: 6, resetAt: 240, resetAfterSeconds: 45, retryAfterSeconds: 45 })

  const bucket = { limit: 10, windowSeconds: 60, burst: 5 }
  const tokens = counterOf(bucket)
  await take(store, tokens, 15)
  const [empty] = await decided(store, [{ mode: 'hard', counter: tokens, units: 1 }])
  // One token is refilled every 6 s, so all fifteen take 90 s.
  expect(statusOf(bucket, empty, 1)).toEqual({ estimate: 15, remaining: 0, resetAt: 285, resetAfterSeconds: 90, retryAfterSeconds: 6 })
})

test('a refused request takes nothing from the other counters, and a soft rule never refuses', async () => {
  const { store, setTime } = await clocked()
  await setTime(START_US)
  const wide = counterOf({ limit: 10, windowSeconds: 60, burst: 0 })
  const bucket = counterOf({ limit: 10, windowSeconds: 60, burst: 10 })
  const narrow = counterOf({ limit: 1, windowSeconds: 60, burst: 0 })
  const soft = counterOf({ limit: 2, windowSeconds: 60, burst: 0 })
  const asks: Ask[] = [
    { mode: 'hard', counter: wide, units: 1 },
    { mode: 'hard', counter: bucket, units: 1 },
    { mode: 'hard', counter: narrow, units: 1 },
    { mode: 'soft', counter: soft, units: 1 },
  ]
  for (let request = 0; request < 5; request++) await decided(store, asks)
  const look: Ask[] = [wide, bucket, narrow, soft].map((counter) => ({ mode: 'hard', counter, units: 0 }))
  expect((await decided(store, look)).map(({ held }) => held)).toEqual([1, 19e6, 1, 1])
  for (let request = 0; request < 4; request++) await decided(store, [{ mode: 'soft', counter: soft, units: 1 }])
  expect((await decided(store, look)).map(({ held }) => held)).toEqual([1, 19e6, 1, 2])
})

test('a slice takes as many units as are available, and unspent units return to the window that they came from', async () => {
  const { store, setTime } = await clocked()
  const counter = counterOf({ limit: 10, windowSeconds: 60, burst: 0 })
  await setTime(120e6)
  const [{ taken }] = await decided(store, [{ mode: 'up-to', counter, units: 25 }])
  expect(taken).toBe(10)
  await decided(store, [{ mode: 'give-back', counter, units: 4, windowIndex: 2 }])
  await setTime(180e6)
  await decided(store, [{ mode: 'give-back', counter, units: 5, windowIndex: 2 }])
  await decided(store, [{ mode: 'give-back', counter, units: 5, windowIndex: 1 }])
  const [look] = await decided(store, [{ mode: 'hard', counter, units: 0 }])
  expect([look.held, look.heldBefore]).toEqual([0, 1])
})

test('a clock that goes backwards frees no units', async () => {
  const { store, setTime } = await clocked()
  for (const burst of [0, 2]) {
    const counter = counterOf({ limit: 2, windowSeconds: 10, burst })
    await setTime(100e6)
    await take(store, counter, 2 + burst)
    await setTime(85e6)
    expect(await take(store, counter)).toBe(false)
  }
})

test('after a clock was a day ahead, used units still count, as if they had been used when the clock was set back', async () => {
  const { redis, store, setTime } = await clocked()
  for (const burst of [0, 2]) {
    const counter = counterOf({ limit: 2, windowSeconds: 10, burst })
    await setTime(86_500e6)
    await take(store, counter, 2 + burst)
    await setTime(100e6)
    expect(await take(store, counter)).toBe(false)
    expect(await redis.pttl(counter.key)).toBeLessThanOrEqual(20_000)
    // A token of the bucket takes five seconds.
    await setTime(105e6)
    expect(await take(store, counter)).toBe(burst > 0)
    await setTime(116e6)
    expect(await take(store, counter)).toBe(true)
  }
})

test('a window counter expires one to two windows after its last request, and a token bucket does not expire before it is full', async () => {
  const { redis, store, setTime } = await clocked()
  await setTime(START_US)
  const window = counterOf({ limit: 5, windowSeconds: 60, burst: 0 })
  const wide = counterOf({ limit: 5, windowSeconds: 60, burst: 45 })
  await take(store, window)
  await take(store, wide, 50)
  const [windowMs, bucketMs] = [await redis.pttl(window.key), await redis.pttl(wide.key)]
  expect(windowMs).toBeGreaterThan(60_000)
  expect(windowMs).toBeLessThanOrEqual(120_000)
  expect(bucketMs).toBeGreaterThan(500_000)
  expect(bucketMs).toBeLessThanOrEqual(600_000)
})

test('a Cluster of three nodes enforces limits exactly, with counters on all nodes', async () => {
  const { store } = await connected(await privateRedisCluster(CLUSTER_NODES), true)
  const counters = Array.from({ length: 30 }, () => counterOf({ limit: 5, windowSeconds: 3_600, burst: 0 }))
  for (let round = 0; round < 7; round++) {
    const answers = await Promise.all(counters.map((counter) => take(store, counter)))
    expect(answers).toEqual(counters.map(() => round < 5))
  }
  // The counters of this request are on different nodes. When one node refuses, the store returns the units that it has
  // taken on the others.
  const others = counters.map(({ tag }) => counterOf({ limit: 50, windowSeconds: 3_600, burst: 0 }, tag, 'other'))
  const asks: Ask[] = [...others, counters[0]].map((counter) => ({ mode: 'hard', counter, units: 1 }))
  const readings = await decided(store, asks)
  expect(readings.map(({ taken }) => taken)).toContain(0)
  const looks: Ask[] = others.map((counter) => ({ mode: 'hard', counter, units: 0 }))
  await waitUntil(async () => (await Promise.all(looks.map((look) => decided(store, [look])))).every(([{ held }]) => held === 0), {
    what: 'the return of the taken units',
    timeoutMs: PATIENT_MS,
  })
})

test('the script is loaded again after Redis has lost its scripts', async () => {
  const { store } = await connected(await testStack().redis(), false)
  const admin = new Redis(await testStack().redis())
  onTestFinished(() => admin.disconnect())
  const counter = counterOf(SMALL)
  expect(await take(store, counter)).toBe(true)
  await admin.script('FLUSH')
  expect(await take(store, counter)).toBe(true)
})
