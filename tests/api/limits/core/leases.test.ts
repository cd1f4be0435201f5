import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Ask, Counter, CounterStore, Reading, Undecided } from '../../../../api/limits/core/counter.ts'
import { type Limit, US_PER_SECOND } from '../../../../api/limits/core/formulas.ts'
import { leasedCounters, SWEEP_MS } from '../../../../api/limits/core/leases.ts'
import { limiter, type Verdict } from '../../../../api/limits/core/limiter.ts'
import { compileRules } from '../../../../api/limits/core/matching.ts'
import { accuracyOf } from '../../../../bench/limits/accuracy.ts'
import { exactCounters } from '../../../../bench/limits/exact-counters.ts'
import { ruleOf } from '../../../../schemas/limit-rule.ts'
import { modelOf } from './model.ts'

const START_US = Date.UTC(2026, 0, 15, 12) * 1_000
const US_PER_MS = 1_000
/** The accuracy target in docs/services/limits.md#targets: the maximum deviation, as a share of the limit. */
const ACCURACY = 0.05
const RUN_WINDOWS = 2
/** How long a new instance takes to learn its share of a counter's requests. */
const LEARNING_MS = 150
/** The fractional part of the golden ratio. Its multiples spread requests evenly over the instances. */
const GOLDEN = 0.618034

function counterOf(limit: Limit, name = 'rule'): Counter {
  return { key: `limits:{caller}:${name}`, tag: 'caller', limit }
}

/** Creates the leased counters of several API instances. They share one store and one clock. */
function instances(count: number) {
  const clock = { us: START_US, sweptMs: 0 }
  const monotonic = () => (clock.us - START_US) / US_PER_MS
  const exact = exactCounters(() => clock.us)
  const stores = Array.from({ length: count }, () => leasedCounters({ store: exact.store, monotonic }))
  return {
    clock,
    stores,
    exact,
    advance(us: number) {
      clock.us += us
      for (; clock.sweptMs + SWEEP_MS <= monotonic(); clock.sweptMs += SWEEP_MS) for (const store of stores) store.sweep()
    },
  }
}

async function take(store: CounterStore, counter: Counter, units = 1): Promise<boolean> {
  const outcome = await store.decide([{ mode: 'hard', counter, units }])
  if ('undecided' in outcome) throw new Error('undecided')
  return outcome[0].taken === units
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('accuracy', () => {
  const limits = fc.record({
    limit: fc.integer({ min: 200, max: 2_000 }),
    windowSeconds: fc.constantFrom(1, 2),
    burst: fc.constantFrom(0, 0, 300),
  })
  /** Generates periods of load: their duration in seconds, and their rate as a multiple of the limit. */
  const load = fc.array(fc.record({ seconds: fc.double({ min: 0.05, max: 1.5, noNaN: true }), times: fc.constantFrom(0.2, 0.9, 1.5, 4) }), {
    minLength: 1,
    maxLength: 5,
  })

  test.each([1, 2, 4])(
    '%i instances with leases admit as many requests as one exact limiter, within a twentieth of the limit per window',
    async (count) => {
      await fc.assert(
        fc.asyncProperty(limits, load, fc.integer({ min: 0, max: 999_999 }), async (limit, stretches, offset) => {
          const system = instances(count)
          system.clock.us += offset
          const model = modelOf(limit)
          const counter = counterOf(limit)
          const admitted = { leased: 0, exact: 0 }
          let next = 0
          for (const { seconds, times } of stretches) {
            const gap = Math.round((limit.windowSeconds * US_PER_SECOND) / limit.limit / times)
            for (let passed = 0; passed < seconds * US_PER_SECOND; passed += gap) {
              system.advance(gap)
              if (await take(system.stores[next++ % count], counter)) admitted.leased++
              if (model.request(system.clock.us)) admitted.exact++
            }
            const windows = Math.ceil((system.clock.us - START_US) / (limit.windowSeconds * US_PER_SECOND))
            const allowance = ACCURACY * limit.limit
            expect(admitted.leased).toBeLessThanOrEqual(admitted.exact + allowance * windows)
            expect(admitted.leased).toBeGreaterThanOrEqual(admitted.exact - allowance * windows)
          }
        }),
        { numRuns: 8 },
      )
    },
  )
})

test.each([4, 8, 16])(
  'once %i instances have learned their shares, their unspent units add up to at most a twentieth of the sum of limit and burst',
  async (count) => {
    const load = fc.record({
      limit: fc.integer({ min: 1_000, max: 20_000 }),
      windowSeconds: fc.constantFrom(1, 2),
      burst: fc.constantFrom(0, 0, 300),
    })
    await fc.assert(
      fc.asyncProperty(load, fc.constantFrom(0.9, 1.5, 4), fc.constantFrom(1, 3), async (limit, times, skew) => {
        const system = instances(count)
        const counter = counterOf(limit)
        const gap = (limit.windowSeconds * US_PER_SECOND) / limit.limit / times
        const untilUs = RUN_WINDOWS * limit.windowSeconds * US_PER_SECOND
        let admitted = 0
        let mostUnspent = 0
        let turn = 0
        for (let passed = 0; passed < untilUs; passed += gap) {
          system.advance(Math.round(gap))
          // Some instances get more requests than others.
          const asking = Math.floor(count * ((turn++ * GOLDEN) % 1) ** skew)
          if (await take(system.stores[asking], counter)) admitted++
          const unspent = system.exact.takenOf(counter.key) - admitted
          if (passed > LEARNING_MS * US_PER_MS) mostUnspent = Math.max(mostUnspent, unspent)
        }
        // The test calls expect once per run. A call for each of a million requests would take most of the time.
        expect(mostUnspent).toBeLessThanOrEqual(ACCURACY * (limit.limit + limit.burst))
      }),
      { numRuns: 6, examples: [[{ limit: 18_282, windowSeconds: 1, burst: 300 }, 1.5, 1]] },
    )
  },
)

test('after a pause, the worst window exceeds the limit in proportion to the pause, and leases add at most a twentieth of the limit', async () => {
  const limit: Limit = { limit: 400, windowSeconds: 1, burst: 0 }
  const [pauseFrom, pauseTo] = [3_000, 3_150]
  const system = instances(1)
  const model = modelOf(limit)
  const counter = counterOf(limit)
  const times = { exact: [] as number[], leased: [] as number[] }
  let due = 0
  // Requests are due at twice the rate of the limit. Those that are due during the pause are sent after it.
  for (let ms = 1; ms <= 6_000; ms++) {
    system.advance(1_000)
    if (ms >= pauseFrom && ms < pauseTo) continue
    for (; due < ms * 0.8; due++) {
      if (model.request(system.clock.us)) times.exact.push(ms)
      if (await take(system.stores[0], counter)) times.leased.push(ms)
    }
  }
  const greatest = (admitted: number[]) => accuracyOf(admitted, limit.limit, limit.windowSeconds).greatestOfLimit
  expect(greatest(times.exact)).toBeCloseTo(1 + (pauseTo - pauseFrom) / 1_000, 1)
  expect(greatest(times.leased)).toBeLessThanOrEqual(greatest(times.exact) + ACCURACY)
})

test('a hot counter is decided locally, and a cold counter in the store', async () => {
  const { stores, exact, advance } = instances(1)
  const hot = counterOf({ limit: 1_000_000, windowSeconds: 60, burst: 0 })
  for (let request = 0; request < 20_000; request++) {
    advance(50)
    expect(await take(stores[0], hot)).toBe(true)
  }
  expect(stores[0].local).toBeGreaterThan(19_000)
  expect(exact.state.questions).toBeLessThan(600)
  const cold = counterOf({ limit: 1_000_000, windowSeconds: 60, burst: 0 }, 'cold')
  const { local } = stores[0]
  for (let request = 0; request < 5; request++) {
    advance(50_000)
    await take(stores[0], cold)
  }
  expect(stores[0].local).toBe(local)
})

test('a refusal is remembered as long as it is certain to hold, so that an attack causes fewer than sixty store queries in a second', async () => {
  const { stores, exact, advance } = instances(1)
  const counter = counterOf({ limit: 10, windowSeconds: 60, burst: 0 })
  let admitted = 0
  for (let request = 0; request < 10_000; request++) {
    advance(100)
    if (await take(stores[0], counter)) admitted++
  }
  expect(admitted).toBe(10)
  expect(exact.state.questions).toBeLessThan(60)
})

test('refused requests do not wait for the store, and one query serves all of them', async () => {
  const { stores, exact, advance } = instances(1)
  const counter = counterOf({ limit: 10, windowSeconds: 60, burst: 0 })
  const ask = () => stores[0].decide([{ mode: 'hard', counter, units: 1 }])
  for (let request = 0; request < 20; request++) await ask()
  const { questions } = exact.state
  // This loop does not yield, so the reply of the store arrives only after it.
  for (let request = 0; request < 1_000; request++) {
    advance(1_000)
    expect(ask()).not.toBeInstanceOf(Promise)
  }
  expect(exact.state.questions).toBe(questions + 1)
})

test.each(['hard', 'soft'] as const)(
  'units that another instance has returned are available after the next query (%s mode)',
  async (mode) => {
    const { stores, exact, advance } = instances(1)
    const take = async (store: CounterStore, counter: Counter) => {
      const [{ taken }] = (await store.decide([{ mode, counter, units: 1 }])) as readonly Reading[]
      return taken === 1
    }
    const counter = counterOf({ limit: 10, windowSeconds: 60, burst: 0 })
    for (let request = 0; request < 20; request++) await take(stores[0], counter)
    await exact.store.decide([{ mode: 'give-back', counter, units: 2, windowIndex: START_US / 60_000_000 }])
    advance(25_000)
    // This request triggers the query.
    expect(await take(stores[0], counter)).toBe(false)
    await settled()
    expect([await take(stores[0], counter), await take(stores[0], counter), await take(stores[0], counter)]).toEqual([true, true, false])
  },
)

test('if the store fails while a caller is refused, the caller is no longer refused after the next query', async () => {
  const clock = { ms: 0, isAway: false }
  const exact = exactCounters(() => START_US + clock.ms * US_PER_MS)
  const store: CounterStore = { decide: async (asks) => (clock.isAway ? { undecided: 'unreachable' } : await exact.store.decide(asks)) }
  const leased = leasedCounters({ store, monotonic: () => clock.ms })
  const ask = async () => await leased.decide([{ mode: 'hard', counter: counterOf({ limit: 10, windowSeconds: 60, burst: 0 }), units: 1 }])
  for (let request = 0; request < 20; request++) await ask()
  clock.isAway = true
  clock.ms = 100
  await ask()
  await settled()
  expect(await ask()).toEqual({ undecided: 'unreachable' })
})

test('an instance that gets no more requests returns its unspent units, so another instance can admit the rest of the limit', async () => {
  const { stores, advance } = instances(2)
  const counter = counterOf({ limit: 1_000, windowSeconds: 3_600, burst: 0 })
  let admitted = 0
  for (let request = 0; request < 300; request++) {
    advance(500)
    if (await take(stores[0], counter)) admitted++
  }
  advance(200_000)
  await settled()
  for (let request = 0; request < 1_000; request++) {
    advance(30_000)
    if (await take(stores[1], counter)) admitted++
  }
  expect(admitted).toBe(1_000)
})

test('a changed rule applies at once, even to a counter that is hot or was refused', async () => {
  const { stores, advance } = instances(1)
  const admittedOf = async (limit: number) => {
    let admitted = 0
    for (let request = 0; request < 4_000; request++) {
      advance(100)
      if (await take(stores[0], counterOf({ limit, windowSeconds: 3_600, burst: 0 }))) admitted++
    }
    return admitted
  }
  expect(await admittedOf(1_000)).toBe(1_000)
  expect(await admittedOf(1_500)).toBe(500)
  expect(await admittedOf(400)).toBe(0)
})

test('after a limit was lowered, an instance takes no units while it holds at least a hundredth of the new limit', async () => {
  const { stores, advance, exact } = instances(1)
  const takeAll = async (counter: Counter, requests: number) => {
    for (let request = 0; request < requests; request++) {
      advance(100)
      expect(await take(stores[0], counter)).toBe(true)
    }
  }
  const before = counterOf({ limit: 100_000, windowSeconds: 3_600, burst: 0 })
  await takeAll(before, 1_000)
  const taken = exact.takenOf(before.key)
  const unspent = taken - 1_000
  expect(unspent).toBeGreaterThan(200)
  await takeAll(counterOf({ limit: 5_000, windowSeconds: 3_600, burst: 0 }), unspent - 50)
  expect(exact.takenOf(before.key)).toBe(taken)
})

test('slices whose replies are lost add up to at most a hundredth of the limit', async () => {
  const clock = { ms: 0, isCut: false }
  const exact = exactCounters(() => START_US + clock.ms * US_PER_MS)
  // Simulates a cut connection: the store grants the units, but its reply never arrives.
  const store: CounterStore = {
    async decide(asks) {
      const outcome = await exact.store.decide(asks)
      if (!clock.isCut) return outcome
      for (const ask of asks) if (ask.mode === 'up-to') ask.onUnknownOutcome?.()
      return { undecided: 'unreachable' }
    },
  }
  const leased = leasedCounters({ store, monotonic: () => clock.ms })
  const counter = counterOf({ limit: 100_000, windowSeconds: 60, burst: 0 })
  let counted = 0
  for (let request = 0; request < 20_000; request++) {
    clock.ms++
    clock.isCut = request % 50 === 0
    if (request % SWEEP_MS === 0) leased.sweep()
    const outcome = await leased.decide([{ mode: 'hard', counter, units: 1 }])
    if (!('undecided' in outcome)) counted += outcome[0].taken
  }
  clock.isCut = false
  await leased.close()
  await settled()
  const lost = exact.takenOf(counter.key) - counted
  expect(lost).toBeGreaterThan(0)
  expect(lost).toBeLessThanOrEqual(1_000)
})

test('closing returns all unspent units', async () => {
  const { stores, advance } = instances(2)
  const counter = counterOf({ limit: 1_000, windowSeconds: 3_600, burst: 50 })
  let admitted = 0
  for (let request = 0; request < 300; request++) {
    advance(10)
    if (await take(stores[0], counter)) admitted++
  }
  await stores[0].close()
  await settled()
  for (let request = 0; request < 1_100; request++) if (await take(stores[1], counter)) admitted++
  expect(admitted).toBe(1_050)
})

/** Creates a store whose replies arrive only when the test releases them. */
function heldStore(inner: CounterStore) {
  const held: (() => void)[] = []
  const asked: Ask[] = []
  const store: CounterStore = {
    decide(asks) {
      asked.push(...asks)
      const answer = inner.decide(asks)
      return new Promise((resolve) => {
        held.push(() => resolve(answer))
      })
    },
  }
  return { store, held, asked }
}

test('closing waits until the store has accepted the returned units', async () => {
  const clock = { ms: 0 }
  const exact = exactCounters(() => START_US + clock.ms * US_PER_MS)
  const { store, held, asked } = heldStore(exact.store)
  const leased = leasedCounters({ store, monotonic: () => clock.ms })
  const counter = counterOf({ limit: 10_000, windowSeconds: 3_600, burst: 0 })
  for (let request = 0; request < 100; request++) {
    clock.ms++
    const asking = leased.decide([{ mode: 'hard', counter, units: 1 }])
    for (const letGo of held.splice(0)) letGo()
    await asking
  }
  const done = { isClosed: false }
  const closing = leased.close().then(() => {
    done.isClosed = true
  })
  await settled()
  for (const letGo of held.splice(0, held.length - 1)) letGo()
  await settled()
  expect([asked.at(-1)?.mode, done.isClosed]).toEqual(['give-back', false])
  for (const letGo of held.splice(0)) letGo()
  await closing
})

test('a late refusal of an early request does not overwrite newer information about a counter', async () => {
  const clock = { ms: 0 }
  const exact = exactCounters(() => START_US + clock.ms * US_PER_MS)
  const { store, held } = heldStore(exact.store)
  const leased = leasedCounters({ store, monotonic: () => clock.ms })
  const counter = counterOf({ limit: 1_000, windowSeconds: 3_600, burst: 0 })
  // Requests more units than the limit allows. The test delivers the refusal later.
  const refused = leased.decide([{ mode: 'hard', counter, units: 2_000 }])
  const [late] = held.splice(0)
  const take = async () => {
    clock.ms++
    const asking = leased.decide([{ mode: 'hard', counter, units: 1 }])
    for (const letGo of held.splice(0)) letGo()
    return await asking
  }
  for (let request = 0; request < 100; request++) await take()
  const { local } = leased
  late()
  await refused
  await take()
  expect(leased.local).toBe(local + 1)
  const closing = leased.close()
  await settled()
  for (const letGo of held.splice(0)) letGo()
  await closing
  const [{ held: counted }] = (await exact.store.decide([{ mode: 'soft', counter, units: 0 }])) as readonly Reading[]
  expect(counted).toBe(101)
})

test('a request that finds every slice used up waits for one store timeout in total', async () => {
  const clock = { ms: 0 }
  const asked: Ask[] = []
  const answers: ((taken: number) => void)[] = []
  const store: CounterStore = {
    decide(asks) {
      asked.push(...asks)
      return new Promise((resolve) => {
        answers.push((taken) => resolve(asks.map(() => ({ taken, nowUs: START_US, held: 0, heldBefore: 0 }))))
      })
    },
  }
  const leased = leasedCounters({ store, monotonic: () => clock.ms, timeoutMs: 1 })
  const counter = counterOf({ limit: 10_000, windowSeconds: 3_600, burst: 0 })
  const outcomes: (readonly Reading[] | Undecided)[] = []
  for (let request = 0; request < 100; request++) {
    clock.ms += 0.5
    void Promise.resolve(leased.decide([{ mode: 'hard', counter, units: 1 }])).then((outcome) => outcomes.push(outcome))
  }
  const waiting = 100 - asked.filter(({ mode }) => mode === 'hard').length
  expect(waiting).toBeGreaterThan(50)
  // The store grants a slice of one unit, and one request uses it up. The store never replies to the later queries.
  answers[asked.findIndex(({ mode }) => mode === 'up-to')](1)
  await expect.poll(() => outcomes.length, { timeout: 30_000, interval: 5 }).toBe(waiting)
  expect(outcomes.filter((outcome) => !('undecided' in outcome))).toHaveLength(1)
  expect(new Set(outcomes.flatMap((outcome) => ('undecided' in outcome ? [outcome.undecided] : [])))).toEqual(new Set(['timeout']))
})

test('when one of several counters refuses, units already spent locally are returned', async () => {
  const { stores, advance } = instances(1)
  const wide = counterOf({ limit: 10_000, windowSeconds: 3_600, burst: 0 }, 'wide')
  const narrow = counterOf({ limit: 100, windowSeconds: 3_600, burst: 0 }, 'narrow')
  const both = [
    { mode: 'hard', counter: wide, units: 1 },
    { mode: 'hard', counter: narrow, units: 1 },
  ] as const
  let admitted = 0
  for (let request = 0; request < 2_000; request++) {
    advance(200)
    const outcome = (await stores[0].decide(both)) as Exclude<Awaited<ReturnType<CounterStore['decide']>>, Undecided>
    if (outcome.every(({ taken }) => taken === 1)) admitted++
  }
  expect(admitted).toBe(100)
  await stores[0].close()
  await settled()
  expect((await take(stores[0], wide, 9_900)) && !(await take(stores[0], wide))).toBe(true)
})

test('while one rule of a request refuses, its other rules are neither reported as exceeded nor shown in the headers', async () => {
  const { stores, advance } = instances(1)
  const rules = compileRules([
    ruleOf({ rule_id: 'minute', endpoint_pattern: '*', limit_count: 2, window_seconds: 60 }),
    ruleOf({ rule_id: 'day', endpoint_pattern: '*', limit_count: 1_000, window_seconds: 86_400, key: ['client', 'endpoint'] }),
  ])
  const { decide } = limiter({ counters: stores[0], rules: () => rules })
  const caller = { clientId: 'ip:192.0.2.1', tier: 'free', ip: '192.0.2.1' }
  const verdicts: Verdict[] = []
  for (let request = 0; request < 5; request++) {
    advance(100 * US_PER_MS)
    verdicts.push(await decide({ method: 'GET', path: '/', caller }))
  }
  for (const verdict of verdicts.slice(2)) {
    expect(verdict).toMatchObject({ outcome: 'refused', strictest: { rule: { rule_id: 'minute' }, retryAfterSeconds: 60 } })
    expect('violations' in verdict && verdict.violations.map(({ rule }) => rule.rule_id)).toEqual(['minute'])
  }
})

test('if a request is refused only after a new window has begun, its units are not added to the slice of the new window', async () => {
  const clock = { ms: 800 }
  const exact = exactCounters(() => START_US + clock.ms * US_PER_MS)
  const { store, held } = heldStore(exact.store)
  const leased = leasedCounters({ store, monotonic: () => clock.ms })
  const wide = counterOf({ limit: 10_000, windowSeconds: 1, burst: 0 }, 'wide')
  const narrow = counterOf({ limit: 100, windowSeconds: 1, burst: 0 }, 'narrow')
  const takeWide = async () => {
    clock.ms++
    const asking = leased.decide([{ mode: 'hard', counter: wide, units: 1 }])
    await settled()
    for (const letGo of held.splice(0)) letGo()
    await asking
  }
  for (let request = 0; request < 100; request++) await takeWide()
  const { local } = leased
  const refused = leased.decide([
    { mode: 'hard', counter: wide, units: 1 },
    { mode: 'hard', counter: narrow, units: 101 },
  ])
  const late = held.pop()!
  clock.ms = 1_000
  for (let request = 0; request < 50; request++) await takeWide()
  expect(leased.local).toBeGreaterThan(local)
  late()
  await refused
  const closing = leased.close()
  await settled()
  for (const letGo of held.splice(0)) letGo()
  await closing
  const [{ held: current, heldBefore }] = (await exact.store.decide([{ mode: 'soft', counter: wide, units: 0 }])) as readonly Reading[]
  expect({ current, heldBefore }).toEqual({ current: 50, heldBefore: 100 })
})

test('while all queries time out, every request is undecided', async () => {
  const clock = { ms: 0 }
  const store: CounterStore = { decide: async () => ({ undecided: 'timeout' }) }
  const leased = leasedCounters({ store, monotonic: () => clock.ms })
  const counter = counterOf({ limit: 10_000, windowSeconds: 1, burst: 0 })
  for (let request = 0; request < 200; request++) {
    clock.ms++
    expect(await leased.decide([{ mode: 'hard', counter, units: 1 }])).toMatchObject({ undecided: 'timeout' })
  }
})

test('a sweep reports whether there is anything left to sweep', async () => {
  const { stores, clock } = instances(1)
  const [store] = stores
  const counter = counterOf({ limit: 10_000, windowSeconds: 1, burst: 0 })
  expect(store.sweep()).toBe(false)
  for (let request = 0; request < 100; request++) await take(store, counter)
  expect(store.sweep()).toBe(true)
  clock.us += 10 * US_PER_SECOND
  store.sweep()
  expect(store.sweep()).toBe(false)
})
