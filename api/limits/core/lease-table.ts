import type { Ask, Counter } from './counter.ts'
import { hasChanged, type LeaseEntry, newEntry } from './lease-entry.ts'

/** The counters that this instance tracks, because they may be hot or because they have refused a request. */
export interface LeaseTable {
  /**
   * Counts a request towards the rate of its counter. Tracks the counter once it has had enough requests. Forgets the
   * refusal of a tracked counter if the rule has changed.
   * @param isNew false for a request that is decided again after it has waited for a slice
   * @returns undefined if the counter is not tracked, and for asks that are neither hard nor soft
   */
  countRequest(ask: Ask, now: number, isNew: boolean): LeaseEntry | undefined
  /**
   * Tracks a counter from now on.
   * @returns undefined if the table is full
   */
  track(counter: Counter, now: number): LeaseEntry | undefined
  /** Resets the request counts of untracked counters. */
  startInterval(): void
  readonly entries: Map<string, LeaseEntry>
}

/** Length of the intervals in which request rates are measured. */
const RATE_INTERVAL_MS = 20
/** Maximum number of tracked counters. The store decides for all other counters. */
const MAX_ENTRIES = 50_000
/**
 * A counter is tracked once it gets this many requests between two sweeps. Most callers send only one request, and a
 * single request must cost almost nothing.
 */
const TRACKED_FROM = 3
/**
 * Number of slots in which requests for untracked counters are counted. A hash of the key selects the slot. If two
 * counters share a slot, they are tracked a little earlier.
 */
const HASH_SLOTS = 65_536

export function leaseTable(): LeaseTable {
  const entries = new Map<string, LeaseEntry>()
  /** Number of requests for untracked counters since the last sweep, in each hash slot. */
  const untracked = new Uint8Array(HASH_SLOTS)

  function countRequest({ mode, counter }: Ask, now: number, isNew: boolean): LeaseEntry | undefined {
    if (mode !== 'hard' && mode !== 'soft') return undefined
    let entry = entries.get(counter.key)
    if (entry === undefined) {
      if (!isNew) return undefined
      const slot = hashSlotOf(counter.key)
      if (untracked[slot] + 1 < TRACKED_FROM) untracked[slot]++
      else entry = track(counter, now)
      if (entry === undefined) return undefined
    }
    if (hasChanged(entry.counter.limit, counter.limit)) {
      // A refusal by the earlier rule is not valid for the changed rule.
      entry.counter = counter
      entry.refusedUntil = 0
    }
    if (!isNew) return entry
    entry.requests++
    if (now - entry.intervalAt >= RATE_INTERVAL_MS) {
      entry.rate = (entry.rate + entry.requests / (now - entry.intervalAt)) / 2
      entry.requests = 0
      entry.intervalAt = now
    }
    return entry
  }

  function track(counter: Counter, now: number): LeaseEntry | undefined {
    const found = entries.get(counter.key)
    if (found !== undefined || entries.size >= MAX_ENTRIES) return found
    const entry = newEntry(counter, now)
    entries.set(counter.key, entry)
    return entry
  }

  return { countRequest, track, startInterval: () => void untracked.fill(0), entries }
}

/**
 * Computes FNV-1a, folded to the number of slots.
 * @see http://www.isthe.com/chongo/tech/comp/fnv/
 */
function hashSlotOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) & (HASH_SLOTS - 1)
}
