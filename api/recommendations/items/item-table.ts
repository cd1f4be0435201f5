import type { RankedItem } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { decay, HALF_LIFE_MS } from '../../../schemas/recommendations/signals/half-lives.ts'
import type { ItemStats, RecommendationItem } from '../../../schemas/recommendations/types.ts'
import { DAY_MS } from '../../../schemas/retention.ts'
import { genreOf } from './genre.ts'
import { idIndex } from './id-index.ts'

/**
 * Everything that ranking knows about items, in typed arrays, so that 500 candidates cost no requests and a million
 * items take some 100 MB. Rows are never removed: an item that is deleted is inactive.
 */
export interface ItemTable {
  /** Number of items, active or not. */
  readonly size: number
  /** @param item undefined for a deleted one */
  putItem(itemId: bigint, item: RecommendationItem | undefined): void
  putStats(itemId: bigint, stats: ItemStats | undefined): void
  /** @returns -1 if neither the item nor statistics of it are known */
  rowOf(itemId: bigint): number
  idAt(row: number): bigint
  /** Returns whether the item itself is known, active or not. */
  isItem(row: number): boolean
  isActive(row: number): boolean
  /** Number of the genre; 0 for none. */
  genreAt(row: number): number
  genreName(genre: number): string
  /** @returns 0 for a genre that no item has */
  genreNumber(name: string): number
  createdAt(row: number): number
  /**
   * How often the item entered the last ten views of a user, with a half-life of 30 days, as of its last event, like
   * the weights of its neighbours. 0 for the row -1.
   */
  enteredAt(row: number): number
  /** Times shown and times chosen afterwards, with a half-life of 7 days. */
  shownAt(row: number, now: number): number
  chosenAt(row: number, now: number): number
  /** Writes what the ranker knows of the item into an object that is reused. */
  rankedAt(row: number, now: number): RankedItem
}

/** Prior clicks per time shown, ratings and purchases: what an item counts as while little is known of it. */
const PRIOR_SHOWN = 50
const PRIOR_CHOSEN = 2
const PRIOR_RATINGS = 5
const PRIOR_STARS = 3.5
const PRIOR_EVENTS = 20
const PRIOR_PURCHASES = 0.4
/** Below this many interactions an item is new, and its given popularity stands in for its statistics. */
export const NEW_ITEM_INTERACTIONS = 100
/** From this many on its statistics count alone. */
const KNOWN_ITEM_INTERACTIONS = 500
/** How much a given popularity of 1 counts as. */
const GIVEN_POPULARITY_VIEWS = 50

const FIRST_ROWS = 1_024
const MS_PER_SECOND = 1_000
const IS_ITEM = 1
const IS_ACTIVE = 2

const COLUMNS = {
  flags: Uint8Array,
  genre: Uint16Array,
  created: Uint32Array,
  updated: Float64Array,
  given: Float32Array,
  at: Uint32Array,
  popularity: Float32Array,
  entered: Float32Array,
  recent: Float32Array,
  shown: Float32Array,
  chosen: Float32Array,
  events: Float32Array,
  purchases: Float32Array,
  ratings: Float32Array,
  ratingSum: Float32Array,
  interactions: Uint32Array,
}
type Columns = { [Name in keyof typeof COLUMNS]: InstanceType<(typeof COLUMNS)[Name]> }

export function itemTable(): ItemTable {
  const ids = idIndex()
  const genres = new Map<string, number>([['', 0]])
  const genreNames = ['']
  let columns = columnsOf(FIRST_ROWS)
  const ranked = {
    popularity: 0,
    recentActivity: 0,
    clickRate: 0,
    meanRating: 0,
    purchaseShare: 0,
    givenPopularity: 0,
    interactions: 0,
    ageDays: 0,
  }

  function add(itemId: bigint): number {
    const row = ids.add(itemId)
    if (row >= columns.flags.length) columns = grown(columns)
    return row
  }

  function numberOf(genre: string): number {
    const known = genres.get(genre)
    if (known !== undefined) return known
    genres.set(genre, genreNames.length)
    return genreNames.push(genre) - 1
  }

  function fadeOf(row: number, now: number, halfLifeMs: number): number {
    return decay(Math.max(0, now - columns.at[row] * MS_PER_SECOND), halfLifeMs)
  }

  function weekly(column: Float32Array, row: number, now: number): number {
    return column[row] * fadeOf(row, now, HALF_LIFE_MS.statistics)
  }

  return {
    get size() {
      return ids.size
    },
    putItem(itemId, item) {
      const row = add(itemId)
      if (item === undefined) {
        columns.flags[row] &= ~IS_ACTIVE
        return
      }
      if (item.updated_at < columns.updated[row]) return
      columns.flags[row] = IS_ITEM | (item.status === 'ACTIVE' ? IS_ACTIVE : 0)
      columns.genre[row] = numberOf(genreOf(item))
      columns.created[row] = Math.floor(item.created_at / MS_PER_SECOND)
      columns.updated[row] = item.updated_at
      columns.given[row] = item.popularity
    },
    putStats(itemId, stats) {
      if (stats === undefined) return
      const row = add(itemId)
      columns.at[row] = Math.floor(stats.at / MS_PER_SECOND)
      columns.popularity[row] = stats.popularity
      columns.entered[row] = stats.entered
      columns.recent[row] = stats.recent
      columns.shown[row] = stats.shown
      columns.chosen[row] = stats.chosen
      columns.events[row] = stats.events
      columns.purchases[row] = stats.purchases
      columns.ratings[row] = stats.ratings
      columns.ratingSum[row] = stats.rating_sum
      columns.interactions[row] = stats.interactions
    },
    rowOf: (itemId) => ids.find(itemId),
    idAt: (row) => ids.idAt(row),
    isItem: (row) => row >= 0 && (columns.flags[row] & IS_ITEM) !== 0,
    isActive: (row) => row >= 0 && (columns.flags[row] & IS_ACTIVE) !== 0,
    genreAt: (row) => columns.genre[row],
    genreName: (genre) => genreNames[genre],
    genreNumber: (name) => genres.get(name) ?? 0,
    createdAt: (row) => columns.created[row] * MS_PER_SECOND,
    enteredAt: (row) => (row < 0 ? 0 : columns.entered[row]),
    shownAt: (row, now) => weekly(columns.shown, row, now),
    chosenAt: (row, now) => weekly(columns.chosen, row, now),
    rankedAt(row, now) {
      const month = fadeOf(row, now, HALF_LIFE_MS.neighbours)
      const week = fadeOf(row, now, HALF_LIFE_MS.statistics)
      const known = blend(columns.interactions[row])
      const given = columns.given[row] * GIVEN_POPULARITY_VIEWS
      ranked.popularity = columns.popularity[row] * month + (1 - known) * given
      ranked.recentActivity = columns.recent[row] * fadeOf(row, now, HALF_LIFE_MS.trending)
      ranked.clickRate = (columns.chosen[row] * week + PRIOR_CHOSEN) / (columns.shown[row] * week + PRIOR_SHOWN)
      ranked.meanRating = (columns.ratingSum[row] * week + PRIOR_RATINGS * PRIOR_STARS) / (columns.ratings[row] * week + PRIOR_RATINGS)
      ranked.purchaseShare = (columns.purchases[row] * week + PRIOR_PURCHASES) / (columns.events[row] * week + PRIOR_EVENTS)
      ranked.givenPopularity = columns.given[row]
      ranked.interactions = columns.interactions[row]
      ranked.ageDays = Math.max(0, now - columns.created[row] * MS_PER_SECOND) / DAY_MS
      return ranked
    },
  }
}

/** How far statistics replace what the producer gave, 0 to 1. */
function blend(interactions: number): number {
  return Math.min(1, Math.max(0, (interactions - NEW_ITEM_INTERACTIONS) / (KNOWN_ITEM_INTERACTIONS - NEW_ITEM_INTERACTIONS)))
}

function columnsOf(rows: number): Columns {
  return Object.fromEntries(Object.entries(COLUMNS).map(([name, Column]) => [name, new Column(rows)])) as Columns
}

function grown(before: Columns): Columns {
  const after = columnsOf(before.flags.length * 2)
  for (const name of Object.keys(COLUMNS) as (keyof Columns)[]) after[name].set(before[name])
  return after
}
