import type { CatalogProductCommand, CatalogProductState, CatalogProductStatus } from '../../../schemas/catalog/types.ts'
import { done, type ProductDecision, type ProductFacts, revised } from './decision.ts'

/** The statuses to which each status may change. See docs/services/catalog.md#states */
const NEXT: Readonly<Record<CatalogProductStatus, readonly CatalogProductStatus[]>> = {
  DRAFT: ['ACTIVE', 'DELETED'],
  ACTIVE: ['INACTIVE', 'DELETED'],
  INACTIVE: ['ACTIVE', 'DELETED'],
  DELETED: [],
}

export function mayFollow(before: CatalogProductStatus, after: CatalogProductStatus): boolean {
  return before === after || NEXT[before].includes(after)
}

/** Sets the status of a product. Changes nothing if the product already has this status. */
export function setStatus(state: CatalogProductState, { actor, status }: CatalogProductCommand, { now }: ProductFacts): ProductDecision {
  const { product } = state
  const after = status!
  if (!mayFollow(product.status, after)) return { answer: { outcome: 'no_transition', status: product.status } }
  const cause = { actor, at: now, isForced: false, reason: 'CHANGED' } as const
  if (after === product.status) return { answer: done(state, state, cause).answer }
  const changed = revised(state, now, { status: after, version: product.version + 1 })
  return done(state, after === 'DELETED' ? emptied(changed) : changed, cause)
}

/** Removes the description, the images and the price periods of a deleted product. */
function emptied({ product, pricing }: CatalogProductState): CatalogProductState {
  return {
    product: { ...product, description: '', images: [] },
    pricing: pricing.map((one) => ({ ...one, regular: null, periods: [] })),
  }
}
