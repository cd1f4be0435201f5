import type { Ask, Counter, Reading, Undecided } from './counter.ts'
import { type Debts, debts } from './debts.ts'
import { capacityOf, elapsedUs, estimateOf, refilled, US_PER_SECOND, windowIndexAt } from './formulas.ts'
import { recentCounters } from './recent-counters.ts'

/**
 * This instance's own counts, which decide while the store does not. They start from the last counts that the store
 * returned, as far as this instance still remembers them.
 */
export interface OwnCounts extends Debts {
  /**
   * Updates the counts from an answer of the store. A late answer may be older than the known counts, so the larger of
   * the two counts is kept.
   */
  learn(asks: readonly Ask[], readings: readonly Reading[], isLate: boolean): void
  /**
   * Decides the asks of one request in the same way as the store. Records as debts the units that the store will not
   * count itself.
   */
  decide(asks: readonly Ask[], undecided: Undecided): readonly Reading[]
  /** Forgets counters that were reset. */
  forget(keys: readonly string[]): void
}

export interface OwnCountsOptions {
  /** Returns epoch ms. Used only until the store's first answer arrives, because answers contain the store's time. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
}

const US_PER_MS = 1_000
/**
 * Share of a limit below which counts are not remembered. An instance that decides with its own counts may exceed a
 * limit by this share.
 */
const NEGLIGIBLE = 1 / 64

export function ownCounts({ now, monotonic }: OwnCountsOptions): OwnCounts {
  const recent = recentCounters()
  const owed = debts()
  let clockUs = now() * US_PER_MS
  let clockAt = monotonic()

  function learn(asks: readonly Ask[], readings: readonly Reading[], isLate: boolean): void {
    for (let index = 0; index < asks.length; index++) {
      const { mode, counter } = asks[index]
      if (mode === 'give-back' || mode === 'charge') continue
      const { taken, nowUs, held, heldBefore: answered } = readings[index]
      const isBucket = counter.limit.burst > 0
      forgetRefilled(counter, nowUs)
      const used = owed.isEmpty ? taken : taken + owed.unitsOf(counter.key, windowOf(counter, nowUs))
      const left = isBucket ? held - used * US_PER_SECOND : held + used
      const heldBefore = owed.isEmpty || isBucket ? answered : answered + owed.unitsOf(counter.key, windowOf(counter, nowUs) - 1)
      if (nowUs !== clockUs && !isLate) {
        // All readings of a batch have the same time, so most readings do not change the clock.
        clockUs = nowUs
        clockAt = monotonic()
      }
      if (isNegligible(counter, left, heldBefore)) continue
      const known = isLate ? recent.find(counter.key) : undefined
      const age = known === undefined ? Number.POSITIVE_INFINITY : windowOf(counter, nowUs) - windowOf(counter, known.atUs)
      // The known count of the window that has just ended may include requests that were allowed without the store. The
      // larger count is therefore kept.
      if (age === 1) recent.set(counter.key, left, Math.max(heldBefore, known!.held), nowUs)
      else if (age > 0) recent.set(counter.key, left, heldBefore, nowUs)
      // A late answer does not include requests that were allowed after its batch was sent.
      else if (age === 0) {
        const most = isBucket ? Math.min(known!.held, left) : Math.max(known!.held, left)
        recent.set(counter.key, most, known!.heldBefore, known!.atUs)
      }
    }
  }

  /** Estimates the store's current time. */
  function timeUs(): number {
    return clockUs + Math.round((monotonic() - clockAt) * US_PER_MS)
  }

  function decide(asks: readonly Ask[], { undecided, decided, isUncounted = false }: Undecided): readonly Reading[] {
    const nowUs = timeUs()
    const readings = asks.map((ask) => decided?.get(ask) ?? read(ask, nowUs))
    // If this instance refuses a request, units that other shards have already taken for the request stay taken.
    if (asks.some(({ mode, units }, index) => mode === 'hard' && readings[index].taken < units)) return readings
    for (const [index, { counter }] of asks.entries()) {
      if (decided?.has(asks[index]) !== true) take(counter, readings[index], isUncounted || undecided !== 'timeout')
    }
    return readings
  }

  function read({ counter, units }: Ask, nowUs: number): Reading {
    const { limit } = counter
    if (limit.burst > 0) {
      const tokens = tokensAt(counter, nowUs)
      return { taken: tokens >= units ? units : 0, nowUs, held: Math.floor(tokens * US_PER_SECOND), heldBefore: 0 }
    }
    const known = recent.find(counter.key)
    const index = windowIndexAt(nowUs, limit.windowSeconds)
    const age = known === undefined ? Number.POSITIVE_INFINITY : index - windowOf(counter, known.atUs)
    const current = age <= 0 ? known!.held : 0
    const previous = age <= 0 ? known!.heldBefore : age === 1 ? known!.held : 0
    const estimate = estimateOf({ current, previous }, elapsedUs(nowUs, index, limit.windowSeconds), limit.windowSeconds)
    return { taken: Math.ceil(limit.limit - estimate) >= units ? units : 0, nowUs, held: current, heldBefore: previous }
  }

  function tokensAt({ key, limit }: Counter, nowUs: number): number {
    const known = recent.find(key)
    return known === undefined ? capacityOf(limit) : refilled(limit, known.held / US_PER_SECOND, nowUs - known.atUs)
  }

  /**
   * Reduces a bucket's debt to the tokens that the bucket lacks. All other owed tokens have been refilled since they
   * were taken. In the store's bucket, from which they were not taken, this refill was lost because the bucket was
   * full. If the bucket is not remembered, nothing is known about its tokens, so the debt stays.
   */
  function forgetRefilled(counter: Counter, nowUs: number): void {
    if (owed.isEmpty || counter.limit.burst === 0 || recent.find(counter.key) === undefined) return
    owed.reduce(counter.key, Math.ceil(capacityOf(counter.limit) - tokensAt(counter, nowUs)))
  }

  /**
   * Takes the units of a request that this process decided itself.
   * @param isOwed false if the store will still count the units itself, because only its answer is late
   */
  function take(counter: Counter, { taken, nowUs, held, heldBefore }: Reading, isOwed: boolean): void {
    if (taken === 0) return
    forgetRefilled(counter, nowUs)
    recent.set(counter.key, counter.limit.burst > 0 ? held - taken * US_PER_SECOND : held + taken, heldBefore, nowUs)
    if (isOwed) owed.owe([{ mode: 'charge', counter, units: taken, windowIndex: windowOf(counter, nowUs) }])
  }

  return {
    learn,
    decide,
    forget(keys) {
      for (const key of keys) {
        recent.forget(key)
        owed.forget(key)
      }
    },
    owe: owed.owe,
    chargesFor(asks) {
      if (!owed.isEmpty) for (const { counter } of asks) forgetRefilled(counter, timeUs())
      return owed.chargesFor(asks)
    },
  }
}

/**
 * Returns whether a count is too small to be remembered. Most callers are far below their limits, and their decisions
 * are faster if nothing is remembered.
 */
function isNegligible({ limit }: Counter, held: number, heldBefore: number): boolean {
  const used = limit.burst > 0 ? capacityOf(limit) - held / US_PER_SECOND : held + heldBefore
  return used < capacityOf(limit) * NEGLIGIBLE
}

function windowOf({ limit }: Counter, us: number): number {
  return limit.burst > 0 ? 0 : windowIndexAt(us, limit.windowSeconds)
}
