import type { Ask, Counter, CounterStore, FailureReason, Outcome, Reading, ScriptRunner, Undecided } from './counter.ts'
import { windowIndexAt } from './formulas.ts'
import type { OwnCounts } from './own-counts.ts'
import { scriptBatches } from './script-batches.ts'

export interface CounterStoreOptions {
  readonly scripts: ScriptRunner
  /** Monotonic ms. */
  monotonic(): number
  readonly timeoutMs?: number
  /**
   * This instance's own counts, which are updated from the answers of Redis. Units that Redis has not counted are
   * charged with the next request for the same counter.
   */
  readonly own?: Pick<OwnCounts, 'learn' | 'chargesFor' | 'owe'>
  /** Called with the cause of every failed batch, except for batches that only return units. */
  onFailure?(reason: FailureReason, cause: Error | undefined): void
}

/** How long a request waits for Redis by default. After this time, the request counts as undecided. */
export const TIMEOUT_MS = 5

/**
 * Counts in Redis with a short time limit. The decisions of one event loop turn that concern the same shard share
 * script calls.
 */
export function counterStore({ scripts, monotonic, timeoutMs = TIMEOUT_MS, own, onFailure }: CounterStoreOptions): CounterStore {
  const batches = scriptBatches({ scripts, monotonic, timeoutMs, onFailure, onReadings })

  function onReadings(asks: readonly Ask[], readings: readonly Reading[], isLate: boolean): void {
    own?.learn(asks, readings, isLate)
    if (isLate) giveBackUnclaimed(asks, readings)
  }

  function decide(asks: readonly Ask[]): Outcome | Promise<Outcome> {
    const group = scripts.groupOf(asks[0].counter.tag)
    const isOneGroup = asks.every(({ counter }) => scripts.groupOf(counter.tag) === group)
    return isOneGroup ? decideOnShard(group, asks) : decidePerShard(asks)
  }

  /** Decides asks whose counters are on one shard, in a single atomic step. */
  function decideOnShard(group: string, asks: readonly Ask[]): Promise<Outcome> | Undecided {
    const node = scripts.nodeOf(group)
    // No request waits for units to be returned, and a failed return does little harm: the units merely stay counted,
    // as if they had been spent.
    if (asks.every(({ mode }) => mode === 'give-back')) return batches.add(group, node, 'background', asks)
    const admission = batches.circuitOf(node).admit()
    if (admission === 'skip') return CIRCUIT_OPEN
    if (admission === 'send') {
      const charges = own?.chargesFor(asks) ?? NONE
      return charges.length === 0 ? batches.add(group, node, 'awaited', asks) : decideCharged(group, node, charges, asks)
    }
    // Asks that only read can serve as the probe themselves. Their caller waits for the answer, so that the first read
    // after an outage succeeds.
    if (asks.every(({ units }) => units === 0)) return batches.add(group, node, 'probe', asks)
    // Any other probe takes no units, because no request waits for its answer. If this instance's own counts allow the
    // request, it is charged later.
    const probe = asks.map((ask) => ({ ...ask, units: 0 }))
    void batches.add(group, node, 'probe', probe)
    return CIRCUIT_OPEN
  }

  /** Charges the owed units and decides, in a single atomic step. */
  async function decideCharged(group: string, node: string, charges: readonly Ask[], asks: readonly Ask[]): Promise<Outcome> {
    const outcome = await batches.add(group, node, 'awaited', [...charges, ...asks])
    if (!('undecided' in outcome)) return outcome.slice(charges.length)
    // After a timeout, the units are not owed again, because a store that is only late still charges them.
    if (outcome.undecided !== 'timeout') own?.owe(charges)
    return outcome
  }

  /**
   * Decides in one step per group. All steps are sent together. If one group refuses, the other groups get their units
   * back.
   */
  async function decidePerShard(asks: readonly Ask[]): Promise<Outcome> {
    const byGroup = Map.groupBy(asks, ({ counter }) => scripts.groupOf(counter.tag))
    const groups = [...byGroup.values()]
    const outcomes = await Promise.all([...byGroup].map(([group, members]) => decideOnShard(group, members)))
    const readings = new Map<Ask, Reading>()
    let undecided: Undecided | undefined
    for (const [index, outcome] of outcomes.entries()) {
      if ('undecided' in outcome) undecided = outcome
      else for (const [position, ask] of groups[index].entries()) readings.set(ask, outcome[position])
    }
    const isRefused = [...readings].some(([ask, { taken }]) => ask.mode === 'hard' && taken < ask.units)
    if (isRefused) giveBack(readings)
    // If one shard refuses, the request is refused, even if another shard does not answer.
    if (undecided !== undefined && !isRefused) return { ...undecided, decided: readings }
    return asks.map((ask) => readings.get(ask) ?? unread(ask))
  }

  function giveBack(readings: ReadonlyMap<Ask, Reading>): void {
    for (const group of Map.groupBy(readings, ([ask]) => scripts.groupOf(ask.counter.tag)).values()) {
      if (group.some(([ask, { taken }]) => ask.mode === 'hard' && taken < ask.units)) continue
      const returned = group.filter(([, { taken }]) => taken > 0)
      if (returned.length > 0) decide(returned.map(([{ counter }, reading]) => giveBackOf(counter, reading)))
    }
  }

  /**
   * Handles an answer that came too late. The requests were decided without this answer and stay counted. No lease uses
   * the slices that the answer grants, so the slices are given back.
   */
  function giveBackUnclaimed(asks: readonly Ask[], readings: readonly Reading[]): void {
    for (const [index, { mode, counter }] of asks.entries()) {
      if (mode === 'up-to' && readings[index].taken > 0) decide([giveBackOf(counter, readings[index])])
    }
  }

  return { decide }
}

const NONE: readonly Ask[] = []
const CIRCUIT_OPEN: Undecided = { undecided: 'circuit_open' }

/**
 * Returns a made-up reading of a counter whose shard did not answer, for use when another shard has refused the
 * request. The reading grants all units, so that it does not look like a second refusal.
 */
function unread({ units }: Ask): Reading {
  return { taken: units, nowUs: 0, held: 0, heldBefore: 0 }
}

function giveBackOf(counter: Counter, { taken, nowUs }: Pick<Reading, 'taken' | 'nowUs'>): Ask {
  const windowIndex = windowIndexAt(nowUs, counter.limit.windowSeconds)
  return { mode: 'give-back', counter, units: taken, windowIndex }
}
