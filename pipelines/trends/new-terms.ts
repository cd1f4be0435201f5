import type { Buckets } from '../../schemas/trends/types.ts'
import { bucketBefore, bucketFrom } from '../../state/stores/buckets.ts'
import { WINDOW_MINUTES } from './time.ts'

/** The sum and number of the window counts of many terms, without visiting them. */
export interface NewTerms {
  /** Must be called before `count` is added to a term's `minute`. */
  adding(minutes: Buckets, minute: number, count: number): void
  /** Returns the totals of the window whose newest bucket is `lastMinute`, which must not decrease between calls. */
  totals(lastMinute: number): { volume: number; terms: number }
}

/**
 * A term with contributions in minute b is in the windows b … b+59. When a minute gets its first contribution, the term
 * is new only in windows that contain none of its other minutes. They are recorded as +1 at the first window and -1
 * after the last. The totals are therefore also exact for late contributions and for those dated ahead.
 */
export function newTerms(): NewTerms {
  const volumes = new Map<number, number>()
  const changes = new Map<number, number>()
  /** Number of terms in the window of `settled`. */
  let terms = 0
  let settled = -Infinity

  function adding(minutes: Buckets, minute: number, count: number): void {
    volumes.set(minute, (volumes.get(minute) ?? 0) + count)
    const next = bucketFrom(minutes, minute)
    if (next === minute) return
    const from = Math.max(minute, bucketBefore(minutes, minute) + WINDOW_MINUTES)
    const to = Math.min(minute + WINDOW_MINUTES, next)
    if (from >= to) return
    change(from, 1)
    change(to, -1)
  }

  function change(at: number, by: number): void {
    if (at <= settled) terms += by
    else changes.set(at, (changes.get(at) ?? 0) + by)
  }

  function totals(lastMinute: number): { volume: number; terms: number } {
    for (const [at, by] of changes) {
      if (at > lastMinute) continue
      terms += by
      changes.delete(at)
    }
    settled = Math.max(settled, lastMinute)
    let volume = 0
    for (const [minute, count] of volumes) {
      if (minute <= lastMinute - WINDOW_MINUTES) volumes.delete(minute)
      else if (minute <= lastMinute) volume += count
    }
    return { volume, terms }
  }

  return { adding, totals }
}
