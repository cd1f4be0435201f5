import { createHash } from 'node:crypto'

/**
 * Ids of products and variants. Both are safe JSON numbers: a product_id has 45 bits, and the number of a variant
 * within its product 8 more.
 */
const PRODUCT_ID_BITS = 45n
const PRODUCT_IDS = 2 ** 45
/** A product has at most 255 variants ever, with the numbers 1 to 255. */
export const MOST_VARIANT_NUMBER = 255
const VARIANTS_PER_PRODUCT = 256

/**
 * Returns the product_id that a command makes, which is the same for every repetition of the command.
 * @param attempt counts from 0; the next one is used when the id is taken
 */
export function productIdOf(commandId: string, attempt: number): number {
  const hash = createHash('sha256').update(`product:${commandId}:${attempt}`).digest()
  const id = Number(BigInt.asUintN(Number(PRODUCT_ID_BITS), hash.readBigUInt64BE()))
  // Zero is not an id. One of 2^45 hashes is zero, and shares the id 1 with another.
  return Math.max(id, 1)
}

/**
 * @param number of the variant within its product, 1 to 255
 * @throws RangeError for an impossible number or product
 */
export function variantIdOf(productId: number, number: number): number {
  if (!isProductId(productId)) throw new RangeError(`${productId} is no product_id`)
  if (!Number.isInteger(number) || number < 1 || number > MOST_VARIANT_NUMBER)
    throw new RangeError(`${number} is not a number of a variant`)
  return productId * VARIANTS_PER_PRODUCT + number
}

export interface VariantPlace {
  readonly productId: number
  /** 1 to 255. */
  readonly number: number
}

/** Returns the product of a variant and its number there; undefined if no variant can have this id. */
export function placeOfVariant(variantId: number): VariantPlace | undefined {
  if (!Number.isSafeInteger(variantId)) return undefined
  const number = variantId % VARIANTS_PER_PRODUCT
  const productId = Math.floor(variantId / VARIANTS_PER_PRODUCT)
  return number >= 1 && isProductId(productId) ? { productId, number } : undefined
}

export function isProductId(id: number): boolean {
  return Number.isInteger(id) && id >= 1 && id < PRODUCT_IDS
}

/** Reads the id of a product from its shortest decimal form; undefined if the text is not such an id. */
export function parseProductId(text: string): number | undefined {
  const id = decimal(text)
  return id !== undefined && isProductId(id) ? id : undefined
}

/** Reads the id of a variant from its shortest decimal form; undefined if the text is not such an id. */
export function parseVariantId(text: string): number | undefined {
  const id = decimal(text)
  return id !== undefined && placeOfVariant(id) !== undefined ? id : undefined
}

function decimal(text: string): number | undefined {
  return /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined
}
