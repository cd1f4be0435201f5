import type { CatalogProductState } from '../../../schemas/catalog/types.ts'
import type { Emission } from '../../engine/index.ts'
import { type Cause, outputsOf, type VariantCauses } from './outputs.ts'

/** Returns the next time at which a period of the product begins or ends, epoch ms; undefined if there is none. */
export function nextPeriodTime({ pricing }: CatalogProductState): number | undefined {
  const times = pricing.flatMap(({ regular, periods: [first] }) =>
    first === undefined ? [] : [regular === null ? first.starts_at : first.ends_at],
  )
  return times.length === 0 ? undefined : Math.min(...times)
}

export interface RunPeriods {
  readonly state: CatalogProductState
  /** Why prices have changed; empty if no price has changed. */
  readonly causes: VariantCauses
}

/**
 * Ends and begins the periods that are due. A period that is already over when it is first checked is removed without
 * effect on the price.
 */
export function runPeriods(state: CatalogProductState, now: number): RunPeriods {
  const causes = new Map<number, Cause>()
  const variants = [...state.product.variants]
  const pricing = state.pricing.map((before, index) => {
    let { regular, periods } = before
    const over = periods.findIndex(({ ends_at }) => ends_at > now)
    const ended = over < 0 ? periods : periods.slice(0, over)
    if (ended.length > 0 && regular !== null) {
      variants[index] = { ...variants[index], ...regular }
      regular = null
      because(index, { actor: ended[0].actor, at: now, isForced: false, reason: 'PERIOD_ENDED' })
    }
    periods = periods.slice(ended.length)
    const [first] = periods
    if (first !== undefined && first.starts_at <= now && regular === null) {
      const { price_cents, compare_price } = variants[index]
      regular = { price_cents, compare_price }
      variants[index] = { ...variants[index], price_cents: first.price_cents, compare_price: first.compare_price }
      because(index, { actor: first.actor, at: now, isForced: first.is_forced, reason: 'PERIOD_BEGAN' })
    }
    return { ...before, regular, periods }
  })
  return { state: { product: { ...state.product, variants }, pricing }, causes }

  /**
   * Records the cause of a price change. If a period begins at the moment when another one ends, the price changes only
   * once, and the new period is the cause.
   */
  function because(index: number, cause: Cause): void {
    const same = [...causes.values()].find(
      ({ actor, isForced, reason }) => actor === cause.actor && isForced === cause.isForced && reason === cause.reason,
    )
    causes.set(index, same ?? cause)
  }
}

/**
 * Begins and ends the periods of a product whose timer is due. Returns the changed product and the records about the
 * change.
 * @param now epoch ms
 */
export function takePeriods(
  before: CatalogProductState,
  now: number,
): { readonly state: CatalogProductState; readonly emits: readonly Emission[] } {
  const { state, causes } = runPeriods(before, now)
  const revision = before.product.revision + 1
  const after = { ...state, product: { ...state.product, revision, updated_at: now } }
  const cause = { actor: '', at: now, isForced: false, reason: 'PERIOD_ENDED' } as const
  return { state: after, emits: outputsOf(before, after, cause, causes) }
}
