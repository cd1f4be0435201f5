import type { CatalogProduct, VariantOffer } from '../../../schemas/catalog/types.ts'
import { type NOT_CAUGHT_UP, type ViewOperation, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * Which variants of a product are for sale. The values are kept short, because every reservation reads one. The keys
 * are in the view of products:
 *
 * | key | value |
 * |---|---|
 * | `{catalog-products:<p>}:offer:<product_id>` | JSON object: variant number → true if the variant is for sale |
 */
type Offer = Readonly<Record<string, boolean>>

const VARIANTS_PER_PRODUCT = 256

/** @param product null when it was deleted */
export function offerOperation(view: string, partition: number, productId: string, product: CatalogProduct | null): ViewOperation {
  const key = offerKey(view, partition, productId)
  if (product === null) return { op: 'del', key }
  const isPublic = product.status === 'ACTIVE'
  const offer = product.variants.map(({ variant_id, status }) => [variant_id % VARIANTS_PER_PRODUCT, isPublic && status === 'ACTIVE'])
  return { op: 'set', key, value: JSON.stringify(Object.fromEntries(offer)) }
}

/** @param partition the product's partition in the view of products */
export async function readOffer(
  reader: ViewReader,
  view: string,
  partition: number,
  { productId, number }: { readonly productId: number; readonly number: number },
): Promise<VariantOffer | typeof NOT_CAUGHT_UP> {
  const text = await withCaughtUp(reader, view, partition, reader.get(offerKey(view, partition, String(productId))))
  if (typeof text === 'symbol') return text
  const isForSale = text === null ? undefined : (JSON.parse(text) as Offer)[number]
  return isForSale === undefined ? 'UNKNOWN' : isForSale ? 'FOR_SALE' : 'NOT_FOR_SALE'
}

function offerKey(view: string, partition: number, productId: string): string {
  return `${viewTag(view, partition)}:offer:${productId}`
}
