import { LEAST_STARS, MOST_STARS, meanWithPrior, PRIOR_MEAN, ratingFactor } from '../../../schemas/catalog/documents/rating.ts'
import { sellers } from '../../../schemas/catalog/documents/topics.ts'
import { parseProductId } from '../../../schemas/catalog/ids.ts'
import { sellerProducts } from '../../../schemas/catalog/products/topics.ts'
import type { DocumentNote, Seller, SellerProduct, SellerRating } from '../../../schemas/catalog/types.ts'
import {
  avro,
  avroValue,
  type Context,
  compositeKey,
  deadLetter,
  drop,
  idPart,
  keyedStore,
  type RecordContext,
  type Topic,
  type TopologyBuilder,
  u64Part,
  utf8,
} from '../../engine/index.ts'
import { SKIPPED } from './failures.ts'

interface SellerProductKey {
  readonly seller: bigint
  readonly product: number
}

const sellerProductKey = compositeKey<SellerProductKey>({ seller: idPart, product: u64Part })

/**
 * How much a seller's rating factor must change before the documents of the seller's products are updated. A smaller
 * change has little effect: 0.05 changes the relevance, which is at most 1, by only 0.005.
 */
const FACTOR_STEP = 0.05
/**
 * Maximum number of products per second and partition that get a new rating. Without this limit, a seller with a
 * million products would hold up all other records of the task.
 */
const PRODUCTS_PER_TICK = 1_000
const SPREAD_EVERY_MS = 1_000

/** Passes the rating of each seller on to the documents of the seller's products. */
export function declareSellers(t: TopologyBuilder, byProduct: Topic<string, DocumentNote>): void {
  const ratings = keyedStore('sellers', { key: utf8, value: avro('catalog/SellerRating') })
  const products = keyedStore('seller-products', { key: sellerProductKey, value: avroValue<boolean>('boolean') })
  /**
   * The sellers whose new ratings are still being passed on. Each is mapped to the next product that will get the
   * rating.
   */
  const spreading = keyedStore('spreading', { key: utf8, value: avroValue<number>('long') })
  const stores = [ratings, products, spreading]

  function note(product: number, { seller_rating }: SellerRating, ctx: Context): void {
    ctx.emit(byProduct, String(product), { kind: 'SELLER', seller_rating, category_id: 0, leads: false })
  }

  function rate(seller: Seller | null, { key }: RecordContext<string>) {
    if (!isSellerKey(key)) return deadLetter('wrong_key', 'The key is not the id of a seller.')
    if (seller !== null && !isRating(seller)) return deadLetter('bad_rating', 'The rating is not from 1 to 5, or its count is negative.')
    const seller_rating = sellerRating(seller)
    const known = ratings.get(key)?.seller_rating ?? null
    if (!hasMoved(known, seller_rating)) return drop('same_factor')
    ratings.put(key, { seller_rating })
    spreading.put(key, 0)
    return undefined
  }

  function own(listed: SellerProduct | null, ctx: RecordContext<string>) {
    const key = sellerProductOf(ctx.key)
    if (key === undefined) return deadLetter('wrong_key', 'The key is not <seller_id>:<product_id>.')
    const isKnown = products.get(key) !== undefined
    if (listed === null || listed.status === 'DELETED') {
      if (isKnown) products.delete(key)
      return undefined
    }
    if (isKnown) return drop('known_product')
    products.put(key, true)
    const rating = ratings.get(String(key.seller))
    if (rating !== undefined) note(key.product, rating, ctx)
    return undefined
  }

  /**
   * Sends each seller's new rating to the next products that do not have it yet. The sellers share the limit per tick,
   * so that a large seller does not delay the ratings of the others.
   */
  function spread(_now: number, ctx: Context): void {
    const waiting = [...spreading.scan({ limit: PRODUCTS_PER_TICK })]
    let left = PRODUCTS_PER_TICK
    for (const [index, [seller, next]] of waiting.entries()) {
      let share = Math.floor(left / (waiting.length - index))
      const rating = ratings.get(seller) ?? { seller_rating: null }
      const id = BigInt(seller)
      let after: number | undefined
      for (const [{ product }] of products.scan({
        gte: { seller: id, product: next },
        lt: { seller: id + 1n, product: 0 },
        limit: share + 1,
      })) {
        if (share === 0) {
          after = product
          break
        }
        note(product, rating, ctx)
        share--
        left--
      }
      if (after === undefined) spreading.delete(seller)
      else spreading.put(seller, after)
    }
  }

  t.source(sellers, { onError: SKIPPED, tombstones: 'deliver' })
    .process('rate-seller', { reads: (_seller, key) => ratings.prefetch(key), stores }, rate)
    .tick('spread-ratings', { everyMs: SPREAD_EVERY_MS, clock: 'wall', stores, emits: [byProduct] }, spread)
  t.source(sellerProducts, { onError: SKIPPED, tombstones: 'deliver' }).process(
    'own-product',
    {
      reads(_listed, key) {
        const owned = sellerProductOf(key)
        if (owned === undefined) return
        ratings.prefetch(String(owned.seller))
        products.prefetch(owned)
      },
      stores,
      emits: [byProduct],
    },
    own,
  )
}

/** Parses a key of `seller-products`. Returns undefined if the text is not such a key. */
function sellerProductOf(key: string): SellerProductKey | undefined {
  const [seller, product, ...more] = key.split(':')
  const id = parseProductId(product ?? '')
  return isSellerKey(seller) && id !== undefined && more.length === 0 ? { seller: BigInt(seller), product: id } : undefined
}

function sellerRating(seller: Seller | null): number | null {
  if (seller === null || seller.rating === null || seller.rating_count === 0) return null
  return meanWithPrior(seller.rating * seller.rating_count, seller.rating_count)
}

/** Returns false for NaN as well, because every comparison with NaN is false. */
function isRating({ rating, rating_count }: Seller): boolean {
  return rating_count >= 0 && (rating === null || (rating >= LEAST_STARS && rating <= MOST_STARS))
}

function hasMoved(from: number | null, to: number | null): boolean {
  return Math.abs(ratingFactor(from ?? PRIOR_MEAN) - ratingFactor(to ?? PRIOR_MEAN)) >= FACTOR_STEP
}

function isSellerKey(key: string): boolean {
  return /^(0|[1-9]\d{0,18})$/.test(key)
}
