import { expect, test } from 'vitest'
import { compileCondition } from '../../../../schemas/fraud/rules/compile.ts'
import { factOf, factsOf, MAX_STRING_CHARACTERS, NO_LISTS } from '../../../../schemas/fraud/rules/facts.ts'
import { FIELDS, type FieldName, fieldOf, slotOf } from '../../../../schemas/fraud/rules/fields.ts'
import { factsOfTransaction } from '../../../../schemas/fraud/rules/read-facts.ts'

/** Example field names from the contract, including fields of profiles and of the feature record. */
const PUBLISHED_NAMES = [
  ...['txn.amount', 'payer.account_age_days', 'payer.country', 'velocity.user.txn_count_1h', 'velocity.user.txn_sum_1h'],
  ...['geo.distance_from_last_txn_km', 'time.since_last_txn_sec', 'device.distinct_users_24h', 'payment.bin_country'],
  ...['user.lifetime_txn_count', 'user.lifetime_txn_sum', 'user.avg_txn_amount', 'user.txn_count_1h', 'user.txn_count_24h'],
  ...['user.txn_sum_24h', 'user.distinct_devices_7d', 'user.distinct_ips_24h', 'user.distinct_merchants_7d', 'user.last_txn_ts'],
  ...['user.risk_tier', 'user.fraud_history_count', 'device.first_seen', 'device.txn_count_24h', 'device.fraud_assoc_count'],
  ...['ip.geo_country', 'ip.is_vpn', 'ip.is_tor', 'ip.is_datacenter', 'ip.txn_count_1h'],
  ...['features.user_velocity_1h', 'features.user_velocity_24h', 'features.amount_zscore', 'features.geo_distance_km'],
  ...['features.device_age_days', 'features.is_new_merchant', 'features.time_since_last_txn_s', 'features.session_risk_score'],
]

test.each(PUBLISHED_NAMES)('%s is a field', (name) => {
  expect(fieldOf(name)).toBeDefined()
})

test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'txn.__proto__', 'features.__proto__', ''])(
  '%j is not a field',
  (name) => {
    expect(fieldOf(name)).toBeUndefined()
  },
)

test('each field has its own slot and a description', () => {
  expect(FIELDS.map(({ slot }) => slot)).toEqual(FIELDS.map((_, index) => index))
  expect(new Set(FIELDS.map(({ name }) => name)).size).toBe(FIELDS.length)
  expect(FIELDS.filter(({ description }) => description === '')).toEqual([])
})

test('an alias reads the slot of its field', () => {
  expect(fieldOf('features.user_velocity_1h')).toBe(fieldOf('velocity.user.txn_count_1h'))
  expect(fieldOf('user.txn_count_1h')).toBe(fieldOf('velocity.user.txn_count_1h'))
})

const NUMBER = fieldOf('txn.amount')!
const STRING = fieldOf('device.user_agent')!
const BOOLEAN = fieldOf('ip.is_tor')!

test.each([
  [NUMBER, Number.NaN],
  [NUMBER, Number.POSITIVE_INFINITY],
  [NUMBER, '1'],
  [NUMBER, null],
  [NUMBER, undefined],
  [NUMBER, { valueOf: (): number => 1 }],
  [STRING, 1],
  [STRING, ['a']],
  [BOOLEAN, 'true'],
  [BOOLEAN, 0],
])('for $name, the value $1 counts as missing', (field, value) => {
  expect(factOf(field, value)).toBeUndefined()
})

test('a string above the maximum length is truncated, but not within a surrogate pair', () => {
  expect(factOf(STRING, 'a'.repeat(MAX_STRING_CHARACTERS + 1))).toBe('a'.repeat(MAX_STRING_CHARACTERS))
  expect(factOf(STRING, `${'a'.repeat(MAX_STRING_CHARACTERS - 1)}😀`)).toBe('a'.repeat(MAX_STRING_CHARACTERS - 1))
})

const TRANSACTION = {
  request: {
    transaction_id: 't1',
    timestamp: Date.UTC(2026, 0, 4, 13, 30),
    amount: 20,
    currency: 'EUR',
    transaction_type: 'PURCHASE',
    payer: { user_id: 'u1', email_hash: null, country: 'DE' },
    payee: {},
    payment_instrument: { bin_country: 'FR' },
    device: { lat: 48.1, lng: null },
    session: null,
  },
  ip: { geo_country: 'DE', is_tor: false, is_vpn: null },
  features: { amount_usd: 22, user_velocity_1h: 3, device_age_days: 1, time_since_last_txn_s: 60, amount_zscore: Number.NaN },
}

test('facts are read from the parts of a scored transaction', () => {
  const facts = factsOfTransaction(TRANSACTION)
  const present = FIELDS.filter(({ slot }) => facts[slot] !== undefined).map(({ name, slot }) => [name, facts[slot]])
  expect(Object.fromEntries(present)).toEqual({
    'txn.transaction_id': 't1',
    'txn.timestamp': TRANSACTION.request.timestamp / 1_000,
    'txn.amount': 20,
    'txn.amount_usd': 22,
    'txn.currency': 'EUR',
    'txn.transaction_type': 'PURCHASE',
    'payer.user_id': 'u1',
    'payer.country': 'DE',
    'payment.bin_country': 'FR',
    'device.geo_location.lat': 48.1,
    'device.first_seen': TRANSACTION.request.timestamp / 1_000 - 86_400,
    'user.last_txn_ts': TRANSACTION.request.timestamp / 1_000 - 60,
    'ip.geo_country': 'DE',
    'ip.is_tor': false,
    'velocity.user.txn_count_1h': 3,
    'time.since_last_txn_sec': 60,
    'time.hour_utc': 13,
    'time.weekday_utc': 0,
    'features.device_age_days': 1,
  })
})

test('a required field of a transaction is never missing', () => {
  const facts = factsOfTransaction(TRANSACTION)
  expect(FIELDS.filter(({ optional, slot }) => !optional && facts[slot] === undefined)).toEqual([])
})

test('the keys __proto__ and constructor in untrusted input are ignored and do not change the prototype of objects', () => {
  const polluted = JSON.parse('{"__proto__": {"txn.amount": 5}, "constructor": 1, "txn.amount": 2}')
  const facts = factsOf(polluted)
  expect(facts[slotOf('txn.amount')]).toBe(2)
  expect(({} as Record<FieldName, unknown>)['txn.amount']).toBeUndefined()
  expect(facts.length).toBe(FIELDS.length)
})

test('a list may have the name of a property that all objects inherit, such as __proto__', () => {
  const compiled = compileCondition("inList('__proto__', payer.user_id) OR inList('constructor', payer.user_id)")
  if (!compiled.ok) throw new Error('unexpected: the condition was refused')
  const facts = factsOf({ 'payer.user_id': 'u1' })
  expect(compiled.condition.evaluate(facts, NO_LISTS)).toBeUndefined()
  expect(compiled.condition.evaluate(facts, new Map([['__proto__', new Set(['u1'])]]))).toBe(true)
})
