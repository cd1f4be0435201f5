import { CLAIM_USABLE_MS } from '../../../schemas/catalog/products/limits.ts'
import type { CatalogProductCommand, CatalogProductState } from '../../../schemas/catalog/types.ts'
import { applyContent, isApplied } from './content.ts'
import { done, type ProductDecision, type ProductFacts, revised, whenAllowed } from './decision.ts'
import { runPeriods } from './periods.ts'
import { cancelPeriod, setPrice } from './set-price.ts'
import { mayFollow, setStatus } from './status.ts'

/** Decides every command about one product. */
export function decideProduct(
  state: CatalogProductState | undefined,
  command: CatalogProductCommand,
  facts: ProductFacts,
): ProductDecision {
  switch (command.action) {
    case 'create':
      return create(state, command, facts)
    case 'replace':
      return whenAllowed(state, command, (found) => replace(found, command, facts))
    case 'set_status':
      return whenAllowed(state, command, (found) => setStatus(found, command, facts))
    case 'set_price':
      return whenAllowed(state, command, (found) => setPrice(found, command, facts))
    case 'cancel_period':
      return whenAllowed(state, command, (found) => cancelPeriod(found, command, facts))
  }
}

/** Creates a product. A product_id is never used twice, not even after its product was deleted. */
function create(state: CatalogProductState | undefined, command: CatalogProductCommand, { key, now }: ProductFacts): ProductDecision {
  if (state !== undefined) return { answer: { outcome: 'taken' } }
  const unclaimed = unclaimedSkus(undefined, command, now)
  if (unclaimed.length > 0) return { answer: { outcome: 'unclaimed', skus: unclaimed } }
  const fresh: CatalogProductState = {
    product: {
      product_id: Number(key),
      seller_id: command.seller_id!,
      title: '',
      description: '',
      category_id: 0,
      brand: null,
      status: command.status ?? 'ACTIVE',
      created_at: now,
      updated_at: now,
      version: 1,
      revision: 1,
      variants: [],
      images: [],
    },
    pricing: [],
  }
  const applied = applyContent(fresh, command.content!, command.may_force)
  if (!isApplied(applied)) return { answer: applied }
  return done(undefined, applied.state, { actor: command.actor, at: now, isForced: false, reason: 'LISTED' })
}

function replace(state: CatalogProductState, command: CatalogProductCommand, { now }: ProductFacts): ProductDecision {
  const { product } = state
  const status = command.status ?? product.status
  if (!mayFollow(product.status, status)) return { answer: { outcome: 'no_transition', status: product.status } }
  const unclaimed = unclaimedSkus(state, command, now)
  if (unclaimed.length > 0) return { answer: { outcome: 'unclaimed', skus: unclaimed } }
  // Begins and ends the periods that are due, because their timers may not have run yet.
  const current = runPeriods(revised(state, now, { version: product.version + 1, status }), now)
  const applied = applyContent(current.state, command.content!, command.may_force)
  if (!isApplied(applied)) return { answer: applied }
  const cause = { actor: command.actor, at: now, isForced: false, reason: 'CHANGED' } as const
  const forcing = { ...cause, isForced: true }
  const priceIn = ({ product: { variants } }: CatalogProductState, index: number) => variants[index].price_cents
  const kept = [...current.causes].filter(([index]) => priceIn(current.state, index) === priceIn(applied.state, index))
  return done(state, applied.state, cause, new Map([...kept, ...applied.forced.map((index) => [index, forcing] as const)]))
}

/**
 * Returns the skus of the command that the product does not use yet and for which it has no usable claim. A claim may
 * be too old to use: for a day, a repeated claim request gets its first answer again, even if the claim has ended in
 * the meantime.
 */
function unclaimedSkus(state: CatalogProductState | undefined, command: CatalogProductCommand, now: number): string[] {
  const used = new Set(state?.product.variants.map(({ sku }) => sku))
  const isUsable = command.claimed_at !== null && now - command.claimed_at <= CLAIM_USABLE_MS
  const claimed = new Set(isUsable ? command.claimed_skus : [])
  return command.content!.variants.flatMap(({ sku }) => (used.has(sku) || claimed.has(sku) ? [] : [sku]))
}
