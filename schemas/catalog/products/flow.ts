import type { CommandFlow } from '../../commands/topics.ts'
import type { CatalogProductCommand, CatalogProductState, CatalogProductStatus } from '../types.ts'
import type { StoredProduct } from './stored.ts'
import { productCommands, productDecisions } from './topics.ts'

/** The answer to a command about a product. */
export type ProductAnswer =
  | { readonly outcome: 'done'; readonly product: StoredProduct }
  /** `create`: another product has the product_id. */
  | { readonly outcome: 'taken' }
  /** A sku of the product needs a claim that is newer than those of the command. */
  | { readonly outcome: 'unclaimed'; readonly skus: readonly string[] }
  /** The product does not exist, is deleted, or belongs to another seller and is not public. */
  | { readonly outcome: 'not_found' }
  /** A public product of another seller. */
  | { readonly outcome: 'forbidden' }
  | { readonly outcome: 'variant_not_found' }
  | { readonly outcome: 'other_version'; readonly version: number }
  | { readonly outcome: 'no_transition'; readonly status: CatalogProductStatus }
  | PriceOutOfRange
  /** Epoch ms of the other period. */
  | { readonly outcome: 'period_overlaps'; readonly starts_at: number; readonly ends_at: number }
  /** The variant has no period that begins then. */
  | { readonly outcome: 'no_such_period' }
  /** The product has too many periods. */
  | { readonly outcome: 'too_many_periods' }
  /** The period has ended, or it ends before it begins. */
  | { readonly outcome: 'period_over' }
  | { readonly outcome: 'too_many_variants' }
  /** The product would exceed MOST_PRODUCT_BYTES. */
  | { readonly outcome: 'too_large' }

/** The bounds between which the price had to be, inclusive, in cents. */
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
