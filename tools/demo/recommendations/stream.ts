import { integer, pick, type Random, seededRandom } from '../../random/random.ts'

/** A visitor's action in the shop. */
export interface VisitEvent {
  /** Epoch ms. */
  readonly at: number
  readonly user: string
  /** `list` asks for recommendations. */
  readonly kind: 'list' | 'VIEW' | 'CLICK' | 'PURCHASE' | 'SKIP'
  /** Empty for a list. */
  readonly itemId: string
}

export interface VisitStreamOptions {
  readonly seed: number
  /** Events per second. */
  readonly rate: number
  /** Epoch ms. */
  readonly startAt: number
  /** Groups of items that are often viewed together, such as the items of one category. */
  readonly shelves: readonly (readonly string[])[]
}

const MS_PER_SECOND = 1_000
const USERS = 300
const FIRST_USER = 91_000
const LEAST_ITEMS = 3
const MOST_ITEMS = 8
/** Share of items that a visitor chooses from a random group instead of the group of the visit. */
const STRAYING = 0.2
const CLICKED = 0.3
const PURCHASED = 0.1
const SKIPPED = 0.05

/**
 * Creates a stream of visits. A visitor requests a list, and then views, clicks, buys or skips items, mostly from one
 * group.
 */
export function visitStream({ seed, rate, startAt, shelves }: VisitStreamOptions): { next(): VisitEvent } {
  const random = seededRandom(seed)
  let at = startAt
  let visit: Omit<VisitEvent, 'at'>[] = []
  return {
    next() {
      at += MS_PER_SECOND / rate
      if (visit.length === 0) visit = drawVisit(random, shelves)
      return { at: Math.floor(at), ...visit.shift()! }
    },
  }
}

function drawVisit(random: Random, shelves: readonly (readonly string[])[]): Omit<VisitEvent, 'at'>[] {
  const user = String(FIRST_USER + integer(random, USERS))
  const own = pick(random, shelves)
  const events: Omit<VisitEvent, 'at'>[] = [{ user, kind: 'list', itemId: '' }]
  const count = LEAST_ITEMS + integer(random, MOST_ITEMS - LEAST_ITEMS + 1)
  for (let item = 0; item < count; item++) {
    const itemId = pick(random, random() < STRAYING ? pick(random, shelves) : own)
    events.push({ user, kind: random() < SKIPPED ? 'SKIP' : 'VIEW', itemId })
    if (random() < CLICKED) events.push({ user, kind: 'CLICK', itemId })
    if (random() < PURCHASED) events.push({ user, kind: 'PURCHASE', itemId })
  }
  return events
}
