import type { Ask, CounterStore, Outcome, Reading, Undecided } from './counter.ts'
import { TIMEOUT_MS } from './counter-store.ts'
import { greatestSlice, isInWindow, type LeaseEntry, learnShare, localReading, rememberRefusal, windowOf } from './lease-entry.ts'
import { HOT_PER_MS, leaseRenewal } from './lease-renewal.ts'
import { leaseTable } from './lease-table.ts'
import { withTimeout } from './with-timeout.ts'

/** A counter store that decides requests for hot counters in this process. */
export interface LeasedCounters extends CounterStore {
  /**
   * Gives unspent units back to the store after LEASE_MS or when their window has ended, and forgets idle counters.
   * Must be called every SWEEP_MS.
   * @returns false when there is nothing to sweep until the next decision
   */
  sweep(): boolean
  /**
   * Forgets the state of counters that are about to be reset. Their unspent units are not returned, because the reset
   * also deletes the store's count of these units.
   */
  forget(keys: readonly string[]): void
  /** Returns all unspent units to the store. */
  close(): Promise<void>
  /** Number of decisions that were made without asking the store. */
  readonly local: number
}

export interface LeaseOptions {
  readonly store: CounterStore
  /** Monotonic ms. */
  monotonic(): number
  /** Maximum time that one request waits in total. Default: the time limit of one request to the store. */
  readonly timeoutMs?: number
}

export const SWEEP_MS = 25
/** Unspent units are returned this long after the request for the last slice, or earlier if their window has ended. */
const LEASE_MS = 100
/**
 * A counter whose refusal is still in force is forgotten after this time without requests. The next request then costs
 * one query.
 */
const FORGET_REFUSED_MS = 1_000
/**
 * Maximum number of slices that a request waits for. If other requests use up all of these slices, the request asks the
 * store itself.
 */
const MAX_ATTEMPTS = 3

/** How long a request has waited, and for how many slices. */
interface Waited {
  /** Monotonic ms. */
  readonly since: number
  readonly attempts: number
}

/**
 * How an ask is decided: from the current slice, by a remembered refusal, by the store, or after a new slice was taken.
 */
type Plan = 'spend' | 'refuse' | 'ask' | 'lease'

/**
 * Takes slices from the budgets of hot counters and spends them without asking the store. Remembers a refusal for as
 * long as the store would refuse further requests, unless units are returned. The store has counted every unit that is
 * spent here, so leases never exceed a limit. When the limit is reached, at most 1 % of the limit is unspent in each
 * instance, and about 4 % across all instances.
 */
export function leasedCounters({ store, monotonic, timeoutMs = TIMEOUT_MS }: LeaseOptions): LeasedCounters {
  const table = leaseTable()
  const renewal = leaseRenewal({ store, monotonic, table })
  let local = 0

  function decide(asks: readonly Ask[], waited?: Waited): Outcome | Promise<Outcome> {
    const now = monotonic()
    if (asks.length === 1) return decideOne(asks, waited, now)
    const found = asks.map((ask) => table.countRequest(ask, now, waited === undefined))
    const plans = asks.map((ask, index) => planFor(ask, found[index], now))
    if (plans.includes('refuse')) {
      for (const [index, entry] of found.entries()) if (plans[index] === 'refuse') renewal.recheckRefusal(entry!, now)
    }
    if (asks.some(({ mode }, index) => mode === 'hard' && plans[index] === 'refuse')) {
      local++
      return found.map((entry, index) => localReading(entry, plans[index] === 'refuse' ? 0 : asks[index].units, now))
    }
    if (plans.includes('lease') && mayWait(waited)) return decideAfterRenewal(asks, found, plans, waited)
    return spend(asks, found, plans, now)
  }

  /**
   * Decides a request with one rule. Most requests have one rule, so this path avoids the arrays of the general path.
   */
  function decideOne(asks: readonly Ask[], waited: Waited | undefined, now: number): Outcome | Promise<Outcome> {
    const [ask] = asks
    const entry = table.countRequest(ask, now, waited === undefined)
    if (entry === undefined) return decideUntracked(ask, now)
    const plan = planFor(ask, entry, now)
    if (plan === 'lease' && mayWait(waited)) return decideAfterRenewal(asks, [entry], [plan], waited)
    if (plan === 'lease' || plan === 'ask') return spend(asks, [entry], [plan], now)
    local++
    if (plan === 'spend') return [spendSlice(entry, ask.units, now)]
    renewal.recheckRefusal(entry, now)
    return [localReading(entry, 0, now)]
  }

  /**
   * Decides a request whose counter is not tracked. This is the usual case. The store decides, and only refusals are
   * remembered.
   */
  function decideUntracked(ask: Ask, now: number): Outcome | Promise<Outcome> {
    const outcome = store.decide([ask])
    return outcome instanceof Promise ? outcome.then(remembered) : outcome

    function remembered(answered: Outcome): Outcome {
      if ('undecided' in answered || answered[0].taken >= ask.units) return answered
      const entry = table.track(ask.counter, now)
      if (entry !== undefined) rememberRefusal(entry, answered[0], now, ask.units)
      return answered
    }
  }

  async function decideAfterRenewal(
    asks: readonly Ask[],
    found: readonly (LeaseEntry | undefined)[],
    plans: readonly Plan[],
    waited: Waited | undefined,
  ): Promise<Outcome> {
    const { since, attempts } = waited ?? { since: monotonic(), attempts: 0 }
    const hot = found.filter((_entry, index) => plans[index] === 'lease') as LeaseEntry[]
    const outcomes = await Promise.all(hot.map((entry) => renewal.renew(entry)))
    const undecided = outcomes.find((outcome) => outcome !== undefined)
    if (undecided !== undefined) return { ...undecided, isUncounted: true }
    // The store's own time limit bounds the first wait. Later queries share the rest of `timeoutMs`.
    const outcome = decide(asks, { since, attempts: attempts + 1 })
    return outcome instanceof Promise && attempts === 0 ? withTimeout(outcome, since + timeoutMs - monotonic()) : outcome
  }

  /** Spends units of slices and applies remembered refusals as planned, and asks the store about the other asks. */
  function spend(
    asks: readonly Ask[],
    found: readonly (LeaseEntry | undefined)[],
    plans: readonly Plan[],
    now: number,
  ): Outcome | Promise<Outcome> {
    const readings = asks.map((ask, index) => {
      const entry = found[index]
      return plans[index] === 'spend' ? spendSlice(entry!, ask.units, now) : localReading(entry, 0, now)
    })
    const open = asks.flatMap((_ask, index) => (plans[index] === 'ask' || plans[index] === 'lease' ? [index] : []))
    if (open.length === 0) {
      local++
      return readings
    }
    const outcome = store.decide(open.map((index) => asks[index]))
    return outcome instanceof Promise ? outcome.then(joined) : joined(outcome)

    /**
     * Adds the readings of asks that spent units of a slice. These units stay spent even if the store does not decide.
     */
    function withSpent(answered: Undecided): Undecided {
      if (open.length === asks.length) return answered
      const spent = asks.flatMap((ask, index) => (plans[index] === 'spend' ? [[ask, readings[index]] as const] : []))
      return { ...answered, decided: new Map([...(answered.decided ?? []), ...spent]) }
    }

    function joined(answered: Outcome): Outcome {
      if ('undecided' in answered) return withSpent(answered)
      let isRefused = false
      for (const [position, index] of open.entries()) {
        readings[index] = answered[position]
        if (found[index] !== undefined) learnShare(found[index], answered[position])
        if (answered[position].taken >= asks[index].units) continue
        if (asks[index].mode === 'hard') isRefused = true
        const entry = found[index] ?? table.track(asks[index].counter, now)
        if (entry !== undefined) rememberRefusal(entry, answered[position], now, asks[index].units)
      }
      if (isRefused) for (const [index, ask] of asks.entries()) if (plans[index] === 'spend') unspend(found[index]!, ask, readings[index])
      return readings
    }
  }

  function spendSlice(entry: LeaseEntry, units: number, now: number): Reading {
    const reading = localReading(entry, units, now)
    entry.units -= units
    renewal.renewEarly(entry, now)
    return reading
  }

  /**
   * Returns units to their slice. If the slice of the next window has replaced that slice in the meantime, returns the
   * units to the store.
   */
  function unspend(entry: LeaseEntry, { counter, units }: Ask, spent: Reading): void {
    const windowIndex = windowOf(counter, spent.nowUs)
    if (windowOf(counter, entry.reading.nowUs) === windowIndex) entry.units += units
    else void store.decide([{ mode: 'give-back', counter, units, windowIndex }])
  }

  function sweep(): boolean {
    const now = monotonic()
    let isBusy = false
    table.startInterval()
    for (const [key, entry] of table.entries) {
      if (entry.renewal !== undefined) {
        isBusy = true
        continue
      }
      if (entry.units > 0 && (now - entry.readAt >= LEASE_MS || !isInWindow(entry, now))) void renewal.giveBack(entry)
      const idleMs = now - entry.intervalAt
      const isIdle = entry.units === 0 && idleMs >= (now >= entry.refusedUntil ? LEASE_MS : FORGET_REFUSED_MS)
      if (!isIdle) isBusy = true
      else if (now >= entry.lostUntil) table.entries.delete(key)
    }
    return isBusy
  }

  return {
    decide: (asks) => decide(asks),
    sweep,
    forget(keys) {
      for (const key of keys) table.entries.delete(key)
    },
    async close() {
      const held = [...table.entries.values()]
      table.entries.clear()
      await Promise.all(held.map((entry) => entry.renewal))
      await Promise.all(held.map(renewal.giveBack))
    },
    get local() {
      return local
    },
  }
}

function planFor({ units }: Ask, entry: LeaseEntry | undefined, now: number): Plan {
  if (entry === undefined || units === 0) return 'ask'
  if (now < entry.refusedUntil && units >= entry.refusedUnits) return 'refuse'
  if (entry.units >= units && isInWindow(entry, now)) return 'spend'
  return entry.rate >= HOT_PER_MS && greatestSlice(entry, now) >= 2 * units ? 'lease' : 'ask'
}

function mayWait(waited: Waited | undefined): boolean {
  return waited === undefined || waited.attempts < MAX_ATTEMPTS
}
