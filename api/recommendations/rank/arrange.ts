import { DAY_MS } from '../../../schemas/retention.ts'
import type { ItemTable } from '../items/item-table.ts'
import type { RecommendationModel } from '../model/model.ts'
import type { Scored } from './rank.ts'

/** Raises the scores of items that are younger than an age. */
export interface NewReleaseBoost {
  readonly factor: number
  readonly maxAgeDays: number
}

export interface Arrangement {
  readonly diversity: boolean
  readonly boost: NewReleaseBoost | undefined
  readonly model: RecommendationModel | undefined
  /** New items to be tried, best first, which are not among the others. */
  readonly explored: readonly Scored[]
  readonly now: number
}

/** An item of the final list. */
export interface Arranged extends Scored {
  /** True if it was placed to learn about it. */
  readonly isExplored: boolean
  /** The place that it would have by its score alone, from 0. */
  readonly placeByScore: number
}

export interface ArrangedList {
  readonly list: readonly Arranged[]
  /** True if fewer than 20 items were left within the limit per genre, so that it was exceeded. */
  readonly isCapRelaxed: boolean
}

/** docs/services/recommendations.md#order */
const LIST_SIZE = 50
const DIVERSIFIED = 100
const SCORE_SHARE = 0.7
const SIMILARITY_SHARE = 0.3
const TOP = 20
const MAX_PER_GENRE = 3
/** Places of explored items in every 20, from 0. */
const EXPLORED_PLACES = [9, 19] as const

/** Turns scored candidates into the list: boost, diversity, exploration, and last the limit per genre. */
export function arrange(items: ItemTable, scored: readonly Scored[], arrangement: Arrangement): ArrangedList {
  const { diversity, boost, now } = arrangement
  const boosted = scored
    .map((one) => ({ ...one, isExplored: false, rank: boostedScore(items, one, boost, now) }))
    .sort((a, b) => b.rank - a.rank || (a.candidate.itemId < b.candidate.itemId ? -1 : 1))
    .map((one, placeByScore) => ({ ...one, placeByScore }))
  const ordered = diversity ? diversified(items, boosted, arrangement.model) : boosted
  return capped(items, withExplored(ordered, arrangement.explored))
}

type Ordered = Arranged & { readonly rank: number }

function boostedScore(items: ItemTable, { candidate, score }: Scored, boost: NewReleaseBoost | undefined, now: number): number {
  if (boost === undefined) return score
  const isNew = now - items.createdAt(candidate.row) < boost.maxAgeDays * DAY_MS
  return isNew ? score * boost.factor : score
}

/** Chooses repeatedly the item with the greatest 0.7 × score − 0.3 × greatest similarity to those chosen already. */
function diversified(items: ItemTable, ordered: readonly Ordered[], model: RecommendationModel | undefined): Ordered[] {
  const rest = ordered.slice(0, DIVERSIFIED)
  const vectors = new Map(rest.map(({ candidate }) => [candidate.row, model?.vectorOf(candidate.itemId)]))
  const greatest = new Map(rest.map(({ candidate }) => [candidate.row, 0]))
  const chosen: Ordered[] = []
  while (rest.length > 0 && chosen.length < LIST_SIZE) {
    const values = rest.map((one) => SCORE_SHARE * one.rank - SIMILARITY_SHARE * (greatest.get(one.candidate.row) ?? 0))
    const best = values.reduce((at, value, index) => (value > values[at] ? index : at), 0)
    const [next] = rest.splice(best, 1)
    chosen.push(next)
    for (const { candidate } of rest) {
      const similarity = similarityOf(items, next.candidate.row, candidate.row, vectors)
      greatest.set(candidate.row, Math.max(greatest.get(candidate.row) ?? 0, similarity))
    }
  }
  return [...chosen, ...rest, ...ordered.slice(DIVERSIFIED)]
}

/** The cosine of two vectors of length 1; without vectors, items of one genre are alike. */
function similarityOf(items: ItemTable, one: number, other: number, vectors: ReadonlyMap<number, Float32Array | undefined>): number {
  const [a, b] = [vectors.get(one), vectors.get(other)]
  if (a === undefined || b === undefined) {
    const genre = items.genreAt(one)
    return genre !== 0 && genre === items.genreAt(other) ? 1 : 0
  }
  let product = 0
  for (let index = 0; index < a.length; index++) product += a[index] * b[index]
  return product
}

function withExplored(ordered: readonly Arranged[], explored: readonly Scored[]): Arranged[] {
  const list = ordered.slice(0, LIST_SIZE * 2)
  const waiting = [...explored]
  for (let block = 0; block < LIST_SIZE; block += TOP) {
    for (const place of EXPLORED_PLACES) {
      const at = block + place
      if (at > list.length || at >= LIST_SIZE) return list
      const next = waiting.shift()
      if (next === undefined) return list
      list.splice(at, 0, { ...next, isExplored: true, placeByScore: at })
    }
  }
  return list
}

/** Moves items of a genre that has three places among the first 20 behind them. */
function capped(items: ItemTable, ordered: readonly Arranged[]): ArrangedList {
  const counts = new Map<number, number>()
  const top: Arranged[] = []
  const later: Arranged[] = []
  for (const one of ordered) {
    const genre = items.genreAt(one.candidate.row)
    const count = counts.get(genre) ?? 0
    if (top.length < TOP && (genre === 0 || count < MAX_PER_GENRE)) {
      counts.set(genre, count + 1)
      top.push(one)
    } else later.push(one)
  }
  const isCapRelaxed = top.length < TOP && later.length > 0
  return { list: [...top, ...later].slice(0, LIST_SIZE), isCapRelaxed }
}
