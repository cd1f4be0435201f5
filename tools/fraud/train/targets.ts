import type { ModelName } from '../../../schemas/fraud/decision/policy.ts'
import type { Pattern } from '../patterns/payment.ts'

/** The patterns of fraud that each model is trained to find. */
export const TARGETS: Readonly<Record<ModelName, readonly Pattern[]>> = {
  account_takeover: ['account_takeover', 'impossible_travel', 'velocity'],
  payment_fraud: ['card_testing', 'velocity', 'new_account', 'device_farm', 'account_takeover', 'impossible_travel'],
  money_laundering: ['structuring'],
}

const HISTORY_OF_VERDICTS = ['fraud', 'risk_tier']
const LEARNED_BY_HEART = ['time.hour_utc', 'time.weekday_utc', 'merchant.txn_count_7d', 'merchant.txn_count_30d']

/**
 * Returns whether the default models read an input. Inputs that are meaningless in generated traffic, such as hours and
 * the sizes of merchants, are excluded. Counts and rates of confirmed frauds, and risk tiers, are excluded as well,
 * because in generated traffic nearly every entity with a confirmed fraud commits further frauds. The seeded rules
 * cover this risk.
 */
export function isUsed(input: string): boolean {
  return !LEARNED_BY_HEART.includes(input) && !HISTORY_OF_VERDICTS.some((part) => input.includes(part))
}
