import { categoryLeaders } from '../../../schemas/catalog/documents/topics.ts'
import type { CategorySale, DocumentNote } from '../../../schemas/catalog/types.ts'
import {
  avro,
  avroValue,
  type Context,
  compositeKey,
  decimalInt,
  idPart,
  keyedStore,
  type RecordContext,
  type Topic,
  type TopologyBuilder,
  u32Part,
  u64Part,
} from '../../engine/index.ts'
import { INTERNAL } from './failures.ts'

interface PlaceKey {
  readonly category: number
  readonly product: number
}

interface RankKey extends PlaceKey {
  /** The product's `sales_log` as an integer that sorts in the same order; see `sortable`. */
  readonly sales: bigint
}

const placeKey = compositeKey<PlaceKey>({ category: u32Part, product: u64Part })
const rankKey = compositeKey<RankKey>({ category: u32Part, sales: idPart, product: u64Part })

/**
 * Maximum number of best sellers per category. A product page shows up to this many related products. If a product has
 * fewer, its page adds best sellers.
 */
const MOST_LEADERS = 12

/**
 * Ranks the products of each category by their sales. Publishes the best sellers, and gives a badge to the best one.
 */
export function declareCategories(
  t: TopologyBuilder,
  byCategory: Topic<number, CategorySale>,
  byProduct: Topic<string, DocumentNote>,
): void {
  const places = keyedStore('places', { key: placeKey, value: avroValue<number>('double') })
  /** The products of each category, in order of sales. */
  const ranks = keyedStore('ranks', { key: rankKey, value: avroValue<boolean>('boolean') })
  const leaders = keyedStore('leaders', { key: decimalInt, value: avro('catalog/CategoryLeaders') })
  const stores = [places, ranks, leaders]

  let touched = new Set<number>()

  function place({ product_id, sales_log }: CategorySale, { key: category }: RecordContext<number>): void {
    const key = { category, product: product_id }
    const known = places.get(key)
    if (known !== undefined) ranks.delete({ ...key, sales: sortable(known) })
    touched.add(category)
    if (sales_log === null) {
      places.delete(key)
      return
    }
    places.put(key, sales_log)
    ranks.put({ ...key, sales: sortable(sales_log) }, true)
  }

  function show(ctx: Context): void {
    const due = touched
    touched = new Set()
    for (const category_id of due) showLeaders(category_id, ctx)
  }

  function showLeaders(category_id: number, ctx: Context): void {
    const before = leaders.get(category_id)?.product_ids ?? []
    const product_ids = bestSellers(category_id)
    if (before.length === product_ids.length && before.every((id, index) => id === product_ids[index])) return
    leaders.put(category_id, { category_id, product_ids })
    ctx.emit(categoryLeaders, category_id, { category_id, product_ids }, { timestamp: ctx.now })
    const [first] = product_ids
    if (first === before[0]) return
    if (before.length > 0) note(before[0], category_id, false, ctx)
    if (first !== undefined) note(first, category_id, true, ctx)
  }

  function bestSellers(category: number): number[] {
    const [gte, lt] = [category, category + 1].map((from) => ({ category: from, sales: 0n, product: 0 }))
    return [...ranks.scan({ gte, lt, limit: MOST_LEADERS, reverse: true })].map(([{ product }]) => product)
  }

  function note(product: number, category_id: number, leads: boolean, ctx: Context): void {
    ctx.emit(byProduct, String(product), { kind: 'LEADER', seller_rating: null, category_id, leads })
  }

  t.source(byCategory, INTERNAL)
    .process(
      'place-product',
      {
        reads({ product_id }, category) {
          places.prefetch({ category, product: product_id })
          leaders.prefetch(category)
        },
        stores,
      },
      place,
    )
    .beforeCommit('show-leaders', { stores, emits: [categoryLeaders, byProduct] }, show)
}

/**
 * Maps doubles to integers that sort in the same order. This works only for doubles that are not negative, and the
 * `sales_log` of any sale after 1970 is positive.
 */
function sortable(sales: number): bigint {
  return new BigUint64Array(Float64Array.of(Math.max(sales, 0)).buffer)[0]
}
