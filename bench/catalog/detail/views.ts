import { Redis } from 'ioredis'
import { variantIdOf } from '../../../schemas/catalog/ids.ts'
import type { CatalogProductState, StockRow } from '../../../schemas/catalog/types.ts'
import { CATALOG_DETAILS_VIEW, catalogDetailsKey } from '../../../state/views/catalog/catalog-details.ts'
import { CATEGORY_LEADERS_VIEW, categoryLeadersKey } from '../../../state/views/catalog/category-leaders.ts'
import { CATALOG_PRODUCTS_VIEW, catalogProductsView } from '../../../state/views/catalog/products.ts'
import { SELLERS_VIEW, sellerKey } from '../../../state/views/catalog/sellers.ts'
import { STOCK_VIEW, stockView } from '../../../state/views/catalog/stock.ts'
import { caughtUpKey, type ViewOperation } from '../../../state/views/view.ts'

const CATEGORIES = 100
const SELLERS = 1_000
const VARIANTS = 3
const WAREHOUSES = ['east', 'west']
const LEADERS = 12
/** Partition that contains all data of the views. On one machine, the catalogue's topics have a single partition. */
const PARTITION = 0
/**
 * Interval at which due stock changes are written to the view. The inventory topology commits at the same interval, and
 * the sink writes the changes of each commit.
 */
const CHANGES_EVERY_MS = 15
/**
 * Difference between the ids of the products that consecutive stock changes affect. The load requests products in the
 * order of their ids. With a step of 1, the changes would follow the same order as the requests.
 */
const STEP = 7_919
/** A number of units for which the page shows `10+`. */
const MANY_UNITS = 30
const MS_PER_SECOND = 1_000
const DAY_MS = 24 * 3_600_000

/** Writes all data for product pages to the views, as the sinks would. Returns the ids of the products. */
export async function fillViews(redisUrl: string, products: number): Promise<readonly number[]> {
  const redis = new Redis(redisUrl)
  const ids = Array.from({ length: products }, (_, index) => index + 1)
  for (const view of [CATALOG_PRODUCTS_VIEW, STOCK_VIEW, CATALOG_DETAILS_VIEW, CATEGORY_LEADERS_VIEW, SELLERS_VIEW])
    await redis.set(caughtUpKey(view, PARTITION), '1')
  for (let seller = 1; seller <= SELLERS; seller++)
    await redis.set(sellerKey(PARTITION, String(seller)), JSON.stringify({ name: `Seller ${seller}`, rating: 4.5 }))
  for (let category = 1; category <= CATEGORIES; category++)
    await redis.set(categoryLeadersKey(PARTITION, category), JSON.stringify(ids.slice(category, category + LEADERS)))
  for (const id of ids) {
    const pipeline = redis.pipeline()
    for (const operation of operationsOf(id)) {
      if (operation.op === 'set') pipeline.set(operation.key, operation.value)
      else if (operation.op === 'hset') pipeline.hset(operation.key, { ...operation.fields })
    }
    await pipeline.exec()
  }
  redis.disconnect()
  return ids
}

/**
 * Changes the stock of products, one after another, at a fixed rate. Each change alters what the product's page shows.
 * @returns a function that ends the changes
 */
export function changeStock(redisUrl: string, ids: readonly number[], perSecond: number): () => void {
  const redis = new Redis(redisUrl, { enableAutoPipelining: true })
  const startedAt = performance.now()
  let changes = 0
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) * perSecond) / MS_PER_SECOND
    for (; changes < due; changes++) {
      const row = changedStock(ids, changes)
      for (const operation of stockView.operationsFor(PARTITION, `${row.variant_id}:${row.warehouse_id}`, row))
        if (operation.op === 'hset') void redis.hset(operation.key, { ...operation.fields })
    }
  }, CHANGES_EVERY_MS)
  return () => {
    clearInterval(timer)
    redis.disconnect()
  }
}

/**
 * Returns the stock that a change sets. Each pass over the products changes each product once. Passes alternate between
 * setting many units and setting none, so each change gives the page a different hint.
 * @param change number of the change, from 0
 */
export function changedStock(ids: readonly number[], change: number): StockRow {
  const pass = Math.floor(change / ids.length)
  const available = pass % 2 === 0 ? MANY_UNITS : 0
  const variant_id = variantIdOf(ids[(change * STEP) % ids.length], 1)
  return { variant_id, warehouse_id: WAREHOUSES[0], available, reserved: 0, version: change, first_end: 0 }
}

/**
 * Returns the units of each variant in each warehouse before the first change. The number is so small that no page
 * shows `10+`.
 */
export function unitsAtFirst(id: number): number {
  return id % 5
}

function operationsOf(id: number): ViewOperation[] {
  const state = stateOf(id)
  const details = JSON.stringify({ stars: [1, 2, 3, 4, 50], badges: ['sale'] })
  return [
    ...catalogProductsView.operationsFor(PARTITION, String(id), state),
    { op: 'set', key: catalogDetailsKey(PARTITION, String(id)), value: details },
    ...state.product.variants.flatMap(({ variant_id }) =>
      WAREHOUSES.flatMap((warehouse_id) => {
        const row: StockRow = { variant_id, warehouse_id, available: unitsAtFirst(id), reserved: 0, version: 1, first_end: 0 }
        return stockView.operationsFor(PARTITION, `${variant_id}:${warehouse_id}`, row)
      }),
    ),
  ]
}

/** Returns the state of a product with three variants, two images and a description of about 800 characters. */
function stateOf(id: number): CatalogProductState {
  const at = Date.now() - 90 * DAY_MS
  const image = { variant_id: null, alt_text: 'A picture', content_type: 'image/jpeg', width: 1_600, height: 1_200 }
  const numbers = Array.from({ length: VARIANTS }, (_, index) => index + 1)
  return {
    product: {
      product_id: id,
      seller_id: BigInt(1 + (id % SELLERS)),
      title: `Cordless drill ${id} with two batteries and a case`,
      description: 'A drill for wood, metal and walls. '.repeat(23),
      category_id: 1 + (id % CATEGORIES),
      brand: 'Acme',
      status: 'ACTIVE',
      created_at: at,
      updated_at: at,
      version: 1,
      revision: 1,
      variants: numbers.map((number) => ({
        variant_id: variantIdOf(id, number),
        sku: `drill-${id}-${number}`,
        attributes: { colour: 'green', voltage: `${6 * number} V` },
        price_cents: 9_900 + number,
        compare_price: 12_900,
        weight_grams: 1_500,
        status: 'ACTIVE',
      })),
      images: [1, 2].map((position) => ({ ...image, image_id: 10 * id + position, position, content_hash: String(position).repeat(64) })),
    },
    pricing: numbers.map(() => ({ lowest_cents: 9_900, highest_cents: 9_900, regular: null, periods: [] })),
  }
}
