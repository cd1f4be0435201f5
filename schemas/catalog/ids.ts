import { createHash } from 'node:crypto'

/**
 * Ids of products and variants. All ids are safe integers in JSON: a product_id has 45 bits, and a variant_id has 8
 * more, for the number of the variant within its product.
 */
const PRODUCT_ID_BITS = 45n
const PRODUCT_IDS = 2 ** 45
/** Highest number of a variant. Over its lifetime, a product has at most 255 variants, numbered from 1 to 255. */
export const MOST_VARIANT_NUMBER = 255
const VARIANTS_PER_PRODUCT = 256

/**
 * Returns the product_id that a command generates. Every repetition of the command generates the same id.
 * @param attempt number of the attempt, from 0; if an id is already taken, the next attempt gives another id
 */
export function productIdOf(commandId: string, attempt: number): number {
  const hash = createHash('sha256').update(`product:${commandId}:${attempt}`).digest()
  const id = Number(BigInt.asUintN(Number(PRODUCT_ID_BITS), hash.readBigUInt64BE()))
  // Zero is not a valid id, so a hash of zero (one hash in 2^45) becomes the id 1.
  return Math.max(id, 1)
}

/**
 * Returns the id of a variant.
 * @param number the variant's number within its product, from 1 to 255
 * @throws RangeError for an invalid number or product
 */
export function variantIdOf(productId: number, number: number): number {
  if (!isProductId(productId)) throw new RangeError(`${productId} is not a product_id`)
  if (!Number.isInteger(number) || number < 1 || number > MOST_VARIANT_NUMBER) throw new RangeError(`${number} is not a variant number`)
  return productId * VARIANTS_PER_PRODUCT + number
}

export interface VariantPlace {
  readonly productId: number
  /** Number of the variant within its product, from 1 to 255. */
  readonly number: number
}

/** Returns the product of a variant and the variant's number within it; undefined if no variant can have this id. */
export function placeOfVariant(variantId: number): VariantPlace | undefined {
  if (!Number.isSafeInteger(variantId)) return undefined
  const number = variantId % VARIANTS_PER_PRODUCT
  const productId = Math.floor(variantId / VARIANTS_PER_PRODUCT)
  return number >= 1 && isProductId(productId) ? { productId, number } : undefined
}

export function isProductId(id: number): boolean {
  return Number.isInteger(id) && id >= 1 && id < PRODUCT_IDS
}

/** Parses the id of a product in its shortest decimal form. Returns undefined for any other text. */
export function parseProductId(text: string): number | undefined {
  const id = decimal(text)
  return id !== undefined && isProductId(id) ? id : undefined
}

/** Parses the id of a variant in its shortest decimal form. Returns undefined for any other text. */
export function parseVariantId(text: string): number | undefined {
  const id = decimal(text)
  return id !== undefined && placeOfVariant(id) !== undefined ? id : undefined
}

function decimal(text: string): number | undefined {
  return /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined
}
