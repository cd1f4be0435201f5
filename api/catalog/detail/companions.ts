import { LRUCache } from 'lru-cache'
import type { StoredProduct } from '../../../schemas/catalog/products/stored.ts'

/** Ids of the records that are read together with a product. */
export interface Companions {
  readonly sellerId: string
  readonly categoryId: number
  readonly variantIds: readonly number[]
}

/** Maximum number of remembered products. Each takes about 200 bytes. */
const REMEMBERED_PRODUCTS = 100_000

/**
 * Remembers the last known companions of each product (its seller, category and variants), so that the product and its
 * companions can be read at the same time. A page never shows outdated companions: if the product that was read has
 * other companions, these are read as well.
 */
export interface KnownCompanions {
  get(productId: number): Companions | undefined
  remember(product: StoredProduct): Companions
}

export function knownCompanions(capacity = REMEMBERED_PRODUCTS): KnownCompanions {
  const known = new LRUCache<number, Companions>({ max: capacity })
  return {
    get: (productId) => known.get(productId),
    remember(product) {
      const companions = companionsOf(product)
      const before = known.peek(product.product_id)
      if (before !== undefined && isSame(before, companions)) return before
      known.set(product.product_id, companions)
      return companions
    },
  }
}

function companionsOf({ seller_id, category_id, variants }: StoredProduct): Companions {
  const variantIds = variants.flatMap(({ variant_id, status }) => (status === 'ACTIVE' ? [variant_id] : []))
  return { sellerId: seller_id, categoryId: category_id, variantIds }
}

function isSame(a: Companions, b: Companions): boolean {
  const isSameList = a.variantIds.length === b.variantIds.length && a.variantIds.every((id, index) => id === b.variantIds[index])
  return a.sellerId === b.sellerId && a.categoryId === b.categoryId && isSameList
}
