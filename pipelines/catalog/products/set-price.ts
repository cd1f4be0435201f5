import { placeOfVariant } from '../../../schemas/catalog/ids.ts'
import { MOST_PERIODS } from '../../../schemas/catalog/products/limits.ts'
import type {
  CatalogPricePeriod,
  CatalogPriceRequest,
  CatalogPricing,
  CatalogProductCommand,
  CatalogProductState,
  CatalogVariant,
} from '../../../schemas/catalog/types.ts'
import { done, type ProductDecision, type ProductFacts, revised } from './decision.ts'
import { runPeriods } from './periods.ts'
import { accepting, outOfRange, passesGuard } from './price-guard.ts'

/** A variant and its pricing: its regular price, its price periods and the range of accepted prices. */
export interface Priced {
  readonly variant: CatalogVariant
  readonly pricing: CatalogPricing
}

/** Sets the price of a variant immediately and permanently, or for a period. */
export function setPrice(state: CatalogProductState, command: CatalogProductCommand, { now }: ProductFacts): ProductDecision {
  const asked = command.price!
  const index = indexOf(state, asked.variant_id)
  if (index === undefined) return { answer: { outcome: 'variant_not_found' } }
  // Begins and ends the periods that are due, because their timers may not have run yet.
  const current = runPeriods(revised(state, now, {}), now)
  const priced: Priced = { variant: current.state.product.variants[index], pricing: current.state.pricing[index] }
  const isInRange = passesGuard(priced.pricing, asked.price_cents)
  if (!isInRange && !command.may_force) return { answer: outOfRange(priced.variant, priced.pricing) }
  const isForced = !isInRange
  const cause = { actor: command.actor, at: now, isForced, reason: 'CHANGED' } as const
  const { starts_at, ends_at } = asked
  const compare_price = asked.sets_compare_price ? asked.compare_price : (priced.pricing.regular ?? priced.variant).compare_price
  if (starts_at === null && ends_at === null) {
    const after = replacing(current.state, index, atOnce(priced, asked.price_cents, compare_price))
    return done(state, after, cause, new Map([...current.causes].filter(([other]) => other !== index)))
  }
  const from = Math.max(starts_at ?? now, now)
  const period: CatalogPricePeriod = {
    starts_at: from,
    ends_at: ends_at ?? from,
    price_cents: asked.price_cents,
    compare_price,
    is_forced: isForced,
    actor: command.actor,
  }
  if (period.ends_at <= from) return { answer: { outcome: 'period_over' } }
  const { periods } = priced.pricing
  const other = periods.find((one) => one.starts_at < period.ends_at && period.starts_at < one.ends_at)
  if (other !== undefined) return { answer: { outcome: 'period_overlaps', starts_at: other.starts_at, ends_at: other.ends_at } }
  if (countPeriods(current.state) >= MOST_PERIODS) return { answer: { outcome: 'too_many_periods' } }
  const sorted = [...periods, period].sort((a, b) => a.starts_at - b.starts_at)
  const pricing = { ...accepting(priced.pricing, asked.price_cents), periods: sorted }
  const begun = runPeriods(replacing(current.state, index, { ...priced, pricing }), now)
  return done(state, begun.state, cause, new Map([...current.causes, ...begun.causes]))
}

/** Cancels a period. If the period is running, the regular price returns at once. */
export function cancelPeriod(state: CatalogProductState, command: CatalogProductCommand, { now }: ProductFacts): ProductDecision {
  const { variant_id, starts_at } = command.price!
  const index = indexOf(state, variant_id)
  if (index === undefined) return { answer: { outcome: 'variant_not_found' } }
  const { regular, periods } = state.pricing[index]
  const place = periods.findIndex((period) => period.starts_at === starts_at)
  if (place < 0) return { answer: { outcome: 'no_such_period' } }
  const isRunning = place === 0 && regular !== null
  const variant = isRunning ? { ...state.product.variants[index], ...regular } : state.product.variants[index]
  const pricing = { ...state.pricing[index], regular: isRunning ? null : regular, periods: periods.toSpliced(place, 1) }
  const cause = { actor: command.actor, at: now, isForced: false, reason: isRunning ? 'PERIOD_ENDED' : 'CHANGED' } as const
  return done(state, replacing(revised(state, now, {}), index, { variant, pricing }), cause)
}

/** Returns the variant with a new price that applies at once and ends a running period. */
export function atOnce({ variant, pricing }: Priced, price_cents: number, compare_price: number | null): Priced {
  const periods = pricing.regular === null ? pricing.periods : pricing.periods.slice(1)
  return {
    variant: { ...variant, price_cents, compare_price },
    pricing: { ...accepting(pricing, price_cents), regular: null, periods },
  }
}

function replacing(state: CatalogProductState, index: number, { variant, pricing }: Priced): CatalogProductState {
  const { product } = state
  return {
    product: { ...product, variants: product.variants.with(index, variant) },
    pricing: state.pricing.with(index, pricing),
  }
}

function countPeriods({ pricing }: CatalogProductState): number {
  return pricing.reduce((sum, { periods }) => sum + periods.length, 0)
}

function indexOf({ product }: CatalogProductState, variantId: CatalogPriceRequest['variant_id']): number | undefined {
  const place = placeOfVariant(variantId)
  if (place?.productId !== product.product_id || place.number > product.variants.length) return undefined
  return place.number - 1
}
