/** Limits of products: docs/services/catalog.md#products */
export const MOST_ACTIVE_VARIANTS = 50
/**
 * Maximum number of variants over the whole life of a product. A variant's number is the lowest byte of its variant_id.
 */
export { MOST_VARIANT_NUMBER as MOST_VARIANTS_EVER } from '../ids.ts'
export const MOST_IMAGES = 20
/** Maximum number of code points in a sku. */
export const MOST_SKU = 50
/**
 * Maximum size of an encoded product, in bytes. With this limit, a record with a product stays far below the broker's
 * limit of 1 MiB.
 */
export const MOST_PRODUCT_BYTES = 262_144
/** Maximum number of current and future limited-time prices of a product, summed over all its variants. */
export const MOST_PERIODS = 100

const MINUTE_MS = 60_000
/** Lifetime of a claim for a sku that no product uses. */
export const CLAIM_MS = 10 * MINUTE_MS
/**
 * Maximum age of a claim with which a product may be created or replaced. The rest of the claim's lifetime allows for
 * clock differences and for the delay of the record that confirms the claim.
 */
export const CLAIM_USABLE_MS = 5 * MINUTE_MS
