import type { OutputCheck } from '../job.ts'
import { readLongs } from '../longs.ts'
import { JOIN_SPAN_MS, type Swipes } from './swipes.ts'

/** Base for encoding a pair as one number. It is greater than every user number. */
const PAIR_BASE = 1_000_000

/**
 * Returns the time of each pair's match: the earliest time at which both users have swiped right, at most JOIN_SPAN_MS
 * apart. Compares all combinations of a pair's swipes.
 */
export function expectedMatches({ count, swiper, swipee, right, ts }: Swipes): Map<number, number> {
  const byPair = new Map<number, number[]>()
  for (let i = 0; i < count; i++) {
    if (right[i] === 0) continue
    const pair = Math.min(swiper[i], swipee[i]) * PAIR_BASE + Math.max(swiper[i], swipee[i])
    const list = byPair.get(pair)
    if (list === undefined) byPair.set(pair, [i])
    else list.push(i)
  }
  const matches = new Map<number, number>()
  for (const [pair, list] of byPair) {
    let earliest = Infinity
    for (const a of list)
      for (const b of list)
        if (swiper[a] < swipee[a] && swiper[b] > swipee[b] && Math.abs(ts[a] - ts[b]) <= JOIN_SPAN_MS)
          earliest = Math.min(earliest, Math.max(ts[a], ts[b]))
    if (earliest < Infinity) matches.set(pair, earliest)
  }
  return matches
}

/** Checks that every match is output exactly once, with the right time. */
export function checkMatches(swipes: Swipes): OutputCheck {
  const wanted = expectedMatches(swipes)
  const fields = new Float64Array(3)
  return {
    record(buffer, _keyStart, _keyEnd, start, end) {
      if (!readLongs(buffer, start, end, fields)) return 'a value does not contain 3 longs'
      const [lo, hi, ts] = fields
      const pair = lo * PAIR_BASE + hi
      const expected = wanted.get(pair)
      if (expected === undefined) return `the pair ${lo}:${hi} does not match or was output twice`
      if (expected !== ts) return `the pair ${lo}:${hi} matches at ${expected}, not at ${ts}`
      wanted.delete(pair)
      return undefined
    },
    missing: () => (wanted.size === 0 ? undefined : `${wanted.size} matches are missing`),
  }
}
