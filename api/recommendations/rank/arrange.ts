import { DAY_MS } from '../../../schemas/retention.ts'
import type { ItemTable } from '../items/item-table.ts'
import { leastOfGreatest, placeOfGreatest } from '../model/greatest-values.ts'
import type { RecommendationModel } from '../model/model.ts'
import type { Scored } from './rank.ts'

/** A boost that multiplies the scores of items below a maximum age by a factor. */
export interface NewReleaseBoost {
  readonly factor: number
  readonly maxAgeDays: number
}

export interface Arrangement {
  readonly diversity: boolean
  readonly boost: NewReleaseBoost | undefined
  readonly model: RecommendationModel | undefined
  /** New items to be tried, best first. They are not among the other candidates. */
  readonly explored: readonly Scored[]
  readonly now: number
}

/** An item of the final list. */
export interface Arranged extends Scored {
  /** Whether the item is in the list only to find out whether users choose it. */
  readonly isExplored: boolean
  /**
   * The position that the item would have by its boosted score alone, counted from 0. For an explored item, its actual
   * position.
   */
  readonly placeByScore: number
}

export interface ArrangedList {
  readonly list: readonly Arranged[]
  /** Whether the top 20 exceed the limit per genre, because fewer than 20 items are within the limit. */
  readonly isCapRelaxed: boolean
}

/** Constants of the arrangement: docs/services/recommendations.md#order */
const LIST_SIZE = 50
/**
 * Maximum number of items that are arranged. This is twice the length of a list, so it is enough even if explored items
 * and the limit per genre displace half of these items.
 */
const ARRANGED = 100
const SCORE_SHARE = 0.7
const SIMILARITY_SHARE = 0.3
const TOP = 20
const MAX_PER_GENRE = 3
/** Places of explored items among every 20 items, counted from 0. */
const EXPLORED_PLACES: readonly number[] = [9, 19]

/**
 * Turns scored candidates into the list. Applies the boost, then diversity, and finally exploration within the limit
 * per genre.
 */
export function arrange(items: ItemTable, scored: readonly Scored[], arrangement: Arrangement): ArrangedList {
  const best = bestOf(items, scored, arrangement)
  const ordered = arrangement.diversity ? diversified(items, best, arrangement.model) : best
  return placed(items, ordered, arrangement.explored)
}

type Ordered = Arranged & { readonly rank: number }

/** Returns the items with the highest boosted scores, best first. */
function bestOf(items: ItemTable, scored: readonly Scored[], { boost, now }: Arrangement): Ordered[] {
  const ranks = new Float64Array(scored.length)
  for (let at = 0; at < ranks.length; at++) ranks[at] = boostedScore(items, scored[at], boost, now)
  // Score of the last item that is arranged. Only items with at least this score are sorted as objects, because sorting
  // objects is costly.
  const least = leastOfGreatest(ranks, ARRANGED)
  const best: (Ordered & { placeByScore: number })[] = []
  scored.forEach(({ candidate, score, rows, start }, index) => {
    const rank = ranks[index]
    if (rank >= least) best.push({ candidate, score, rows, start, isExplored: false, placeByScore: 0, rank })
  })
  best.sort((a, b) => b.rank - a.rank || (a.candidate.itemId < b.candidate.itemId ? -1 : 1))
  if (best.length > ARRANGED) best.length = ARRANGED
  best.forEach((one, place) => {
    one.placeByScore = place
  })
  return best
}

function boostedScore(items: ItemTable, { candidate, score }: Scored, boost: NewReleaseBoost | undefined, now: number): number {
  if (boost === undefined) return score
  const isNew = now - items.createdAt(candidate.row) < boost.maxAgeDays * DAY_MS
  return isNew ? score * boost.factor : score
}

/**
 * Reorders the items by maximal marginal relevance. Each step chooses the item with the highest value: 0.7 × its
 * boosted score − 0.3 × its highest similarity to a chosen item.
 */
function diversified(items: ItemTable, ordered: readonly Ordered[], model: RecommendationModel | undefined): Ordered[] {
  const vectors = ordered.map(({ candidate }) => model?.vectorOf(candidate.itemId))
  const genres = ordered.map(({ candidate }) => items.genreAt(candidate.row))
  // Values only decrease as more items are chosen. An item is therefore compared with the chosen items only when its
  // last known value is the highest.
  const values = Float64Array.from(ordered, ({ rank }) => SCORE_SHARE * rank)
  const greatest = new Float64Array(ordered.length)
  const compared = new Uint8Array(ordered.length)
  const chosen: number[] = []

  while (chosen.length < Math.min(LIST_SIZE, ordered.length)) {
    const best = placeOfGreatest(values)
    if (compared[best] === chosen.length) {
      chosen.push(best)
      values[best] = CHOSEN
      continue
    }
    for (; compared[best] < chosen.length; compared[best]++) {
      const other = chosen[compared[best]]
      const [one, two] = [vectors[best], vectors[other]]
      // If a vector is missing, items of the same genre have the similarity 1, and other items 0.
      const isAlike = genres[best] !== 0 && genres[best] === genres[other] ? 1 : 0
      greatest[best] = Math.max(greatest[best], one === undefined || two === undefined ? isAlike : cosine(one, two))
    }
    values[best] = SCORE_SHARE * ordered[best].rank - SIMILARITY_SHARE * greatest[best]
  }
  const rest = ordered.filter((_, place) => values[place] !== CHOSEN)
  return [...chosen.map((place) => ordered[place]), ...rest]
}

const CHOSEN = Number.NEGATIVE_INFINITY

/**
 * Returns the cosine of two vectors of length 1. Computes four separate sums, because additions to the same sum would
 * have to wait for each other.
 */
function cosine(one: Float32Array, other: Float32Array): number {
  let [first, second, third, fourth] = [0, 0, 0, 0]
  for (let at = 0; at < one.length; at += 4) {
    first += one[at] * other[at]
    second += one[at + 1] * other[at + 1]
    third += one[at + 2] * other[at + 2]
    fourth += one[at + 3] * other[at + 3]
  }
  return first + second + (third + fourth)
}

/**
 * Puts the items in their places. Explored items appear only at the places reserved for them. The limit per genre also
 * counts explored items, and moves items of a full genre below the top of the list.
 */
function placed(items: ItemTable, ordered: readonly Arranged[], explored: readonly Scored[]): ArrangedList {
  const cap = genreCap(items)
  const waiting = [...explored]
  const later: Arranged[] = []
  const list: Arranged[] = []
  let next = 0

  const hasRoom = ({ candidate }: Scored) => cap.hasRoom(candidate.row)

  function put(one: Arranged): void {
    cap.count(one.candidate.row)
    list.push(one)
  }

  /** Puts an explored item in the next place, if that place is reserved for explored items. */
  function explore(isAllowed: (one: Scored) => boolean): boolean {
    const found = EXPLORED_PLACES.includes(list.length % TOP) ? waiting.findIndex(isAllowed) : -1
    if (found < 0) return false
    const [one] = waiting.splice(found, 1)
    put({ ...one, isExplored: true, placeByScore: list.length })
    return true
  }

  while (list.length < TOP) {
    if (explore(hasRoom)) continue
    if (next === ordered.length) break
    const one = ordered[next++]
    if (hasRoom(one)) put(one)
    else later.push(one)
  }
  const rest = [...later, ...ordered.slice(next)]
  const isCapRelaxed = list.length < TOP && rest.length > 0
  for (let at = 0; list.length < LIST_SIZE && at < rest.length; ) if (!explore(() => true)) put(rest[at++])
  return { list, isCapRelaxed }
}

/** A list to which the limit per genre has been applied. */
export interface CappedList<T> {
  readonly items: readonly T[]
  /** Whether the top 20 exceed the limit per genre, because fewer than 20 items are within the limit. */
  readonly isCapRelaxed: boolean
}

/**
 * Applies the limit per genre to a list from which items have been removed, because later items have moved into the top
 * of the list. Items of a full genre come directly below the top.
 */
export function cappedAgain<T extends { readonly itemId: bigint }>(items: ItemTable, list: readonly T[]): CappedList<T> {
  const cap = genreCap(items)
  const top: T[] = []
  const later: T[] = []
  for (const one of list) {
    const row = items.rowOf(one.itemId)
    if (top.length < TOP && cap.hasRoom(row)) {
      cap.count(row)
      top.push(one)
    } else later.push(one)
  }
  return { items: [...top, ...later], isCapRelaxed: top.length < TOP && later.length > 0 }
}

/** Counts the items at the top of a list by genre. The limit does not apply to items without a genre. */
function genreCap(items: ItemTable) {
  const counts = new Map<number, number>()
  return {
    hasRoom(row: number): boolean {
      const genre = items.genreAt(row)
      return genre === 0 || (counts.get(genre) ?? 0) < MAX_PER_GENRE
    },
    count(row: number): void {
      const genre = items.genreAt(row)
      counts.set(genre, (counts.get(genre) ?? 0) + 1)
    },
  }
}
