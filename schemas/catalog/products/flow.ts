import type { CommandFlow } from '../../commands/topics.ts'
import type { CatalogProductCommand, CatalogProductState, CatalogProductStatus } from '../types.ts'
import type { StoredProduct } from './stored.ts'
import { productCommands, productDecisions } from './topics.ts'

/** The answer to a command about a product. */
export type ProductAnswer =
  | { readonly outcome: 'done'; readonly product: StoredProduct }
  /** Only for `create`: this product_id already belongs to a product, possibly to a deleted one. */
  | { readonly outcome: 'taken' }
  /** The product has neither these skus nor a usable claim for them. */
  | { readonly outcome: 'unclaimed'; readonly skus: readonly string[] }
  /** The product does not exist, is deleted, or belongs to another seller and is not public. */
  | { readonly outcome: 'not_found' }
  /** The product is public and belongs to another seller. */
  | { readonly outcome: 'forbidden' }
  | { readonly outcome: 'variant_not_found' }
  | { readonly outcome: 'other_version'; readonly version: number }
  | { readonly outcome: 'no_transition'; readonly status: CatalogProductStatus }
  | PriceOutOfRange
  /** The period overlaps another one. The times are those of the other period, epoch ms. */
  | { readonly outcome: 'period_overlaps'; readonly starts_at: number; readonly ends_at: number }
  /** The variant has no limited-time price that begins at this time. */
  | { readonly outcome: 'no_such_period' }
  /** The product already has `MOST_PERIODS` periods. */
  | { readonly outcome: 'too_many_periods' }
  /** The limited-time price has already ended, or does not end after it begins. */
  | { readonly outcome: 'period_over' }
  | { readonly outcome: 'too_many_variants' }
  /** The product would exceed MOST_PRODUCT_BYTES. */
  | { readonly outcome: 'too_large' }

/** A price is outside the allowed range. The bounds are inclusive and in cents. */
export interface PriceOutOfRange {
  readonly outcome: 'price_out_of_range'
  readonly variant_id: number
  readonly sku: string
  readonly lowest_cents: number
  readonly highest_cents: number
}

export const productFlow: CommandFlow<CatalogProductCommand, CatalogProductState, ProductAnswer> = {
  name: 'catalog-products',
  commands: productCommands,
  decisions: productDecisions,
}
