import { categories } from '../../../schemas/catalog/documents/topics.ts'
import { imagePath, THUMBNAIL_WIDTH } from '../../../schemas/catalog/products/image-forms.ts'
import type { CatalogDocument, Category } from '../../../schemas/catalog/types.ts'
import { BY_ITEM } from '../../../schemas/recommendations/partitions.ts'
import type { RecommendationItem } from '../../../schemas/recommendations/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { avro, avroValue, type Context, deadLetter, decimalInt, drop, keyedStore, type TopologyBuilder, utf8 } from '../../engine/index.ts'

/** Maximum depth of categories. Without this limit, a cycle would keep the worker in an endless loop. */
const MAX_DEPTH = 20
/**
 * Maximum size of a category's name. The API accepts 200 characters. With longer names from other producers, a path
 * could exceed the maximum size of a record.
 */
const MAX_NAME_BYTES = 800
/**
 * Maximum size of the texts of an item without its path. It leaves room in a record of 1 MiB for the longest path,
 * which may be added later.
 */
const MAX_ITEM_BYTES = 1_000_000
/** Upper bound for the encoded size of the lengths of an attribute's name and value. */
const ATTRIBUTE_OVERHEAD_BYTES = 6
const RETRIED_PER_TICK = 500
const RETRY_EVERY_MS = 10_000

/**
 * Policy for products on which the processor fails or whose item cannot be written. They become dead letters, so that
 * one bad product does not hold up all other items.
 */
const SKIPPED = { process: 'dead-letter', produce: 'dead-letter' } as const

/**
 * Turns products into items. Emits an item only if one of its fields has changed. If the category of a product or one
 * of the category's ancestors is not known yet, the item has no path. The path is added when these categories have
 * arrived.
 */
export function declareCatalogItems(
  t: TopologyBuilder,
  documents: Topic<string, CatalogDocument>,
  items: Topic<bigint, RecommendationItem>,
): void {
  const everywhere = t.repartition('categories', { key: decimalInt, value: avro('catalog/Category'), ...BY_ITEM })
  t.source(categories, { tombstones: 'drop' }).process('spread', { emits: [everywhere] }, function spread(category, ctx) {
    if (Buffer.byteLength(category.name) > MAX_NAME_BYTES)
      return deadLetter('bad_category', `The name of the category takes more than ${MAX_NAME_BYTES} bytes.`)
    ctx.broadcast(everywhere, category.category_id, category)
  })

  const known = keyedStore<string, RecommendationItem>('catalog-items', { key: utf8, value: avro('recommendations/RecommendationItem') })
  const tree = keyedStore<number, Category>('category-tree', { key: decimalInt, value: avro('catalog/Category') })
  /**
   * The category of each product whose path is not known yet. It is the product's newest category: if a former category
   * of the product arrives late, this has no effect.
   */
  const awaited = keyedStore('awaited-categories', { key: utf8, value: avroValue<number>('int') })
  const stores = [known, tree, awaited]
  /** The product at which the next retry begins; undefined to begin at the first product. */
  let retriedFrom: string | undefined

  /**
   * Returns the names of a category's path, starting at the root; undefined if one of the categories is not known yet.
   * If the path has more than `MAX_DEPTH` categories, the first ones are left out.
   */
  function pathOf(categoryId: number): string | undefined {
    const names: string[] = []
    let next: number | null = categoryId
    for (let depth = 0; next !== null && depth < MAX_DEPTH; depth++) {
      const category: Category | undefined = tree.get(next)
      if (category === undefined) return undefined
      names.unshift(category.name.replaceAll('/', '-'))
      next = category.parent_id
    }
    return names.join('/')
  }

  function keep(productId: string, item: RecommendationItem, ctx: Context): boolean {
    const before = known.get(productId)
    if (before !== undefined && isSame(before, item)) return false
    // Readers ignore an item whose time is older than that of the item they have. After a takeover, the clock of the
    // new worker may be behind the clock of the old worker, so the time must never decrease.
    const newer = { ...item, updated_at: Math.max(item.updated_at, before?.updated_at ?? 0) }
    known.put(productId, newer)
    ctx.emit(items, BigInt(productId), newer)
    return true
  }

  /**
   * Adds the paths of items whose categories have arrived in the meantime. Each call continues where the previous one
   * stopped, because the categories of some products may never arrive.
   */
  function complete(now: number, ctx: Context): void {
    const waiting = [...awaited.scan({ gte: retriedFrom, limit: RETRIED_PER_TICK + 1 })]
    retriedFrom = waiting.at(RETRIED_PER_TICK)?.[0]
    for (const [productId, categoryId] of waiting.slice(0, RETRIED_PER_TICK)) {
      const path = pathOf(categoryId)
      const item = known.get(productId)
      if (path === undefined || item === undefined) continue
      awaited.delete(productId)
      keep(productId, { ...item, category_path: path, updated_at: now }, ctx)
    }
  }

  t.source(everywhere, { onError: { decode: 'fail', reject: 'fail' } }).process(
    'learn-category',
    { reads: (_category, id) => tree.prefetch(id), stores },
    function learnCategory(category) {
      tree.put(category.category_id, category)
    },
  )
  t.source(documents, { tombstones: 'drop', onError: SKIPPED })
    .process(
      'take-product',
      {
        reads(_document, key) {
          known.prefetch(key)
          awaited.prefetch(key)
        },
        stores,
        emits: [items],
      },
      function takeProduct(document, ctx) {
        const before = known.get(ctx.key)
        if (!document.is_public && before === undefined) return drop('never_public')
        const path = pathOf(document.category_id)
        // A record of a hidden product has no text, so the item keeps its old text.
        const item =
          document.is_public || before === undefined
            ? itemOf(document, path ?? '', ctx.timestamp)
            : { ...before, status: 'INACTIVE' as const, updated_at: ctx.timestamp }
        if (bytesOf(item) > MAX_ITEM_BYTES)
          return deadLetter('bad_product', `The texts of the product take more than ${MAX_ITEM_BYTES} bytes.`)
        if (path === undefined) awaited.put(ctx.key, document.category_id)
        else if (awaited.get(ctx.key) !== undefined) awaited.delete(ctx.key)
        if (!keep(ctx.key, item, ctx)) return drop('unchanged')
      },
    )
    .tick('complete', { everyMs: RETRY_EVERY_MS, clock: 'wall', stores, emits: [items] }, complete)
}

function itemOf(document: CatalogDocument, categoryPath: string, updatedAt: number): RecommendationItem {
  const { title, description, thumbnail, created_at, brand, attributes } = document
  return {
    title,
    description,
    category_path: categoryPath,
    attributes: { ...singleAttributes(attributes), ...(brand !== null && { brand }) },
    popularity: 0,
    thumbnail_url: thumbnail === null ? null : imagePath(thumbnail, THUMBNAIL_WIDTH),
    status: 'ACTIVE',
    created_at,
    updated_at: updatedAt,
  }
}

/**
 * Returns the attributes that have only one value among the variants. A colour that differs between variants does not
 * describe the product.
 */
function singleAttributes(attributes: readonly string[]): Record<string, string> {
  const found = new Map<string, string | undefined>()
  for (const attribute of attributes) {
    const colon = attribute.indexOf(':')
    const name = attribute.slice(0, colon)
    found.set(name, found.has(name) ? undefined : attribute.slice(colon + 1))
  }
  return Object.fromEntries([...found].filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** Returns the encoded size of the texts of an item, without its path. */
function bytesOf({ title, description, attributes }: RecommendationItem): number {
  let bytes = Buffer.byteLength(title) + Buffer.byteLength(description)
  for (const [name, value] of Object.entries(attributes))
    bytes += ATTRIBUTE_OVERHEAD_BYTES + Buffer.byteLength(name) + Buffer.byteLength(value)
  return bytes
}

/** Returns whether two items are equal except for `updated_at`. */
function isSame(one: RecommendationItem, other: RecommendationItem): boolean {
  return JSON.stringify({ ...one, updated_at: 0 }) === JSON.stringify({ ...other, updated_at: 0 })
}
