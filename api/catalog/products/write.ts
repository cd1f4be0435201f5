import { productIdOf } from '../../../schemas/catalog/ids.ts'
import { type ProductAnswer, productFlow } from '../../../schemas/catalog/products/flow.ts'
import { imageIdOf } from '../../../schemas/catalog/products/image-id.ts'
import { MOST_ACTIVE_VARIANTS, MOST_PRODUCT_BYTES } from '../../../schemas/catalog/products/limits.ts'
import { encodedBytes } from '../../../schemas/catalog/products/size.ts'
import type { StoredProduct } from '../../../schemas/catalog/products/stored.ts'
import type {
  CatalogOfferedImage,
  CatalogProductCommand,
  CatalogProductContent,
  CatalogProductStatus,
  CatalogVariant,
} from '../../../schemas/catalog/types.ts'
import type { OpenCommand } from '../../kit/commands/commands.ts'
import { ApiError } from '../../kit/errors.ts'
import type { CategoryTree } from '../categories/tree.ts'
import { catalogErrors } from '../errors.ts'
import type { NewProduct, Replacement } from './model.ts'
import { decided, tooLarge } from './refusals.ts'
import type { SkuClaims } from './sku-claims.ts'

/** Default values for command fields that a request does not use. */
export const NOTHING_ASKED: Omit<CatalogProductCommand, 'action' | 'actor' | 'seller_id'> = {
  expected_version: null,
  may_force: false,
  claimed_at: null,
  claimed_skus: [],
  status: null,
  content: null,
  price: null,
}

/** The sender of a command, and the seller whose products the sender may change. */
type Asking = Pick<CatalogProductCommand, 'actor' | 'seller_id'>

/**
 * A checked request to create or replace a product. JSON bodies and forms with images are both converted to this
 * structure.
 */
export interface Written extends Asking {
  readonly content: CatalogProductContent
  readonly status: CatalogProductStatus | null
  readonly mayForce: boolean
}

export interface ProductWriter {
  /**
   * Creates a product, and gives its images their ids. Throws an ApiError if a sku is taken or the command is refused
   * (see refusals.ts).
   * @param item distinguishes this product from other products of the same command
   */
  create(open: OpenCommand, written: Written, item?: string): Promise<StoredProduct>
  /**
   * Replaces a product. Throws the same errors as `create`.
   * @param written contains in `known` the skus that the product already has. These skus need no claim.
   */
  replace(
    open: OpenCommand,
    productId: number,
    written: Written & { readonly expectedVersion: number | undefined; readonly known: readonly string[] },
  ): Promise<StoredProduct>
}

/** Maximum version that a command can contain. No product reaches it. */
const GREATEST_VERSION = 2 ** 31 - 1

/** Converts the version in If-Match to the version that a command expects; null if the request has no If-Match. */
export function expectedBy(ifMatch: number | undefined): number | null {
  return ifMatch === undefined ? null : Math.min(ifMatch, GREATEST_VERSION)
}

/**
 * Maximum number of ids to try for a new product. With 500M products, the probability that all of them are already
 * taken is about 4 × 10^-20.
 */
const MOST_IDS = 4
/**
 * Maximum number of times that skus are claimed for one product. A single claim is not enough, because a repeated
 * request gets the answer to its first claim again, and that claim may have expired in the meantime.
 */
const MOST_CLAIMS = 4

export function productWriter(claims: SkuClaims): ProductWriter {
  async function create(open: OpenCommand, written: Written, item = ''): Promise<StoredProduct> {
    const skus = skusOf(written.content)
    const claimId = `${open.id}${item}`
    let answer: ProductAnswer = { outcome: 'taken' }
    for (let attempt = 0; attempt < MOST_IDS && answer.outcome === 'taken'; attempt++) {
      const claimed = { productId: productIdOf(claimId, attempt), claimId, skus }
      const identified = { ...written, content: withImageIds(written.content, claimed.productId) }
      answer = { outcome: 'unclaimed', skus }
      for (let round = 0; round < MOST_CLAIMS && answer.outcome === 'unclaimed'; round++) {
        const step = `${item}${attempt}.${round}`
        const claimed_at = await claims.claim(open, claimed, step)
        const command = commandOf('create', identified, { claimed_at, claimed_skus: skus })
        answer = await open.run(productFlow, String(claimed.productId), command, `${step}-create`)
      }
      if (answer.outcome !== 'done') await claims.release(open, claimed, `${item}${attempt}`)
    }
    return decided(answer)
  }

  async function replace(
    open: OpenCommand,
    productId: number,
    written: Written & { readonly expectedVersion: number | undefined; readonly known: readonly string[] },
  ): Promise<StoredProduct> {
    const known = new Set(written.known)
    let missing = skusOf(written.content).filter((sku) => !known.has(sku))
    let answer: ProductAnswer = { outcome: 'unclaimed', skus: missing }
    for (let round = 0; round < MOST_CLAIMS && answer.outcome === 'unclaimed'; round++) {
      missing = [...new Set([...missing, ...answer.skus])]
      const claimed = { productId, claimId: open.id, skus: missing }
      const claimed_at = missing.length === 0 ? null : await claims.claim(open, claimed, String(round))
      const command = commandOf('replace', written, {
        claimed_at,
        claimed_skus: missing,
        expected_version: expectedBy(written.expectedVersion),
      })
      answer = await open.run(productFlow, String(productId), command, `${round}-replace`)
    }
    if (answer.outcome !== 'done' && missing.length > 0) await claims.release(open, { productId, claimId: open.id, skus: missing }, 'end')
    return decided(answer)
  }

  return { create, replace }
}

function commandOf(
  action: 'create' | 'replace',
  { actor, seller_id, content, status, mayForce }: Written,
  claim: Pick<CatalogProductCommand, 'claimed_at' | 'claimed_skus'> & { readonly expected_version?: number | null },
): CatalogProductCommand {
  return { ...NOTHING_ASKED, action, actor, seller_id, content, status, may_force: mayForce, ...claim }
}

/** Sets the ids of the images, which depend on the product's id. */
function withImageIds(content: CatalogProductContent, productId: number): CatalogProductContent {
  const images = content.images?.map((image) => ({ ...image, image_id: imageIdOf(productId, image.content_hash) })) ?? null
  return { ...content, images }
}

function skusOf({ variants }: CatalogProductContent): string[] {
  return variants.map(({ sku }) => sku)
}

/**
 * Returns the content that a body describes.
 * @param images the product's images; null keeps the current images
 * @throws ApiError: `unknown_category`, `too_many_variants`, `content_too_large`.
 */
export function contentOf(
  { title, description, category_id, brand, variants }: NewProduct | Replacement,
  images: CatalogOfferedImage[] | null,
  categories: Pick<CategoryTree, 'get'>,
): CatalogProductContent {
  if (variants.length > MOST_ACTIVE_VARIANTS) throw new ApiError(catalogErrors.too_many_variants)
  if (categories.get(category_id) === undefined) throw new ApiError(catalogErrors.unknown_category)
  const offers = variants.map(({ compare_price_cents, ...offer }) => ({ ...offer, compare_price: compare_price_cents }))
  const content = { title, description, category_id, brand, variants: offers, images }
  // The size is checked before any sku is claimed. A larger command might exceed the maximum record size of its topic.
  if (leastBytes(content) > MOST_PRODUCT_BYTES) throw tooLarge()
  return content
}

/**
 * Returns a lower bound for the encoded size of a product with this content: the size without images and earlier
 * variants.
 */
function leastBytes({ images: _images, variants, ...content }: CatalogProductContent): number {
  const made = { product_id: 1, seller_id: 1n, status: 'ACTIVE', created_at: 0, updated_at: 0, version: 1, revision: 1 } as const
  const offered = variants.map((offer): CatalogVariant => ({ ...offer, variant_id: 1, status: 'ACTIVE' }))
  return encodedBytes({ ...made, ...content, variants: offered, images: [] })
}
