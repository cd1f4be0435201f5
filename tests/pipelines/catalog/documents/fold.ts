import type { CatalogDocument, CatalogProduct, InventoryChange } from '../../../../schemas/catalog/types.ts'
import type { Input } from './driver.ts'

const WEEK = 7 * 24 * 3_600_000

/**
 * The expected contents of a document. They are computed from all inputs together, so they do not depend on the
 * relative order of the topics.
 */
export type Folded = Omit<CatalogDocument, 'seller_rating' | 'sales_log' | 'badges' | 'stars'> & {
  readonly sales: number
  readonly stars: readonly number[]
}

/**
 * Computes the documents of all products that are active after all inputs. Each product must have an active variant.
 * @param now the time for which decayed sales are computed
 */
export function foldDocuments(inputs: readonly Input[], now: number): Map<number, Folded> {
  const products = new Map<number, CatalogProduct>()
  for (const input of inputs) {
    if (!('product' in input)) continue
    const known = products.get(input.product.product_id)
    if (known === undefined || known.revision < input.product.revision) products.set(input.product.product_id, input.product)
  }
  const documents = new Map<number, Folded>()
  for (const product of products.values()) {
    if (product.status === 'ACTIVE') documents.set(product.product_id, foldDocument(product, inputs, now))
  }
  return documents
}

function foldDocument(product: CatalogProduct, inputs: readonly Input[], now: number): Folded {
  const active = product.variants.filter(({ status }) => status === 'ACTIVE').sort((a, b) => a.price_cents - b.price_cents)
  const [cheapest] = active
  const changes = inputs.flatMap((input) =>
    input.topic === 'stock' && input.change.product_id === product.product_id ? [input.change] : [],
  )
  const rows = newestRows(changes)
  const units = rows
    .filter(({ variant_id }) => active.some((one) => one.variant_id === variant_id))
    .reduce((sum, row) => sum + row.available, 0)
  const stars = [...starsOf(inputs, product.product_id).values()]
  return {
    product_id: product.product_id,
    is_public: true,
    revision: product.revision,
    seller_id: product.seller_id,
    category_id: product.category_id,
    title: product.title,
    description: product.description,
    brand: product.brand,
    attributes: [
      ...new Set(active.flatMap(({ attributes }) => Object.entries(attributes).map(([name, value]) => `${name.toLowerCase()}:${value}`))),
    ].sort(),
    price_cents: cheapest.price_cents,
    was_cents: cheapest.compare_price !== null && cheapest.compare_price > cheapest.price_cents ? cheapest.compare_price : null,
    created_at: product.created_at,
    thumbnail: null,
    rating_sum: stars.reduce((sum, given) => sum + given, 0),
    rating_count: stars.length,
    stars: [1, 2, 3, 4, 5].map((kind) => stars.filter((given) => given === kind).length),
    in_stock: units <= 0 ? 'out_of_stock' : units <= 5 ? 'low_stock' : 'in_stock',
    sales: movementsOnce(changes).reduce(
      (sum, { kind, quantity, at }) => sum + (kind === 'DEDUCT' ? quantity * 0.5 ** ((now - at) / WEEK) : 0),
      0,
    ),
  }
}

function newestRows(changes: readonly InventoryChange[]): InventoryChange[] {
  const rows = new Map<string, InventoryChange>()
  for (const change of changes) {
    const key = `${change.variant_id} ${change.warehouse_id}`
    if ((rows.get(key)?.version ?? 0) < change.version) rows.set(key, change)
  }
  return [...rows.values()]
}

/**
 * Returns each movement once, although the log may contain it twice. Movements of the same row differ in the version of
 * the row.
 */
function movementsOnce(changes: readonly InventoryChange[]): InventoryChange[] {
  return [...new Map(changes.map((change) => [`${change.variant_id} ${change.warehouse_id} ${change.version}`, change])).values()]
}

function starsOf(inputs: readonly Input[], productId: number): Map<bigint, number> {
  const stars = new Map<bigint, number>()
  for (const input of inputs) {
    if (input.topic === 'review' && input.review.product_id === productId) stars.set(input.review.user_id, input.review.stars)
  }
  return stars
}
