import type { Tally } from '../../../schemas/links/types.ts'

/** What a batch has counted, by value. */
export type BatchCounts = ReadonlyMap<string, number>

export interface TallyEntry {
  readonly value: string
  readonly clicks: number
  /** `clicks` may be too great by this much; 0: exact. */
  readonly over: number
}

/** Below this many comparisons a search through the list beats building an index. */
const INDEX_FROM_COMPARISONS = 1_024

export function emptyTally(): Tally {
  return { values: [], counts: [], over: [] }
}

/**
 * Adds a batch to a Space-Saving summary (Metwally, Agrawal, El Abbadi 2005, with weights): exact while the values are at most `places`;
 * after that a new value takes the place of the least, and its count with it. Counts are then too great by at most N / places, N being all
 * that was added; a value with more than N / places clicks is always in it.
 */
export function addToTally(tally: Tally, batch: BatchCounts, places: number): void {
  const { values, counts, over } = tally
  const index = batch.size * values.length > INDEX_FROM_COMPARISONS ? new Map(values.map((value, at) => [value, at])) : undefined
  const strangers: [value: string, count: number][] = []
  // Known values first: they would lose their place to strangers that are fewer.
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

/** The greatest counts, best first; equal ones by value. */
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
