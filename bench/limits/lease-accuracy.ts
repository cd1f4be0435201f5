import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Counter, CounterStore } from '../../api/limits/core/counter.ts'
import { type Limit, US_PER_SECOND } from '../../api/limits/core/formulas.ts'
import { leasedCounters, SWEEP_MS } from '../../api/limits/core/leases.ts'
import { integer, type Random, seededRandom } from '../../tools/random/random.ts'
import { exactCounters } from './exact-counters.ts'

const INSTANCES = [1, 2, 4, 8]
const LOADS = 12
const SEED = 7
const START_US = Date.UTC(2026, 0, 15, 12) * 1_000
const RUN_SECONDS = 6
/**
 * Shortest and longest period with a constant rate. Both are shorter than a window, so that bursts begin and end
 * anywhere in a window.
 */
const [SHORTEST_SECONDS, LONGEST_SECONDS] = [0.05, 0.8]
/** Lowest and highest request rate of a period, as multiples of the limit. */
const [LEAST_LOAD, MOST_LOAD] = [0.5, 6]
const US_PER_MS = 1_000
/** Duration of a simulated round trip to Redis. */
const ANSWER_US = 1_000
/** Timeout for answers from Redis. It is long, so that a slow machine does not cause undecided requests. */
const PATIENT_MS = 60_000
const PERCENT = 100

interface Load {
  readonly limit: Limit
  /** Time from the start of the first window until the load starts, in µs. */
  readonly offsetUs: number
  readonly stretches: readonly { readonly seconds: number; readonly times: number }[]
}

/**
 * Computes, for each window, how many more requests the leases admit than the exact limiter, as a fraction of the
 * limit. The value is negative if they admit fewer.
 * @param count number of instances that share the limit by leases
 */
async function differences({ limit, offsetUs, stretches }: Load, count: number, random: Random): Promise<number[]> {
  let nowUs = START_US + offsetUs
  let sweptMs = 0
  const monotonic = () => (nowUs - START_US) / US_PER_MS
  const onTheirWay: { readonly dueUs: number; arrive(): void }[] = []
  const counters = exactCounters(() => nowUs).store
  const shared: CounterStore = {
    decide(asks) {
      const answer = counters.decide(asks)
      return new Promise((resolve) => {
        onTheirWay.push({ dueUs: nowUs + ANSWER_US, arrive: () => resolve(answer) })
      })
    },
  }
  const exact = exactCounters(() => nowUs).store
  const leased = Array.from({ length: count }, () => leasedCounters({ store: shared, monotonic, timeoutMs: PATIENT_MS }))
  const counter: Counter = { key: 'limits:{caller}:rule', tag: 'caller', limit }
  const windows = new Map<number, number>()
  const asked: Promise<void>[] = []

  async function ask(store: CounterStore, window: number, sign: number): Promise<void> {
    const outcome = await store.decide([{ mode: 'hard', counter, units: 1 }])
    const taken = 'undecided' in outcome ? 0 : outcome[0].taken
    windows.set(window, (windows.get(window) ?? 0) + sign * taken)
  }

  async function advance(us: number): Promise<void> {
    nowUs += us
    for (; sweptMs + SWEEP_MS <= monotonic(); sweptMs += SWEEP_MS) for (const store of leased) store.sweep()
    while (onTheirWay[0]?.dueUs <= nowUs) onTheirWay.shift()!.arrive()
    await nextTurn()
  }

  for (const { seconds, times } of stretches) {
    const gap = Math.round((limit.windowSeconds * US_PER_SECOND) / limit.limit / times)
    for (let passed = 0; passed < seconds * US_PER_SECOND; passed += gap) {
      await advance(gap)
      const window = Math.floor((nowUs - START_US) / (limit.windowSeconds * US_PER_SECOND))
      asked.push(ask(leased[integer(random, count)], window, 1), ask(exact, window, -1))
    }
  }
  while (onTheirWay.length > 0) await advance(ANSWER_US)
  await Promise.all(asked)
  return [...windows.values()].map((more) => more / limit.limit)
}

function randomLoads(random: Random): Load[] {
  return Array.from({ length: LOADS }, (_, load) => {
    const stretches: { seconds: number; times: number }[] = []
    for (let whole = 0; whole < RUN_SECONDS; whole += stretches.at(-1)!.seconds) {
      const seconds = SHORTEST_SECONDS + (LONGEST_SECONDS - SHORTEST_SECONDS) * random()
      stretches.push({ seconds, times: LEAST_LOAD + (MOST_LOAD - LEAST_LOAD) * random() })
    }
    const limit = { limit: 400 + integer(random, 1_600), windowSeconds: 1 + (load % 2), burst: load % 4 === 3 ? 300 : 0 }
    return { limit, offsetUs: integer(random, US_PER_SECOND), stretches }
  })
}

/**
 * Compares the requests that leases admit with those that a single exact limiter without latency admits. The model uses
 * simulated time, so that it gives the same results on every machine.
 */
export async function leaseTable(say: (text: string) => void): Promise<void> {
  say(
    `\n### Leases in the model: ${LOADS} loads of ${LEAST_LOAD} to ${MOST_LOAD} times the limit; difference per window, relative to the limit`,
  )
  say('\n| instances | largest excess | largest shortfall | mean absolute difference |\n|---|---|---|---|')
  const random = seededRandom(SEED)
  const loads = randomLoads(random)
  const percent = (part: number) => `${(PERCENT * part).toFixed(2)} %`
  for (const count of INSTANCES) {
    const all: number[] = []
    for (const load of loads) all.push(...(await differences(load, count, random)))
    const mean = all.reduce((sum, one) => sum + Math.abs(one), 0) / all.length
    say(`| ${count} | ${percent(Math.max(0, ...all))} | ${percent(-Math.min(0, ...all))} | ${percent(mean)} |`)
  }
}
