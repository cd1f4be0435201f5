import { type AloneThresholds, MODELS, type ModelName, type ModelScores, type Policy } from '../../../schemas/fraud/decision/policy.ts'
import { judge, type RuledPayment } from '../patterns/judge.ts'

/** Maximum shares of normal payments that one model alone may raise to HIGH and to MEDIUM. */
const HIGH_SHARE = 0.0005
const MEDIUM_SHARE = 0.005
/** Intended share of blocked payments among all payments. */
const BLOCKED_SHARE = 0.003
/**
 * Lower bound of the HIGH threshold. A payment with a lower probability is far more likely to be normal, however rare
 * such scores are. The lower bound of the MEDIUM threshold is half of this.
 */
const LEAST_HIGH = 0.2
const DECIMALS = 1e5
const STEPS = 16
/**
 * Models that never block a payment. A suspicion of money laundering is no reason to refuse a payment, but it is a
 * reason for a review by analysts.
 */
const NEVER_BLOCKS: ReadonlySet<ModelName> = new Set(['money_laundering'])

export type Alone = Readonly<Record<ModelName, AloneThresholds>>

/**
 * Finds the thresholds at which a model alone raises the score. The thresholds of HIGH and MEDIUM are chosen so that
 * few normal payments reach them. The threshold of CRITICAL is chosen so that rules and models together block the
 * intended share of all payments.
 */
export function calibrate(ruled: readonly RuledPayment[], scores: readonly ModelScores[], policy: Policy): Alone {
  const normal = scores.filter((_, index) => ruled[index].payment.pattern === undefined && ruled[index].isCounted)
  const lower = Object.fromEntries(
    MODELS.map((model) => {
      const sorted = Float64Array.from(normal, (one) => one[model]).sort()
      const above = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * (1 - share)))]
      const high = rounded(Math.max(LEAST_HIGH, above(HIGH_SHARE)))
      return [model, { medium: rounded(Math.min(high, Math.max(LEAST_HIGH / 2, above(MEDIUM_SHARE)))), high }]
    }),
  ) as Record<ModelName, { medium: number; high: number }>
  const withCritical = (critical: number): Alone =>
    Object.fromEntries(
      MODELS.map((model) => [
        model,
        NEVER_BLOCKS.has(model) ? lower[model] : { ...lower[model], critical: rounded(Math.max(critical, lower[model].high)) },
      ]),
    ) as unknown as Alone
  // High scores are close to 1, so the search varies the number of nines in 0.99….
  const at = (nines: number) => withCritical(1 - 10 ** -nines)
  let low = 0
  let high = 5
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2
    const { blocked } = judge(ruled, scores, { ...policy, alone: at(middle) })
    if (blocked > BLOCKED_SHARE) low = middle
    else high = middle
  }
  return at(high)
}

function rounded(probability: number): number {
  return Math.round(probability * DECIMALS) / DECIMALS
}
