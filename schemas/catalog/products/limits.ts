/** Limits of products: docs/services/catalog.md#products */
export const MOST_ACTIVE_VARIANTS = 50
/** Variants that a product may have in its whole life. Their number is the lowest byte of the variant_id. */
export { MOST_VARIANT_NUMBER as MOST_VARIANTS_EVER } from '../ids.ts'
export const MOST_IMAGES = 20
/** Maximum size of an encoded product, so that a record with it stays far below the broker's limit of 1 MiB. */
export const MOST_PRODUCT_BYTES = 262_144
/** Maximum number of current and future limited-time prices of a product, summed over all its variants. */
export const MOST_PERIODS = 100

const MINUTE_MS = 60_000
/** Lifetime of a claim for a sku that no product uses. */
export const CLAIM_MS = 10 * MINUTE_MS
/**
 * A product is not created if this much time has passed since its claim. The rest of the claim's lifetime allows for
 * clock differences and for the delay of the record that confirms the claim.
 */
export const CLAIM_USABLE_MS = 5 * MINUTE_MS
