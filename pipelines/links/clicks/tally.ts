import type { Tally } from '../../../schemas/links/types.ts'

/** The number of clicks in a batch for each value of a property, such as each referrer. */
export type BatchCounts = ReadonlyMap<string, number>

export interface TallyEntry {
  readonly value: string
  readonly clicks: number
  /** The number by which `clicks` may be too high; 0 if `clicks` is exact. */
  readonly over: number
}

/** Number of comparisons at which building an index becomes faster than a linear search. */
const INDEX_FROM_COMPARISONS = 1_024

export function emptyTally(): Tally {
  return { values: [], counts: [], over: [] }
}

/**
 * Adds a batch to a Space-Saving summary (Metwally, Agrawal, El Abbadi 2005, with weights). Counts are exact up to
 * `places` distinct values. Beyond that, a new value replaces the value with the lowest count and inherits its count.
 * Counts are then too high by at most N / places, where N is the sum of all counts, and any value with more than N /
 * places clicks is included.
 */
export function addToTally(tally: Tally, batch: BatchCounts, places: number): void {
  const { values, counts, over } = tally
  const index = batch.size * values.length > INDEX_FROM_COMPARISONS ? new Map(values.map((value, at) => [value, at])) : undefined
  const strangers: [value: string, count: number][] = []
  // Known values are added first, because new values could evict them before they are counted.
  for (const entry of batch) {
    const at = index === undefined ? values.indexOf(entry[0]) : (index.get(entry[0]) ?? -1)
    if (at >= 0) counts[at] += entry[1]
    else strangers.push(entry)
  }
  if (strangers.length > 1) strangers.sort((a, b) => b[1] - a[1])
  for (const [value, count] of strangers) {
    if (values.length < places) {
      values.push(value)
      counts.push(count)
      over.push(0)
      continue
    }
    const at = leastOf(counts)
    values[at] = value
    over[at] = counts[at]
    counts[at] += count
  }
}

/** Returns the entries with the highest counts, best first. Entries with equal counts are sorted by value. */
export function topOf({ values, counts, over }: Tally, limit: number): TallyEntry[] {
  const entries = values.map((value, at) => ({ value, clicks: counts[at], over: over[at] }))
  entries.sort((a, b) => b.clicks - a.clicks || (a.value < b.value ? -1 : 1))
  return entries.slice(0, limit)
}

function leastOf(counts: readonly number[]): number {
  let least = 0
  for (let at = 1; at < counts.length; at++) if (counts[at] < counts[least]) least = at
  return least
}
