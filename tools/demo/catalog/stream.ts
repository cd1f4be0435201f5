import { integer, pick, type Random, seededRandom } from '../../random/random.ts'
import type { OfferedVariant } from './fill.ts'

/** An action of a customer or a seller. */
export type ShopEvent = { readonly at: number } & (
  | { readonly kind: 'search'; readonly query: string }
  | { readonly kind: 'look'; readonly variant: OfferedVariant }
  /** Reserves one unit. `ending` says how the reservation ends. An abandoned reservation (`left`) expires. */
  | { readonly kind: 'buy'; readonly variant: OfferedVariant; readonly ending: 'DEDUCT' | 'RELEASE' | 'left' }
  | { readonly kind: 'review'; readonly variant: OfferedVariant; readonly user: string; readonly stars: number }
  | { readonly kind: 'price'; readonly variant: OfferedVariant; readonly cents: number }
)

const MS_PER_SECOND = 1_000
const QUERIES = ['cordless drill', 'drlil', 'saw 7 1/4 in', 'cast iron pan', 'knife', 'tent', 'rain jacket', 'garden hose 50 ft', 'alpine']
const USERS = 500
const FIRST_USER = 90_000
const LEAST_STARS = 2
/**
 * Maximum difference between a new price and the first price, as a share of the first. The price guard always accepts
 * such changes.
 */
const PRICE_SWING = 0.1

export interface ShopStreamOptions {
  readonly seed: number
  /** Events per second. */
  readonly rate: number
  /** Epoch ms. */
  readonly startAt: number
  readonly offered: readonly OfferedVariant[]
}

/** Creates a stream of random events in the shop. Some products sell better than others. */
export function shopStream({ seed, rate, startAt, offered }: ShopStreamOptions): { next(): ShopEvent } {
  const random = seededRandom(seed)
  let at = startAt
  return {
    next() {
      at += MS_PER_SECOND / rate
      return { at: Math.floor(at), ...drawn(random, popular(random, offered)) }
    },
  }
}

type Undated<T> = T extends unknown ? Omit<T, 'at'> : never

function drawn(random: Random, variant: OfferedVariant): Undated<ShopEvent> {
  const chance = random()
  if (chance < 0.3) return { kind: 'search', query: pick(random, QUERIES) }
  if (chance < 0.6) return { kind: 'look', variant }
  if (chance < 0.92) return { kind: 'buy', variant, ending: fate(random) }
  if (chance < 0.97) {
    const user = String(FIRST_USER + integer(random, USERS))
    return { kind: 'review', variant, user, stars: LEAST_STARS + integer(random, 4) }
  }
  return { kind: 'price', variant, cents: Math.round(variant.cents * (1 - PRICE_SWING + 2 * PRICE_SWING * random())) }
}

function fate(random: Random): 'DEDUCT' | 'RELEASE' | 'left' {
  const chance = random()
  return chance < 0.75 ? 'DEDUCT' : chance < 0.9 ? 'RELEASE' : 'left'
}

/** Squaring the random number makes the first variants the most popular. */
function popular(random: Random, offered: readonly OfferedVariant[]): OfferedVariant {
  return offered[Math.floor(random() ** 2 * offered.length)]
}
