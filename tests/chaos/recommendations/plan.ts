import { integer, pick, type Random, seededRandom } from '../../../tools/random/random.ts'
import { drawFaults, FAULT_TAKES_MS } from '../draw-faults.ts'
import type { PlannedFault } from '../in-turn.ts'

/** Number of API processes. */
export const APIS = 2

export const RECOMMENDATION_FAULTS = [
  'api-killed',
  'api-stopped',
  'worker-killed',
  'worker-stopped',
  /** A worker is killed, and its state folder is deleted. */
  'worker-emptied',
  'redis-killed',
  'redis-stopped',
  'redis-emptied',
  'kafka-killed',
  'kafka-stopped',
  'clickhouse-killed',
  'clickhouse-stopped',
  /** Kafka is stopped. While it is down, an API is killed and started. */
  'outage',
  /** Kafka is stopped. While it is down, Redis is emptied. The sinks cannot refill Redis until Kafka is back. */
  'outage-emptied',
] as const

export type RecommendationFaultKind = (typeof RECOMMENDATION_FAULTS)[number]
export type RecommendationFault = PlannedFault<RecommendationFaultKind>

export type EventType = 'VIEW' | 'CLICK' | 'PURCHASE' | 'RATE' | 'SKIP' | 'DWELL'

/** An event as a caller sends it. */
export interface PlannedEvent {
  readonly item: number
  readonly type: EventType
  /**
   * The id of the event. The caller retries an event with an id until the API accepts it. If the id is undefined, the
   * API identifies the event by its content, and the caller sends it only once.
   */
  readonly id: string | undefined
  /** Age of the event according to its `timestamp`. If undefined, the request has no `timestamp`. */
  readonly agoMs: number | undefined
  readonly rating: number | undefined
  readonly watchPct: number | undefined
  readonly dwellSec: number | undefined
  /** Whether the event names the user's last list in `rec_request_id`. */
  readonly followsList: boolean
}

export type PlannedAction =
  | { readonly kind: 'events'; readonly events: readonly PlannedEvent[]; readonly repeatAfterMs: number | undefined }
  | { readonly kind: 'hide' | 'unhide' | 'similar'; readonly item: number }
  | { readonly kind: 'list'; readonly query: string; readonly hasNextPage: boolean }
  | { readonly kind: 'features' }
  | { readonly kind: 'preferences'; readonly genre: string; readonly weight: number }
  | { readonly kind: 'tier'; readonly tier: 'free' | 'basic' | 'premium' }

export interface PlannedCall {
  /** Time after the start of the round, ms. */
  readonly atMs: number
  readonly api: number
  /** Index of the user in the round. */
  readonly user: number
  readonly action: PlannedAction
}

/** A record about a product. The service turns the product into an item. */
export interface PlannedProduct {
  readonly atMs: number
  readonly product: number
  /**
   * Selects the title, brand and attributes of the record. Public records of the same product with the same form agree
   * in all three.
   */
  readonly form: number
  readonly category: number
  readonly isPublic: boolean
}

export interface Plan {
  readonly seed: number
  readonly users: number
  /** Number of items that users interact with. The last of these items are products. */
  readonly items: number
  readonly calls: readonly PlannedCall[]
  readonly products: readonly PlannedProduct[]
  /** Time at which each category is written, in ms after the start of the round; 0 means before all products. */
  readonly categories: readonly number[]
  readonly faults: readonly RecommendationFault[]
}

export interface PlanOptions {
  readonly users: number
  /** Number of calls per second. */
  readonly rate: number
  /** The faults of a round. Each occurs once, in an order that depends on the seed. */
  readonly faults: readonly RecommendationFaultKind[]
}

export const GENRES = ['Comedy', 'Drama', 'Crime', 'Western', 'Musical', 'War', 'Horror', 'Sport'] as const
/**
 * Number of items in a round with which users interact. It is below 100, the number of neighbours kept per item, so
 * that no neighbour is ever dropped.
 */
export const ITEMS = 70
export const PRODUCTS = 20
/** Number of items without events. They ensure that there are always items that a user has not seen. */
export const UNTOUCHED = 40
const CATEGORIES = 5
const LATE_CATEGORIES = 2
const PRODUCTS_PER_SECOND = 3
const FORMS = 3
const MS_PER_SECOND = 1_000
const LONGEST_BATCH = 12
const BATCHES = 0.25
const LONGEST_UNTIL_REPEATED_MS = 4_000
const REPEATED = 0.15
const WITHOUT_ID = 0.15
const LATE_MS = 20 * 60_000
const VERY_LATE_MS = 3 * 24 * 3_600_000
const TYPES: readonly EventType[] = ['VIEW', 'VIEW', 'VIEW', 'VIEW', 'CLICK', 'CLICK', 'DWELL', 'PURCHASE', 'RATE', 'SKIP']
const QUERIES = [
  'limit=20',
  'limit=50',
  'limit=10&diversity=true',
  'limit=10&rec_type=trending',
  'limit=5&context=post_play',
  'limit=10&context=product_page',
] as const

/** Draws a round. The same seed and options give the same round. */
export function drawPlan(seed: number, { users, rate, faults: kinds }: PlanOptions): Plan {
  const random = seededRandom(seed)
  const faults = drawFaults(random, kinds, APIS, (kind) => kind === 'worker-stopped')
  const lastsMs = Math.max(1, kinds.length) * FAULT_TAKES_MS
  let drawn = 0

  function event(canRepeat: boolean): PlannedEvent {
    const type = pick(random, TYPES)
    const when = random()
    return {
      item: integer(random, ITEMS),
      type,
      id: canRepeat && random() < WITHOUT_ID ? undefined : `s${seed}-${drawn++}`,
      agoMs: when < 0.6 ? undefined : when < 0.9 ? integer(random, LATE_MS) : integer(random, VERY_LATE_MS),
      rating: type === 'RATE' ? 1 + integer(random, 9) / 2 : undefined,
      watchPct: type === 'VIEW' && random() < 0.5 ? integer(random, 11) / 10 : undefined,
      dwellSec: type === 'DWELL' ? integer(random, 100) : undefined,
      followsList: random() < 0.3,
    }
  }

  function action(): PlannedAction {
    const chance = random()
    if (chance < 0.5) {
      const isBatch = random() < BATCHES
      const events = Array.from({ length: isBatch ? 2 + integer(random, LONGEST_BATCH - 1) : 1 }, () => event(!isBatch))
      return { kind: 'events', events, repeatAfterMs: random() < REPEATED ? integer(random, LONGEST_UNTIL_REPEATED_MS) : undefined }
    }
    if (chance < 0.84) return { kind: 'list', query: pick(random, QUERIES), hasNextPage: random() < 0.3 }
    if (chance < 0.88) return { kind: 'hide', item: integer(random, ITEMS) }
    if (chance < 0.9) return { kind: 'unhide', item: integer(random, ITEMS) }
    if (chance < 0.94) return { kind: 'similar', item: integer(random, ITEMS - PRODUCTS) }
    if (chance < 0.97) return { kind: 'features' }
    if (chance < 0.99) return { kind: 'preferences', genre: pick(random, GENRES), weight: random() < 0.8 ? 1 : -1 }
    return { kind: 'tier', tier: pick(random, ['free', 'basic', 'premium'] as const) }
  }

  const calls = Array.from(
    { length: Math.round((rate * lastsMs) / MS_PER_SECOND) },
    (): PlannedCall => ({ atMs: integer(random, lastsMs), api: integer(random, APIS), user: integer(random, users), action: action() }),
  )
  return {
    seed,
    users,
    items: ITEMS,
    calls: calls.sort(byTime),
    products: drawProducts(random, lastsMs),
    categories: Array.from({ length: CATEGORIES }, (_, index) => (index < CATEGORIES - LATE_CATEGORIES ? 0 : integer(random, lastsMs))),
    faults,
  }
}

function drawProducts(random: Random, lastsMs: number): PlannedProduct[] {
  const first = Array.from({ length: PRODUCTS }, (_, product) => ({
    product,
    atMs: 0,
    form: 0,
    category: product % CATEGORIES,
    isPublic: true,
  }))
  const later = Array.from({ length: Math.round((PRODUCTS_PER_SECOND * lastsMs) / MS_PER_SECOND) }, () => ({
    product: integer(random, PRODUCTS),
    atMs: integer(random, lastsMs),
    form: integer(random, FORMS),
    category: integer(random, CATEGORIES),
    isPublic: random() < 0.8,
  }))
  return [...first, ...later].sort(byTime)
}

function byTime(one: { readonly atMs: number }, other: { readonly atMs: number }): number {
  return one.atMs - other.atMs
}
