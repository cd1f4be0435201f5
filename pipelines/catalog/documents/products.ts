import { catalogDocuments, catalogImages, reviews } from '../../../schemas/catalog/documents/topics.ts'
import { parseProductId } from '../../../schemas/catalog/ids.ts'
import { inventoryChanged } from '../../../schemas/catalog/inventory/topics.ts'
import { priceChanged, productCreated, productUpdated } from '../../../schemas/catalog/products/topics.ts'
import type {
  CatalogDocument,
  CatalogProduct,
  CategorySale,
  DocumentCounters,
  DocumentNote,
  InventoryChange,
  Review,
} from '../../../schemas/catalog/types.ts'
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
  textPart,
  timerStore,
  u64Part,
  utf8,
} from '../../engine/index.ts'
import { isStars, withMovement, withStars } from './counters.ts'
import { activeVariants, completed, isVisibleChange, NO_COUNTERS, productPart } from './document.ts'
import { INTERNAL, SKIPPED } from './failures.ts'
import { imageChanges } from './image-references.ts'

const stockKey = compositeKey<{ readonly variant: number; readonly warehouse: string }>({ variant: u64Part, warehouse: textPart })
const reviewKey = compositeKey<{ readonly product: number; readonly user: bigint }>({ product: u64Part, user: idPart })

/**
 * Minimum time between two writes of a document in which only the sales have changed. Without this limit, 500 sales per
 * second would cause 500 writes per second.
 */
const SALES_EVERY_MS = 60_000
const SALES_TICK_MS = 1_000
/** Maximum number of documents in which one tick updates the sales. */
const SALES_PER_TICK = 500

const WRONG_KEY = deadLetter('wrong_key', 'The key is not the id of the product.')

export interface ProductStageTopics {
  readonly byProduct: Topic<string, DocumentNote>
  readonly byCategory: Topic<number, CategorySale>
}

/**
 * Builds the document of each product from everything that concerns the product, and sends the product's sales to its
 * category.
 */
export function declareProducts(t: TopologyBuilder, { byProduct, byCategory }: ProductStageTopics): void {
  /** The complete documents. They contain the sales that were last emitted, not the current sales. */
  const documents = keyedStore('documents', { key: utf8, value: avro('catalog/CatalogDocument') })
  const counters = keyedStore('counters', { key: utf8, value: avro('catalog/DocumentCounters') })
  const stock = keyedStore('stock', { key: stockKey, value: avro('catalog/DocumentStock') })
  const stars = keyedStore('stars', { key: reviewKey, value: avroValue<number>('int') })
  /**
   * Time of each review whose stars are counted, in epoch ms. The time is necessary because a repeated request
   * publishes its review again, with the original time. That review may then be older than the user's latest review.
   */
  const reviewTimes = keyedStore('review-times', { key: reviewKey, value: avroValue<number>('long') })
  /** For each product whose latest sales are not in its document yet, the time at which they must be written. */
  const sales = timerStore('sales', { key: utf8 })
  /** For each image, identified by its content hash, the number of products in this partition that have the image. */
  const images = keyedStore('images', { key: utf8, value: avro('catalog/ImageReferences') })
  const stores = [documents, counters, stock, stars, sales, images]

  /** The products whose documents may change with the next commit. Each is mapped to its document before the change. */
  let touched = new Map<string, CatalogDocument | undefined>()

  function prefetch(key: string): void {
    documents.prefetch(key)
    counters.prefetch(key)
  }

  function prefetchProduct({ product }: { readonly product: CatalogProduct }, key: string): void {
    prefetch(key)
    for (const { content_hash } of product.images) images.prefetch(content_hash)
  }

  function touch(key: string): void {
    if (!touched.has(key)) touched.set(key, documents.get(key))
  }

  function countersOf(key: string): DocumentCounters {
    return counters.get(key) ?? NO_COUNTERS
  }

  function takeProduct({ product }: { readonly product: CatalogProduct }, ctx: RecordContext<string>) {
    const { key } = ctx
    const known = countersOf(key)
    if (parseProductId(key) !== product.product_id) return WRONG_KEY
    if (product.category_id < 0) return deadLetter('bad_category', 'The category id is negative.')
    if (product.revision <= known.revision) return drop('old_revision')
    touch(key)
    documents.put(key, productPart(product))
    const active = activeVariants(product).map(({ variant_id }) => variant_id)
    const hashes = [...new Set(product.images.map(({ content_hash }) => content_hash))]
    const { gained, lost } = imageChanges(known.images, hashes)
    for (const hash of gained) refer(hash, 1, ctx)
    for (const hash of lost) refer(hash, -1, ctx)
    counters.put(key, { ...known, revision: product.revision, active, images: hashes })
    return undefined
  }

  function refer(hash: string, by: 1 | -1, ctx: Context): void {
    const products = (images.get(hash)?.products ?? 0) + by
    // The record is sent to this partition regardless of its key, because each partition reports its own references.
    const options = { partition: ctx.partition }
    if (products > 0) {
      images.put(hash, { products })
      ctx.emit(catalogImages, hash, { products }, options)
    } else {
      images.delete(hash)
      ctx.emit(catalogImages, hash, null, options)
    }
  }

  function takeMovement(change: InventoryChange, { key }: RecordContext<string>) {
    if (parseProductId(key) !== change.product_id) return WRONG_KEY
    const place = { variant: change.variant_id, warehouse: change.warehouse_id }
    const result = withMovement(countersOf(key), stock.get(place), change)
    if (result === undefined) return drop('old_version')
    touch(key)
    stock.put(place, result.row)
    counters.put(key, result.counters)
    return undefined
  }

  function takeReview({ product_id, user_id, stars: given, at }: Review, { key }: RecordContext<string>) {
    if (parseProductId(key) !== product_id) return WRONG_KEY
    if (!isStars(given)) return deadLetter('not_stars', 'The number of stars is not from 1 to 5.')
    const place = { product: product_id, user: user_id }
    if (at < (reviewTimes.get(place) ?? at)) return drop('older_review')
    reviewTimes.put(place, at)
    const before = stars.get(place)
    if (before === given) return drop('same_stars')
    touch(key)
    stars.put(place, given)
    counters.put(key, withStars(countersOf(key), before, given))
    return undefined
  }

  function takeNote({ kind, seller_rating, category_id, leads }: DocumentNote, { key }: RecordContext<string>): void {
    const known = countersOf(key)
    touch(key)
    if (kind === 'SELLER') counters.put(key, { ...known, seller_rating })
    else if (leads) counters.put(key, { ...known, leads: category_id })
    // If the product already leads a different category, losing the lead of its old category changes nothing.
    else if (known.leads === category_id) counters.put(key, { ...known, leads: null })
  }

  function writeSales(now: number): void {
    for (const { key } of sales.takeDue(now, SALES_PER_TICK)) touch(key)
  }

  /** Writes each changed document once per commit. */
  function show(ctx: Context): void {
    const due = touched
    touched = new Map()
    for (const [key, before] of due) {
      const part = documents.get(key)
      // Stock and stars may arrive before their product.
      if (part !== undefined) showDocument(key, before, completed(part, countersOf(key)), ctx)
    }
  }

  function showDocument(key: string, before: CatalogDocument | undefined, after: CatalogDocument, ctx: Context): void {
    const known = countersOf(key)
    const isNews = before === undefined ? after.is_public : isVisibleChange(before, after)
    const salesDue = known.written_at + SALES_EVERY_MS
    if (!isNews && (before === undefined || before.sales_log === after.sales_log || ctx.now < salesDue)) {
      documents.put(key, { ...after, sales_log: before?.sales_log ?? null })
      if (before !== undefined && before.sales_log !== after.sales_log && sales.dueTime(key) === undefined) sales.schedule(key, salesDue)
      return
    }
    documents.put(key, after)
    ctx.emit(catalogDocuments, key, after, { timestamp: ctx.now })
    sales.cancel(key)
    const ranked_in = rank(known.ranked_in, before, after, ctx)
    counters.put(key, { ...known, ranked_in, written_at: ctx.now })
  }

  /**
   * Sends the product's sales to the category in which it ranks, and removes the product from the category in which it
   * ranked before.
   * @returns the category in which the product now ranks; null if it ranks in none
   */
  function rank(rankedIn: number | null, before: CatalogDocument | undefined, after: CatalogDocument, ctx: Context): number | null {
    const { product_id, sales_log, category_id } = after
    const ranksIn = after.is_public && sales_log !== null ? category_id : null
    if (rankedIn !== null && rankedIn !== ranksIn) ctx.emit(byCategory, rankedIn, { product_id, sales_log: null })
    if (ranksIn !== null && (ranksIn !== rankedIn || before?.sales_log !== sales_log))
      ctx.emit(byCategory, ranksIn, { product_id, sales_log })
    return ranksIn
  }

  for (const [name, topic] of [
    ['create', productCreated],
    ['update', productUpdated],
  ] as const) {
    t.source(topic, { onError: SKIPPED }).process(
      `${name}-product`,
      { reads: prefetchProduct, stores, emits: [catalogImages] },
      takeProduct,
    )
  }
  t.source(priceChanged, { onError: SKIPPED }).process(
    'change-price',
    { reads: prefetchProduct, stores, emits: [catalogImages] },
    takeProduct,
  )
  t.source(inventoryChanged, { onError: SKIPPED }).process(
    'move-stock',
    {
      reads({ variant_id, warehouse_id }, key) {
        prefetch(key)
        stock.prefetch({ variant: variant_id, warehouse: warehouse_id })
      },
      stores,
    },
    takeMovement,
  )
  t.source(reviews, { onError: SKIPPED }).process(
    'count-stars',
    {
      reads({ product_id, user_id }, key) {
        prefetch(key)
        stars.prefetch({ product: product_id, user: user_id })
        reviewTimes.prefetch({ product: product_id, user: user_id })
      },
      stores: [...stores, reviewTimes],
    },
    takeReview,
  )
  t.source(byProduct, INTERNAL)
    .process('take-note', { reads: (_note, key) => prefetch(key), stores }, takeNote)
    .tick('write-sales', { everyMs: SALES_TICK_MS, clock: 'wall', stores }, writeSales)
    .beforeCommit('show-documents', { stores, emits: [catalogDocuments, byCategory] }, show)
}
