import { isViewed, isWatched, weightOf } from '../../../schemas/recommendations/events/weights.ts'
import type { Interaction, InteractionType } from '../../../schemas/recommendations/types.ts'

/** The fields of an interaction that training uses. */
export type PastInteraction = Pick<
  Interaction,
  'item_id' | 'event_type' | 'timestamp' | 'rating' | 'watch_pct' | 'dwell_time_sec' | 'withdrawn' | 'rec_request_id'
>

/**
 * Interactions of all users in chronological order. They are stored in columns, because objects would take ten times as
 * much memory.
 */
export interface History {
  readonly count: number
  readonly userIds: BigInt64Array
  readonly itemIds: BigInt64Array
  /** Epoch ms. */
  readonly times: Float64Array
  /** The weight of each interaction as a sign of interest: see weights.ts. */
  readonly weights: Float32Array
  at(index: number): PastInteraction
  /** Returns the index of the same user's next interaction; -1 if there is none. */
  next(index: number): number
  /** Returns the index of the first interaction at this time or later; `count` if all are earlier. */
  firstSince(time: number): number
  /** Returns whether the user chose the item in this interaction. A good list would have offered such an item. */
  isChosen(index: number): boolean
  /** Returns whether lists leave out the item after this interaction. */
  isWatched(index: number): boolean
}

export interface HistoryBuilder {
  /** Adds an interaction. Interactions must be added in chronological order. */
  add(userId: bigint, event: PastInteraction): void
  build(): History
}

const TYPES: readonly InteractionType[] = ['VIEW', 'CLICK', 'PURCHASE', 'RATE', 'SKIP', 'DWELL', 'NOT_INTERESTED']
const FIRST_ROWS = 65_536
/** Minimum weight at which an interaction counts as a choice. A whole view and 3.5 stars have this weight. */
const CHOSEN_WEIGHT = 1
const IS_WITHDRAWN = 1
const IS_RECOMMENDED = 2
/**
 * Placeholder for the id of the request that led to an interaction. Training only needs to know whether there was such
 * a request.
 */
const SOME_REQUEST = 'recommended'

const COLUMNS = {
  userIds: BigInt64Array,
  itemIds: BigInt64Array,
  times: Float64Array,
  types: Uint8Array,
  flags: Uint8Array,
  ratings: Float32Array,
  watched: Float32Array,
  dwelled: Float32Array,
}
type Columns = { [Name in keyof typeof COLUMNS]: InstanceType<(typeof COLUMNS)[Name]> }

export function historyBuilder(): HistoryBuilder {
  let columns = columnsOf(FIRST_ROWS)
  let count = 0

  function add(userId: bigint, event: PastInteraction): void {
    if (count === columns.userIds.length) columns = grown(columns)
    columns.userIds[count] = userId
    columns.itemIds[count] = event.item_id
    columns.times[count] = event.timestamp
    columns.types[count] = TYPES.indexOf(event.event_type)
    columns.flags[count] = (event.withdrawn ? IS_WITHDRAWN : 0) | (event.rec_request_id === null ? 0 : IS_RECOMMENDED)
    columns.ratings[count] = event.rating ?? Number.NaN
    columns.watched[count] = event.watch_pct ?? Number.NaN
    columns.dwelled[count] = event.dwell_time_sec ?? Number.NaN
    count++
  }

  return { add, build: () => historyOf(columns, count) }
}

function historyOf(columns: Columns, count: number): History {
  const { types, flags, ratings, watched, dwelled } = columns
  const [userIds, itemIds, times] = [
    columns.userIds.subarray(0, count),
    columns.itemIds.subarray(0, count),
    columns.times.subarray(0, count),
  ]

  function at(index: number): PastInteraction {
    return {
      item_id: itemIds[index],
      event_type: TYPES[types[index]],
      timestamp: times[index],
      rating: numberOrNull(ratings[index]),
      watch_pct: numberOrNull(watched[index]),
      dwell_time_sec: numberOrNull(dwelled[index]),
      withdrawn: (flags[index] & IS_WITHDRAWN) !== 0,
      rec_request_id: (flags[index] & IS_RECOMMENDED) === 0 ? null : SOME_REQUEST,
    }
  }

  const weights = Float32Array.from({ length: count }, (_, index) => weightOf(at(index)))
  const followers = followersOf(userIds)
  return {
    count,
    userIds,
    itemIds,
    times,
    weights,
    at,
    next: (index) => followers[index],
    firstSince(time) {
      let [low, high] = [0, count]
      while (low < high) {
        const middle = (low + high) >> 1
        if (times[middle] < time) low = middle + 1
        else high = middle
      }
      return low
    },
    isChosen: (index) => weights[index] >= CHOSEN_WEIGHT && isViewed(TYPES[types[index]]),
    isWatched: (index) => isWatched(at(index)),
  }
}

function followersOf(userIds: BigInt64Array): Int32Array {
  const followers = new Int32Array(userIds.length)
  const newest = new Map<bigint, number>()
  for (let index = userIds.length - 1; index >= 0; index--) {
    followers[index] = newest.get(userIds[index]) ?? -1
    newest.set(userIds[index], index)
  }
  return followers
}

function numberOrNull(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

function columnsOf(rows: number): Columns {
  return Object.fromEntries(Object.entries(COLUMNS).map(([name, Column]) => [name, new Column(rows)])) as Columns
}

function grown(before: Columns): Columns {
  const after = columnsOf(before.userIds.length * 2)
  for (const name of Object.keys(COLUMNS) as (keyof Columns)[]) after[name].set(before[name] as never)
  return after
}
