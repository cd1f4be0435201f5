import { isItemId } from '../../../schemas/recommendations/item-id.ts'
import type { RankedItem } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { decay, HALF_LIFE_MS } from '../../../schemas/recommendations/signals/half-lives.ts'
import type { ItemStats, RecommendationItem } from '../../../schemas/recommendations/types.ts'
import { DAY_MS } from '../../../schemas/retention.ts'
import { SnapshotError } from '../../kit/snapshots/checked-file.ts'
import { genreOf } from './genre.ts'
import { idIndex } from './id-index.ts'
import { bytesOfRecords, describeRecords, fillRecords, placesOf, type Records, recordsOf, type Shape } from './records.ts'
import { BLOCK, blockOf, contentOf, kindOf } from './saved-blocks.ts'
import { NONE_LISTED, traitLists } from './trait-lists.ts'
import { NO_TRAIT, type Trait, traitsOf } from './traits.ts'

/**
 * All properties of items that ranking needs, in typed arrays. Ranking 500 candidates therefore needs no reads from
 * Redis. A million items with three traits each take about 65 MB, plus 44 bytes for each item with statistics. Rows are
 * never removed. A deleted item counts as unknown.
 */
export interface ItemTable {
  /** Number of rows. Every item has a row, even if it is inactive or deleted, or if only its statistics are known. */
  readonly size: number
  /**
   * Stores an item, unless the stored item is newer.
   * @param item undefined for a deleted item
   */
  putItem(itemId: bigint, item: RecommendationItem | undefined): void
  putStats(itemId: bigint, stats: ItemStats | undefined): void
  /**
   * Returns the row of an item.
   * @returns -1 if neither the item nor its statistics were ever known
   */
  rowOf(itemId: bigint): number
  idAt(row: number): bigint
  /** Returns the ids of all items, active or not, in the order of their rows. */
  itemIds(): Iterable<bigint>
  /** Returns whether the item itself is known, even if it is inactive. */
  isItem(row: number): boolean
  isActive(row: number): boolean
  /** Number of the item's genre; 0 if it has none. */
  genreAt(row: number): number
  genreName(genre: number): string
  /** Returns the number of a genre; 0 for an unknown genre. */
  genreNumber(name: string): number
  /**
   * Returns one of the traits of an item; NO_TRAIT after the last trait.
   * @param place 0 to MAX_TRAITS - 1
   */
  traitAt(row: number, place: number): Trait
  createdAt(row: number): number
  /** Returns the `updated_at` of the item; 0 for an unknown item. */
  updatedAt(row: number): number
  /**
   * Returns how often the item became one of the last ten items that a user viewed, decayed with a half-life of 30
   * days. The value is decayed only up to the item's last event or impression, like the weights of its neighbours.
   * Returns 0 for the row -1.
   */
  enteredAt(row: number): number
  /**
   * Returns how often the item was shown, and how often it was then chosen, both decayed with a half-life of 7 days.
   */
  shownAt(row: number, now: number): number
  chosenAt(row: number, now: number): number
  /**
   * Returns the table as blocks. The table may change between two blocks. A table that is restored from these blocks
   * may lack such changes, or parts of a change, until all of these changes are applied again.
   */
  saved(): Iterable<Buffer>
  /**
   * Restores one of the blocks. The blocks must be restored in order, and into an empty table.
   * @throws SnapshotError if the block has an unknown kind or the wrong size
   */
  restore(block: Buffer): void
  /** Returns the properties that the ranker uses. The next call overwrites the returned object. */
  rankedAt(row: number, now: number): RankedItem
}

/** Prior values for the click rate, ratings and purchases. They dominate while an item has few statistics. */
const PRIOR_SHOWN = 50
const PRIOR_CHOSEN = 2
const PRIOR_RATINGS = 5
const PRIOR_STARS = 3.5
const PRIOR_EVENTS = 20
const PRIOR_PURCHASES = 0.4
/**
 * Number of interactions below which an item is new. For a new item, the popularity that its producer gave has its full
 * weight.
 */
export const NEW_ITEM_INTERACTIONS = 100
/** Number of interactions at which the popularity that the producer gave stops counting. */
const KNOWN_ITEM_INTERACTIONS = 500
/** Number of views that a new item counts as having if its producer gave it a popularity of 1. */
const GIVEN_POPULARITY_VIEWS = 50

/**
 * Records grow by pages of this many rows. Copying records to a larger array would leave a hole of the old size in
 * memory.
 */
const PAGE_BITS = 16
const PAGE_ROWS = 2 ** PAGE_BITS
const PAGE_MASK = PAGE_ROWS - 1
const MS_PER_SECOND = 1_000
/** The last second that fits into a field of epoch seconds, in the year 2106. */
const LAST_SECOND = 2 ** 32 - 1
/**
 * Maximum number of genres, because genre numbers have 16 bits. Items of further genres count as items without a genre.
 */
const MOST_GENRES = 2 ** 16
const IS_ITEM = 1
const IS_ACTIVE = 2

const ITEM = {
  flags: Uint8Array,
  genre: Uint16Array,
  created: Uint32Array,
  updated: Float64Array,
  given: Float32Array,
  /**
   * The row of the item's statistics in STATS. Statistics have separate rows, because most items of a large catalogue
   * have none.
   */
  stats: Uint32Array,
  traits: Uint32Array,
}
/** All items without statistics share row 0, which contains only zeros. */
const STATS = {
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
const NO_STATS = 0
/** Largest number in a field of counts. An item with more interactions keeps this count. */
const MOST_COUNTED = 2 ** 32 - 1
const itemPlace = placesOf(ITEM)
const statsPlace = placesOf(STATS)
/**
 * Describes the blocks that `saved` returns. Increase the number when the meaning of a field or the layout of a record
 * changes.
 */
export const ITEM_TABLE_FORM = `2 ${describeRecords(ITEM)} ${describeRecords(STATS)}`

/**
 * The content of the table's last block. It is saved last, so it covers all genres, rows of statistics and lists of
 * traits that earlier blocks refer to.
 */
interface SavedEnd {
  readonly genres: readonly string[]
  readonly statsRows: number
  readonly nextTrait: number
}

export function itemTable(): ItemTable {
  const ids = idIndex()
  const genres = new Map<string, number>([['', 0]])
  const genreNames = ['']
  const pages = [recordsOf(ITEM, PAGE_ROWS)]
  const statsPages = [recordsOf(STATS, PAGE_ROWS)]
  let statsRows = NO_STATS + 1
  const traits = traitLists()
  /** Number of restored pages of each kind. */
  const restored = new Map<Shape, number>()
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
    if (row >>> PAGE_BITS === pages.length) pages.push(recordsOf(ITEM, PAGE_ROWS))
    return row
  }

  /** Restores the next page. The first restored page replaces the empty page that exists from the start. */
  function restorePage<S extends Shape>(to: Records<S>[], shape: S, content: Buffer): void {
    const page = recordsOf(shape, PAGE_ROWS)
    fillRecords(page, content)
    restored.set(shape, (restored.get(shape) ?? 0) + 1)
    to[restored.get(shape)! - 1] = page
  }

  function restoreIds(content: Buffer): void {
    if (content.length % BigInt64Array.BYTES_PER_ELEMENT !== 0) throw new SnapshotError('its ids are incomplete')
    for (let at = 0; at < content.length; at += BigInt64Array.BYTES_PER_ELEMENT) {
      const itemId = content.readBigInt64LE(at)
      const row = add(itemId)
      // Earlier versions of the software also saved items whose ids are not positive. Such items count as unknown.
      if (!isItemId(itemId)) pageOf(row).flags[itemPlace.flags(row & PAGE_MASK)] = 0
    }
  }

  function restoreEnd(end: SavedEnd): void {
    statsRows = end.statsRows
    while (statsRows > statsPages.length * PAGE_ROWS) statsPages.push(recordsOf(STATS, PAGE_ROWS))
    traits.restoreNext(end.nextTrait)
    for (const genre of end.genres) numberOf(genre)
  }

  function pageOf(row: number): Records<typeof ITEM> {
    return pages[row >>> PAGE_BITS]
  }

  function statsPageOf(statsRow: number): Records<typeof STATS> {
    return statsPages[statsRow >>> PAGE_BITS]
  }

  function statsRowOf(row: number): number {
    return pageOf(row).stats[itemPlace.stats(row & PAGE_MASK)]
  }

  function addStats(row: number): number {
    const known = statsRowOf(row)
    if (known !== NO_STATS) return known
    if (statsRows >>> PAGE_BITS === statsPages.length) statsPages.push(recordsOf(STATS, PAGE_ROWS))
    pageOf(row).stats[itemPlace.stats(row & PAGE_MASK)] = statsRows
    return statsRows++
  }

  function numberOf(genre: string): number {
    const known = genres.get(genre)
    if (known !== undefined) return known
    if (genreNames.length === MOST_GENRES) return 0
    genres.set(genre, genreNames.length)
    return genreNames.push(genre) - 1
  }

  function fadeOf(at: number, now: number, halfLifeMs: number): number {
    return decay(Math.max(0, now - at * MS_PER_SECOND), halfLifeMs)
  }

  function weekly(name: 'shown' | 'chosen', row: number, now: number): number {
    const statsRow = statsRowOf(row)
    const stats = statsPageOf(statsRow)
    const record = statsRow & PAGE_MASK
    return stats[name][statsPlace[name](record)] * fadeOf(stats.at[statsPlace.at(record)], now, HALF_LIFE_MS.statistics)
  }

  return {
    get size() {
      return ids.size
    },
    putItem(itemId, item) {
      const row = add(itemId)
      const page = pageOf(row)
      const record = row & PAGE_MASK
      if (item === undefined) {
        page.flags[itemPlace.flags(record)] = 0
        page.updated[itemPlace.updated(record)] = 0
        return
      }
      if (item.updated_at < page.updated[itemPlace.updated(record)]) return
      page.flags[itemPlace.flags(record)] = IS_ITEM | (item.status === 'ACTIVE' ? IS_ACTIVE : 0)
      page.genre[itemPlace.genre(record)] = numberOf(genreOf(item))
      page.traits[itemPlace.traits(record)] = traits.put(page.traits[itemPlace.traits(record)], traitsOf(item))
      page.created[itemPlace.created(record)] = Math.min(LAST_SECOND, Math.max(0, Math.floor(item.created_at / MS_PER_SECOND)))
      page.updated[itemPlace.updated(record)] = item.updated_at
      // Programs other than the API may write invalid values. A popularity of NaN would turn scores into NaN.
      page.given[itemPlace.given(record)] = Math.min(1, Math.max(0, item.popularity)) || 0
    },
    putStats(itemId, stats) {
      if (stats === undefined) return
      const statsRow = addStats(add(itemId))
      const page = statsPageOf(statsRow)
      const record = statsRow & PAGE_MASK
      page.at[statsPlace.at(record)] = Math.floor(stats.at / MS_PER_SECOND)
      page.popularity[statsPlace.popularity(record)] = stats.popularity
      page.entered[statsPlace.entered(record)] = stats.entered
      page.recent[statsPlace.recent(record)] = stats.recent
      page.shown[statsPlace.shown(record)] = stats.shown
      page.chosen[statsPlace.chosen(record)] = stats.chosen
      page.events[statsPlace.events(record)] = stats.events
      page.purchases[statsPlace.purchases(record)] = stats.purchases
      page.ratings[statsPlace.ratings(record)] = stats.ratings
      page.ratingSum[statsPlace.ratingSum(record)] = stats.rating_sum
      page.interactions[statsPlace.interactions(record)] = Math.min(MOST_COUNTED, stats.interactions)
    },
    rowOf: (itemId) => ids.find(itemId),
    idAt: (row) => ids.idAt(row),
    *itemIds() {
      for (let row = 0; row < ids.size; row++)
        if ((pageOf(row).flags[itemPlace.flags(row & PAGE_MASK)] & IS_ITEM) !== 0) yield ids.idAt(row)
    },
    isItem: (row) => row >= 0 && (pageOf(row).flags[itemPlace.flags(row & PAGE_MASK)] & IS_ITEM) !== 0,
    isActive: (row) => row >= 0 && (pageOf(row).flags[itemPlace.flags(row & PAGE_MASK)] & IS_ACTIVE) !== 0,
    genreAt: (row) => pageOf(row).genre[itemPlace.genre(row & PAGE_MASK)],
    genreName: (genre) => genreNames[genre],
    genreNumber: (name) => genres.get(name) ?? 0,
    traitAt(row, place) {
      const list = pageOf(row).traits[itemPlace.traits(row & PAGE_MASK)]
      return list === NONE_LISTED ? NO_TRAIT : traits.at(list, place)
    },
    createdAt: (row) => pageOf(row).created[itemPlace.created(row & PAGE_MASK)] * MS_PER_SECOND,
    updatedAt: (row) => (row < 0 ? 0 : pageOf(row).updated[itemPlace.updated(row & PAGE_MASK)]),
    enteredAt(row) {
      const statsRow = row < 0 ? NO_STATS : statsRowOf(row)
      return statsPageOf(statsRow).entered[statsPlace.entered(statsRow & PAGE_MASK)]
    },
    shownAt: (row, now) => weekly('shown', row, now),
    chosenAt: (row, now) => weekly('chosen', row, now),
    *saved() {
      // A page is saved after all pages that refer to it. It therefore contains everything that these pages refer to,
      // even if the table changes while it is being saved.
      for (const page of pages) yield blockOf(BLOCK.items, bytesOfRecords(page))
      for (const page of statsPages) yield blockOf(BLOCK.stats, bytesOfRecords(page))
      for (const page of traits.pages) yield blockOf(BLOCK.traits, new Uint8Array(page.buffer))
      for (let row = 0; row < ids.size; row += PAGE_ROWS) yield blockOf(BLOCK.ids, new Uint8Array(ids.slice(row, row + PAGE_ROWS).buffer))
      const end: SavedEnd = { genres: genreNames, statsRows, nextTrait: traits.next }
      yield blockOf(BLOCK.end, Buffer.from(JSON.stringify(end)))
    },
    restore(block) {
      const content = contentOf(block)
      if (kindOf(block) === BLOCK.items) restorePage(pages, ITEM, content)
      else if (kindOf(block) === BLOCK.stats) restorePage(statsPages, STATS, content)
      else if (kindOf(block) === BLOCK.traits) traits.restorePage(content)
      else if (kindOf(block) === BLOCK.ids) restoreIds(content)
      else if (kindOf(block) === BLOCK.end) restoreEnd(JSON.parse(content.toString()) as SavedEnd)
      else throw new SnapshotError(`it has a block of the unknown kind ${kindOf(block)}`)
    },
    rankedAt(row, now) {
      const item = pageOf(row)
      const record = row & PAGE_MASK
      const statsRow = item.stats[itemPlace.stats(record)]
      const stats = statsPageOf(statsRow)
      const place = statsRow & PAGE_MASK
      const statsAt = stats.at[statsPlace.at(place)]
      // Without statistics, all fields are 0. Their decay factors are then not computed, because powers are costly.
      const hasStats = statsRow !== NO_STATS
      const month = hasStats ? fadeOf(statsAt, now, HALF_LIFE_MS.neighbours) : 0
      const week = hasStats ? fadeOf(statsAt, now, HALF_LIFE_MS.statistics) : 0
      const known = blend(stats.interactions[statsPlace.interactions(place)])
      const given = item.given[itemPlace.given(record)] * GIVEN_POPULARITY_VIEWS
      ranked.popularity = stats.popularity[statsPlace.popularity(place)] * month + (1 - known) * given
      ranked.recentActivity =
        stats.recent[statsPlace.recent(place)] === 0
          ? 0
          : stats.recent[statsPlace.recent(place)] * fadeOf(statsAt, now, HALF_LIFE_MS.trending)
      ranked.clickRate =
        (stats.chosen[statsPlace.chosen(place)] * week + PRIOR_CHOSEN) / (stats.shown[statsPlace.shown(place)] * week + PRIOR_SHOWN)
      ranked.meanRating =
        (stats.ratingSum[statsPlace.ratingSum(place)] * week + PRIOR_RATINGS * PRIOR_STARS) /
        (stats.ratings[statsPlace.ratings(place)] * week + PRIOR_RATINGS)
      ranked.purchaseShare =
        (stats.purchases[statsPlace.purchases(place)] * week + PRIOR_PURCHASES) /
        (stats.events[statsPlace.events(place)] * week + PRIOR_EVENTS)
      ranked.givenPopularity = item.given[itemPlace.given(record)]
      ranked.interactions = stats.interactions[statsPlace.interactions(place)]
      ranked.ageDays = Math.max(0, now - item.created[itemPlace.created(record)] * MS_PER_SECOND) / DAY_MS
      return ranked
    },
  }
}

/**
 * Returns how well an item is known, from 0 to 1. The weight of the popularity that its producer gave is 1 minus this
 * value.
 */
function blend(interactions: number): number {
  return Math.min(1, Math.max(0, (interactions - NEW_ITEM_INTERACTIONS) / (KNOWN_ITEM_INTERACTIONS - NEW_ITEM_INTERACTIONS)))
}
