import { expect, test } from 'vitest'
import { compileCondition } from '../../../../schemas/fraud/rules/compile.ts'
import { type FactsByName, factsOf, NO_LISTS } from '../../../../schemas/fraud/rules/facts.ts'
import { byPrecedence } from '../../../../schemas/fraud/rules/rule.ts'
import { SEEDED_RULES } from '../../../../schemas/fraud/rules/seeded.ts'

const DAY_SECONDS = 86_400

/** A payment of an ordinary user with all fields that the rules read. */
const NORMAL: FactsByName = {
  'txn.amount': 45,
  'txn.amount_usd': 45,
  'txn.currency': 'USD',
  'txn.transaction_type': 'PURCHASE',
  'payer.user_id': 'u1',
  'payer.account_age_days': 400,
  'payer.country': 'DE',
  'payment.bin_country': 'DE',
  'ip.geo_country': 'DE',
  'ip.is_tor': false,
  'ip.is_datacenter': false,
  'ip.distinct_users_24h': 1,
  'device.distinct_users_24h': 1,
  'device.fraud_assoc_count': 0,
  'user.lifetime_txn_count': 60,
  'user.avg_txn_amount': 40,
  'user.risk_tier': 'NORMAL',
  'user.distinct_devices_7d': 1,
  'velocity.user.txn_count_1h': 0,
  'velocity.user.txn_count_24h': 1,
  'velocity.user.txn_sum_24h': 30,
  'velocity.card.txn_count_1h': 0,
  'velocity.card.txn_sum_1h': 0,
  'merchant.fraud_rate_30d': 0.001,
  'merchant.txn_count_30d': 900,
  'geo.impossible_travel': false,
  'time.since_last_txn_sec': DAY_SECONDS,
  'session.time_since_login_sec': 300,
  'features.amount_zscore': 0.3,
  'features.device_age_days': 200,
  'features.is_new_device': false,
  'features.is_new_merchant': false,
}

/** For each rule, the differences from the normal payment that make the rule match. */
const EXAMPLES: Readonly<Record<string, FactsByName>> = {
  'seed-card-testing': { 'velocity.card.txn_count_1h': 6, 'velocity.card.txn_sum_1h': 9, 'txn.amount_usd': 1.5 },
  'seed-takeover-travel': { 'geo.impossible_travel': true, 'features.is_new_device': true, 'txn.amount_usd': 250 },
  'seed-device-farm': { 'device.distinct_users_24h': 8 },
  'seed-fraud-device': { 'device.fraud_assoc_count': 1 },
  'seed-high-risk-user': { 'user.risk_tier': 'HIGH', 'txn.amount_usd': 80 },
  'seed-risky-merchant': { 'merchant.fraud_rate_30d': 0.2 },
  'seed-impossible-travel': { 'geo.impossible_travel': true },
  'seed-zscore-3': { 'features.amount_zscore': 3.5, 'txn.amount_usd': 180 },
  'seed-structuring': { 'txn.amount_usd': 9_500, 'velocity.user.txn_sum_24h': 9_600, 'velocity.user.txn_count_24h': 1 },
  'seed-user-velocity': { 'velocity.user.txn_count_1h': 11 },
  'seed-user-spending': { 'velocity.user.txn_sum_24h': 5_200, 'velocity.user.txn_count_24h': 4 },
  'seed-new-account-high': { 'payer.account_age_days': 2, 'txn.amount_usd': 800 },
  'seed-takeover-login': {
    'features.is_new_device': true,
    'features.is_new_merchant': true,
    'session.time_since_login_sec': 20,
    'txn.amount_usd': 190,
  },
  'seed-tor': { 'ip.is_tor': true },
  'seed-crowded-address': { 'ip.distinct_users_24h': 25, 'ip.is_datacenter': true },
  'seed-zscore-2': { 'features.amount_zscore': 2.4, 'txn.amount_usd': 120 },
  'seed-country-mismatch': { 'ip.geo_country': 'BR', 'txn.amount_usd': 300 },
  'seed-new-account-device': { 'payer.account_age_days': 10, 'features.device_age_days': 0, 'txn.amount_usd': 150 },
  'seed-many-devices': { 'user.distinct_devices_7d': 6, 'features.is_new_device': true },
  'seed-dormant-account': { 'time.since_last_txn_sec': 120 * DAY_SECONDS, 'txn.amount_usd': 400 },
}

const rules = SEEDED_RULES.map(({ rule_id, condition }) => ({ rule_id, condition }))

function evaluate(condition: string, facts: FactsByName) {
  const compiled = compileCondition(condition)
  if (!compiled.ok) throw new Error(compiled.faults.map(({ message }) => message).join(' '))
  return compiled.condition.evaluate(factsOf(facts), NO_LISTS)
}

test('there are 20 seeded rules, in order of precedence', () => {
  expect(SEEDED_RULES).toHaveLength(20)
  expect(new Set(SEEDED_RULES.map(({ rule_id }) => rule_id)).size).toBe(20)
  expect([...SEEDED_RULES].sort(byPrecedence)).toEqual(SEEDED_RULES)
  expect(Object.keys(EXAMPLES).sort()).toEqual(SEEDED_RULES.map(({ rule_id }) => rule_id).sort())
})

test.each(rules)('$rule_id matches its example and does not match a normal payment', ({ rule_id, condition }) => {
  expect(evaluate(condition, { ...NORMAL, ...EXAMPLES[rule_id] })).toBe(true)
  expect(evaluate(condition, NORMAL)).toBe(false)
})

test.each(rules)('if a request from a new user has only the required fields, $rule_id does not match it', ({ condition }) => {
  expect(evaluate(condition, { 'txn.amount': 20, 'txn.amount_usd': 20, 'payer.user_id': 'u1' })).not.toBe(true)
})
