import type { Rule, RuleAction } from './rule.ts'

/**
 * Step between the priorities of seeded rules. The step leaves room for the operators' own rules between the seeded
 * rules, and `FIRST_PRIORITY` leaves room before them.
 */
const PRIORITY_STEP = 10
const FIRST_PRIORITY = 100

type Seed = readonly [id: string, name: string, action: RuleAction, condition: string]

/** The seeded rules in the order of their priorities. */
const SEEDS: readonly Seed[] = [
  [
    'seed-card-testing',
    'Many small payments with one card within an hour',
    'BLOCK',
    'velocity.card.txn_count_1h >= 5 AND txn.amount_usd < 5 AND velocity.card.txn_sum_1h < 50',
  ],
  [
    'seed-takeover-travel',
    'Impossible travel on a device that is new to the user',
    'BLOCK',
    'geo.impossible_travel AND features.is_new_device AND txn.amount_usd >= 100',
  ],
  ['seed-device-farm', 'Many users on one device within a day', 'REVIEW', 'device.distinct_users_24h >= 5'],
  ['seed-fraud-device', 'The device took part in a confirmed fraud', 'REVIEW', 'device.fraud_assoc_count > 0'],
  ['seed-high-risk-user', 'An analyst has confirmed a fraud of this user', 'REVIEW', "user.risk_tier = 'HIGH' AND txn.amount_usd >= 50"],
  [
    'seed-risky-merchant',
    'High rate of confirmed fraud at a merchant with at least 50 payments',
    'REVIEW',
    'merchant.fraud_rate_30d > 0.05 AND merchant.txn_count_30d >= 50',
  ],
  ['seed-impossible-travel', 'Too far from the previous payment for the time between the two payments', 'REVIEW', 'geo.impossible_travel'],
  [
    'seed-zscore-3',
    "The amount is more than 3 standard deviations above the user's mean",
    'REVIEW',
    'features.amount_zscore > 3 AND user.lifetime_txn_count >= 5 AND txn.amount_usd >= 100',
  ],
  [
    'seed-structuring',
    'Repeated amounts just below 10,000 USD within a day',
    'REVIEW',
    'txn.amount_usd BETWEEN 8000 AND 9999.99 AND velocity.user.txn_sum_24h >= 8000 AND velocity.user.txn_count_24h >= 1',
  ],
  ['seed-user-velocity', 'More than 10 payments of a user within an hour', 'REVIEW', 'velocity.user.txn_count_1h > 10'],
  [
    'seed-user-spending',
    "A day's spending that is high for anybody and more than 10 times the user's mean payment",
    'REVIEW',
    'velocity.user.txn_sum_24h + txn.amount_usd > 5000 AND velocity.user.txn_sum_24h + txn.amount_usd > 10 * user.avg_txn_amount AND velocity.user.txn_count_24h >= 3',
  ],
  [
    'seed-new-account-high',
    'A high amount from an account that is less than a week old',
    'REVIEW',
    'payer.account_age_days < 7 AND txn.amount_usd > 500',
  ],
  [
    'seed-takeover-login',
    'A high amount at a new merchant, on a device new to the user, right after signing in',
    'REVIEW',
    'features.is_new_device AND session.time_since_login_sec < 120 AND features.is_new_merchant AND user.lifetime_txn_count >= 5 AND txn.amount_usd > 3 * user.avg_txn_amount',
  ],
  ['seed-tor', 'A payment from a Tor exit', 'REVIEW', 'ip.is_tor AND txn.amount_usd >= 20'],
  ['seed-crowded-address', 'Many users of one address in a data centre', 'REVIEW', 'ip.distinct_users_24h >= 10 AND ip.is_datacenter'],
  [
    'seed-zscore-2',
    "The amount is more than 2 standard deviations above the user's mean",
    'STEP_UP',
    'features.amount_zscore > 2 AND user.lifetime_txn_count >= 5 AND txn.amount_usd >= 50',
  ],
  [
    'seed-country-mismatch',
    "The address is in a country that is neither the card's nor the payer's",
    'STEP_UP',
    'payment.bin_country != ip.geo_country AND (payer.country IS MISSING OR payer.country != ip.geo_country) AND txn.amount_usd >= 200',
  ],
  [
    'seed-new-account-device',
    'An account and a device that are both new',
    'STEP_UP',
    'payer.account_age_days < 30 AND features.device_age_days < 1 AND txn.amount_usd > 100',
  ],
  ['seed-many-devices', 'A user with many devices within a week', 'STEP_UP', 'user.distinct_devices_7d >= 5 AND features.is_new_device'],
  [
    'seed-dormant-account',
    'A high amount after 90 days without a payment',
    'STEP_UP',
    'time.since_last_txn_sec > 90 * 86400 AND txn.amount_usd > 300',
  ],
]

/** The rules of a new installation: docs/services/fraud.md#seeded-rules */
export const SEEDED_RULES: readonly Rule[] = SEEDS.map(([rule_id, name, action, condition], index) => ({
  rule_id,
  name,
  condition,
  action,
  priority: FIRST_PRIORITY + index * PRIORITY_STEP,
  enabled: true,
  mode: 'live',
  created_by: 'millrace',
  created_at: 0,
  updated_at: 0,
  expires_at: null,
}))
