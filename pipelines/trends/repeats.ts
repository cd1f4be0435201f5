import { regionsOf } from './regions-of.ts'
import { WINDOW_MINUTES } from './time.ts'

/**
 * A repeat is a pair of consecutive contributions of one user to a term. The number of distinct users in a window is
 * the number of contributions in the window, minus the number of repeats with both contributions in the window. This
 * count is exact for any number of users. If each user writes a term only once, there is nothing to store.
 */
export interface Repeat {
  /** The minute of the earlier contribution, in minutes since 1970. */
  readonly earlier: number
  /** The minute of the later contribution. */
  readonly later: number
  /**
   * Number of repeats with these minutes. It is negative if a late contribution separates two contributions that were
   * consecutive before.
   */
  readonly count: number
  /**
   * The regions in which the two contributions are consecutive. Bit i stands for region i of the path of the cell's
   * place.
   */
  readonly levels: number
}

export const NO_REPEATS: readonly Repeat[] = []

/** A user's contribution to a term. */
export interface PlacedMinute {
  readonly minute: number
  readonly place: number
}

/**
 * Returns how a new contribution changes the repeats of its user.
 * @param known the user's other contributions to the term, sorted by minute
 * @param at the position of the new contribution among them
 */
export function repeatsWith(known: readonly PlacedMinute[], at: number, { minute, place }: PlacedMinute): readonly Repeat[] {
  let repeats = NO_REPEATS
  for (const [level, woeid] of regionsOf(place).entries()) {
    const isThere = (other: PlacedMinute) => regionsOf(other.place).includes(woeid)
    const before = known.slice(0, at).findLast(isThere)?.minute
    const after = known.slice(at).find(isThere)?.minute
    const add = (earlier: number | undefined, later: number | undefined, count: number): void => {
      if (earlier === undefined || later === undefined || later - earlier >= WINDOW_MINUTES) return
      repeats = withRepeat(repeats, { earlier, later, count, levels: 1 << level })
    }
    add(before, minute, 1)
    add(minute, after, 1)
    add(before, after, -1)
  }
  return repeats
}

/** Adds a change. If the list contains the same change for other regions, the two are combined. */
function withRepeat(repeats: readonly Repeat[], added: Repeat): readonly Repeat[] {
  const isSame = ({ earlier, later, count }: Repeat) => earlier === added.earlier && later === added.later && count === added.count
  const same = repeats.findIndex((each) => isSame(each) && (each.levels & added.levels) === 0)
  if (same < 0) return [...repeats, added]
  return repeats.with(same, { ...repeats[same], levels: repeats[same].levels | added.levels })
}

/** Adds further repeats to those of a cell. Repeats with the same minutes and regions are combined. */
export function addRepeats(known: readonly Repeat[], added: readonly Repeat[]): readonly Repeat[] {
  if (added.length === 0) return known
  const repeats = [...known]
  for (const repeat of added) {
    const { earlier, later, levels } = repeat
    const same = repeats.findIndex((each) => each.earlier === earlier && each.later === later && each.levels === levels)
    if (same < 0) repeats.push(repeat)
    else repeats[same] = { ...repeat, count: repeats[same].count + repeat.count }
  }
  return repeats.filter(({ count }) => count !== 0)
}

/** Number of values per repeat in a `StoredRepeats`. */
const FIELDS = 3

/** The repeats of a term in a region, as one list of numbers: earlier minute, later minute, count, earlier minute … */
export type StoredRepeats = number[]

/**
 * Adds a repeat to the stored repeats, unless its earlier contribution is from before `oldest`.
 * @param oldest the oldest minute that a window may still contain
 */
export function storeRepeat(stored: StoredRepeats, { earlier, later, count }: Repeat, oldest: number): void {
  if (earlier < oldest) return
  // A new contribution usually repeats a contribution from the last few minutes. The repeats of these minutes were
  // added last, so the search begins at the end.
  for (let i = stored.length - FIELDS; i >= 0; i -= FIELDS) {
    if (stored[i] !== earlier || stored[i + 1] !== later) continue
    stored[i + 2] += count
    return
  }
  if (stored.length > 0 && stored[0] < oldest) dropBefore(stored, oldest)
  stored.push(earlier, later, count)
}

function dropBefore(stored: StoredRepeats, oldest: number): void {
  let kept = 0
  for (let i = 0; i < stored.length; i += FIELDS) {
    if (stored[i] < oldest) continue
    stored.copyWithin(kept, i, i + FIELDS)
    kept += FIELDS
  }
  stored.length = kept
}

/** Returns the number of repeats with both contributions from minute `from` to `to`, both inclusive. */
export function repeatsIn(stored: StoredRepeats, from: number, to: number): number {
  let sum = 0
  for (let i = 0; i < stored.length; i += FIELDS) if (stored[i] >= from && stored[i + 1] <= to) sum += stored[i + 2]
  return sum
}
