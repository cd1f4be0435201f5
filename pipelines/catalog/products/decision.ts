import type { ProductAnswer } from '../../../schemas/catalog/products/flow.ts'
import { storedProduct } from '../../../schemas/catalog/products/stored.ts'
import type { CatalogProductCommand, CatalogProductState } from '../../../schemas/catalog/types.ts'
import type { Decided } from '../../engine/index.ts'
import { type Cause, outputsOf, type VariantCauses } from './outputs.ts'

export type ProductDecision = Decided<CatalogProductState, ProductAnswer>

/** The facts that a decision about a product uses in addition to the product and the command. */
export interface ProductFacts {
  /** The product_id in decimal. */
  readonly key: string
  /** The append time by which the command is judged, epoch ms; see `DecidingOptions.judgedBy`. */
  readonly now: number
}

const NOT_FOUND: ProductDecision = { answer: { outcome: 'not_found' } }

/** Returns the decision for a product that a request has changed, with the records about the change. */
export function done(
  before: CatalogProductState | undefined,
  after: CatalogProductState,
  cause: Cause,
  causes?: VariantCauses,
): ProductDecision {
  return { answer: { outcome: 'done', product: storedProduct(after) }, state: after, emits: outputsOf(before, after, cause, causes) }
}

/**
 * Returns the product with the change applied, with the next revision, and with `now` (epoch ms) as the time of its
 * last update.
 */
export function revised(state: CatalogProductState, now: number, change: Partial<CatalogProductState['product']>): CatalogProductState {
  const { product } = state
  return { ...state, product: { ...product, revision: product.revision + 1, updated_at: now, ...change } }
}

/**
 * Calls `decide` if the caller may change the product and the product has the version that the caller expects;
 * otherwise returns a refusal.
 * @param decide called with a product that is not deleted
 */
export function whenAllowed(
  state: CatalogProductState | undefined,
  { seller_id, expected_version }: CatalogProductCommand,
  decide: (state: CatalogProductState) => ProductDecision,
): ProductDecision {
  if (state === undefined || state.product.status === 'DELETED') return NOT_FOUND
  const { product } = state
  if (seller_id !== null && seller_id !== product.seller_id) {
    return product.status === 'ACTIVE' ? { answer: { outcome: 'forbidden' } } : NOT_FOUND
  }
  if (expected_version !== null && expected_version !== product.version) {
    return { answer: { outcome: 'other_version', version: product.version } }
  }
  return decide(state)
}
