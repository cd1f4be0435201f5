import type { Field, FieldType, ScoredTransaction, Source } from './field.ts'

/** A field's type, source and meaning, and `required` if every transaction has the field. */
type Entry = readonly [type: FieldType, source: Source, description: string, required?: 'required']

const MS_PER_SECOND = 1_000
const SECONDS_PER_DAY = 86_400

const velocityOf = <Entity extends string>(entity: Entity, whose: string) => {
  const windows = [
    ['1h', 'in the previous hour'],
    ['24h', 'in the previous 24 hours'],
    ['7d', 'in the previous 7 days'],
  ] as const
  type Window = (typeof windows)[number][0]
  type Name = `velocity.${Entity}.txn_${'count' | 'sum'}_${Window}`
  const entries = windows.flatMap(([window, time]): [string, Entry][] => [
    [`velocity.${entity}.txn_count_${window}`, ['number', `features.${entity}_velocity_${window}`, `transactions ${whose} ${time}`]],
    [`velocity.${entity}.txn_sum_${window}`, ['number', `features.${entity}_sum_${window}`, `sum in USD of transactions ${whose} ${time}`]],
  ])
  return Object.fromEntries(entries) as Record<Name, Entry>
}

/**
 * All fields that a condition can read; see docs/services/fraud.md#fields. Their sources are logged in `txn.scored`, so
 * a back-test reads the same values as the live evaluation. Model scores are not included, because models run at the
 * same time as rules.
 */
const ENTRIES = {
  'txn.transaction_id': ['string', 'request.transaction_id', 'the id that the caller gave the transaction', 'required'],
  'txn.timestamp': ['number', secondsOfTimestamp, 'seconds since 1970', 'required'],
  'txn.amount': ['number', 'request.amount', 'in the currency of the transaction', 'required'],
  'txn.amount_usd': ['number', 'features.amount_usd', 'the amount in USD', 'required'],
  'txn.currency': ['currency', 'request.currency', 'ISO 4217 code', 'required'],
  'txn.transaction_type': ['string', 'request.transaction_type', 'such as PURCHASE', 'required'],

  'payer.user_id': ['string', 'request.payer.user_id', 'id of the user who pays', 'required'],
  'payer.email_hash': ['string', 'request.payer.email_hash', 'keyed hash of the e-mail address'],
  'payer.phone_hash': ['string', 'request.payer.phone_hash', 'keyed hash of the phone number'],
  'payer.account_age_days': ['number', 'request.payer.account_age_days', 'days since the account was opened'],
  'payer.country': ['country', 'request.payer.country', 'country that the caller gives for the payer'],

  'payee.merchant_id': ['string', 'request.payee.merchant_id', 'id of the merchant'],
  'payee.merchant_category': ['string', 'request.payee.merchant_category', 'category of the merchant'],
  'payee.merchant_country': ['country', 'request.payee.merchant_country', 'country of the merchant'],

  'payment.type': ['string', 'request.payment_instrument.type', 'such as CREDIT_CARD'],
  'payment.card_hash': ['string', 'request.payment_instrument.card_hash', 'token of the card'],
  'payment.issuer_bank': ['string', 'request.payment_instrument.issuer_bank', 'bank that issued the card'],
  'payment.bin_country': ['country', 'request.payment_instrument.bin_country', 'country of the card, by its first digits'],

  'device.fingerprint_id': ['string', 'request.device.fingerprint_id', 'id of the device'],
  'device.ip_address': ['ip', 'request.device.ip_address', 'address of the device'],
  'device.user_agent': ['string', 'request.device.user_agent', 'user agent of the device'],
  'device.geo_location.lat': ['number', 'request.device.lat', 'degrees north'],
  'device.geo_location.lng': ['number', 'request.device.lng', 'degrees east'],
  'device.first_seen': ['number', secondsOfFirstSeen, 'time when the device was first seen, in seconds since 1970'],
  'device.distinct_users_24h': ['number', 'features.device_distinct_users_24h', 'different users of the device in 24 hours'],
  'device.distinct_users_7d': ['number', 'features.device_distinct_users_7d', 'different users of the device in 7 days'],
  'device.distinct_cards_24h': ['number', 'features.device_distinct_cards_24h', 'different cards on the device in 24 hours'],
  'device.fraud_assoc_count': ['number', 'features.device_fraud_assoc_count', 'confirmed frauds with the device'],
  'device.risk_tier': ['tier', 'features.device_risk_tier', 'NORMAL, ELEVATED or HIGH'],

  'session.session_id': ['string', 'request.session.session_id', 'id of the session'],
  'session.login_method': ['string', 'request.session.login_method', 'as the caller names it'],
  'session.time_since_login_sec': ['number', 'request.session.time_since_login_sec', 'seconds since the user signed in'],

  'user.lifetime_txn_count': ['number', 'features.user_txn_count', "the user's transactions so far"],
  'user.lifetime_txn_sum': ['number', 'features.user_txn_sum', "sum of the user's amounts so far in USD"],
  'user.avg_txn_amount': ['number', 'features.user_avg_amount', "mean of the user's amounts in USD"],
  'user.stddev_txn_amount': ['number', 'features.user_stddev_amount', "standard deviation of the user's amounts in USD"],
  'user.distinct_devices_7d': ['number', 'features.user_distinct_devices_7d', 'different devices of the user in 7 days'],
  'user.distinct_ips_24h': ['number', 'features.user_distinct_ips_24h', 'different IP addresses of the user in 24 hours'],
  'user.distinct_cards_24h': ['number', 'features.user_distinct_cards_24h', 'different cards of the user in 24 hours'],
  'user.distinct_merchants_7d': ['number', 'features.user_distinct_merchants_7d', 'different merchants of the user in 7 days'],
  'user.last_txn_ts': ['number', secondsOfLastTransaction, "time of the user's previous transaction, in seconds since 1970"],
  'user.risk_tier': ['tier', 'features.user_risk_tier', 'NORMAL, ELEVATED or HIGH'],
  'user.fraud_history_count': ['number', 'features.user_fraud_history_count', 'confirmed frauds of the user'],

  'ip.geo_country': ['country', 'ip.geo_country', 'country of the IP address'],
  'ip.is_vpn': ['boolean', 'ip.is_vpn', 'whether the address belongs to a VPN'],
  'ip.is_tor': ['boolean', 'ip.is_tor', 'whether the address is a Tor exit'],
  'ip.is_datacenter': ['boolean', 'ip.is_datacenter', 'whether the address belongs to a data centre'],
  'ip.distinct_users_24h': ['number', 'features.ip_distinct_users_24h', 'different users of the address in 24 hours'],
  'ip.distinct_devices_24h': ['number', 'features.ip_distinct_devices_24h', 'different devices at the address in 24 hours'],
  'ip.distinct_cards_24h': ['number', 'features.ip_distinct_cards_24h', 'different cards from the address in 24 hours'],
  'ip.fraud_assoc_count': ['number', 'features.ip_fraud_assoc_count', 'confirmed frauds from the address'],

  'card.age_days': ['number', 'features.card_age_days', 'days since the card was first seen'],
  'card.distinct_users_24h': ['number', 'features.card_distinct_users_24h', 'different users of the card in 24 hours'],
  'card.distinct_devices_24h': ['number', 'features.card_distinct_devices_24h', 'different devices that used the card in 24 hours'],
  'card.distinct_ips_24h': ['number', 'features.card_distinct_ips_24h', 'different IP addresses that used the card in 24 hours'],
  'card.distinct_merchants_24h': ['number', 'features.card_distinct_merchants_24h', 'different merchants of the card in 24 hours'],
  'card.fraud_assoc_count': ['number', 'features.card_fraud_assoc_count', 'confirmed frauds with the card'],

  'merchant.txn_count_7d': ['number', 'features.merchant_txn_count_7d', 'transactions of the merchant in 7 days'],
  'merchant.txn_count_30d': ['number', 'features.merchant_txn_count_30d', 'transactions of the merchant in 30 days'],
  'merchant.avg_amount_30d': ['number', 'features.merchant_avg_amount_30d', "mean of the merchant's amounts in USD in 30 days"],
  'merchant.fraud_rate_7d': ['number', 'features.merchant_fraud_rate_7d', 'share of confirmed frauds in 7 days, 0 to 1'],
  'merchant.fraud_rate_30d': ['number', 'features.merchant_fraud_rate_30d', 'share of confirmed frauds in 30 days, 0 to 1'],
  'merchant.fraud_count': ['number', 'features.merchant_fraud_count', 'confirmed frauds at the merchant'],

  ...velocityOf('user', 'by the user'),
  ...velocityOf('device', 'from the device'),
  ...velocityOf('ip', 'from the IP address'),
  ...velocityOf('card', 'with the card'),

  'geo.distance_from_last_txn_km': ['number', 'features.geo_distance_km', "kilometres from the user's last known location"],
  'geo.impossible_travel': [
    'boolean',
    'features.geo_impossible_travel',
    'whether the distance exceeds 100 km and cannot be covered at 900 km/h in the elapsed time',
  ],
  'geo.travel_severity': [
    'number',
    'features.geo_travel_severity',
    'distance / (900 km/h × the elapsed hours), at most 1; 0 if the distance is at most 100 km',
  ],
  'time.since_last_txn_sec': ['number', 'features.time_since_last_txn_s', "seconds since the user's previous transaction"],
  'time.hour_utc': ['number', (transaction) => dateOf(transaction).getUTCHours(), 'hour of the day in UTC, 0 to 23', 'required'],
  'time.weekday_utc': ['number', (transaction) => dateOf(transaction).getUTCDay(), 'day of the week in UTC, 0 (Sunday) to 6', 'required'],

  'features.amount_zscore': [
    'number',
    'features.amount_zscore',
    "(amount - user's mean) / user's standard deviation; 0 if the deviation is 0",
  ],
  'features.device_age_days': ['number', 'features.device_age_days', 'days since the device was first seen'],
  'features.is_new_device': [
    'boolean',
    'features.is_new_device',
    'whether no transaction of the user, approved or not, used this device in the previous 90 days',
  ],
  'features.is_new_merchant': [
    'boolean',
    'features.is_new_merchant',
    'whether no transaction of the user, approved or not, went to this merchant in the previous 90 days',
  ],
  'features.session_risk_score': ['number', 'features.session_risk_score', 'risk of the session, 0 to 1'],
} satisfies Record<string, Entry>

/** The name of a field, without aliases. */
export type FieldName = keyof typeof ENTRIES

/** Names of profile fields that are aliases of fields above. A condition may use either name. */
const PROFILE_ALIASES: readonly (readonly [alias: string, name: FieldName])[] = [
  ['user.txn_count_1h', 'velocity.user.txn_count_1h'],
  ['user.txn_count_24h', 'velocity.user.txn_count_24h'],
  ['user.txn_sum_24h', 'velocity.user.txn_sum_24h'],
  ['device.txn_count_24h', 'velocity.device.txn_count_24h'],
  ['ip.txn_count_1h', 'velocity.ip.txn_count_1h'],
]

/** Field names that authors may try although rules cannot read them, each with the reason. */
export const REFUSED_FIELDS: ReadonlyMap<string, string> = new Map([
  ...['ml_scores.account_takeover', 'ml_scores.payment_fraud', 'ml_scores.money_laundering'].map((name): [string, string] => [
    name,
    'rules cannot read model scores, because models run at the same time as rules',
  ]),
  ['txn.risk_score', 'rules cannot read the risk score, because the score depends on the rules'],
  ['payer.email', 'e-mail addresses are kept only as hashes; use payer.email_hash'],
  ['payer.phone', 'phone numbers are kept only as hashes; use payer.phone_hash'],
  ['device.user_ids', 'rules can read only the number of users; use device.distinct_users_24h'],
  ['user.last_txn_geo', 'locations of earlier transactions are not logged; use geo.distance_from_last_txn_km'],
  ['ip.user_ids_24h', 'rules can read only the number of users; use ip.distinct_users_24h'],
])

/** All fields in the order of their slots. */
export const FIELDS: readonly Field[] = Object.entries<Entry>(ENTRIES).map(([name, [type, source, description, required]], slot) => ({
  name,
  type,
  optional: required === undefined,
  description,
  slot,
  source,
}))

/** Every feature can also be read as `features.<its name in the feature record>`. */
const featureNames = FIELDS.flatMap((field): [string, Field][] =>
  typeof field.source === 'string' && field.source.startsWith('features.') ? [[field.source, field]] : [],
)
const ownNames = new Map(FIELDS.map((field) => [field.name, field]))
const profileNames = PROFILE_ALIASES.map(([alias, name]): [string, Field] => [alias, ownNames.get(name)!])

const byName: ReadonlyMap<string, Field> = new Map([...ownNames, ...profileNames, ...featureNames])

/** Every name that a condition may use. Aliases are last, so that suggestions prefer a field's own name. */
export const FIELD_NAMES: readonly string[] = [...byName.keys()]

/** Returns the field with this name or alias; undefined if there is none. */
export function fieldOf(name: string): Field | undefined {
  return byName.get(name)
}

/** Returns the index of a field's value in a row of facts. */
export function slotOf(name: FieldName): number {
  return byName.get(name)!.slot
}

function secondsOfTimestamp({ request }: ScoredTransaction): number {
  return request.timestamp / MS_PER_SECOND
}

function secondsOfFirstSeen({ request, features }: ScoredTransaction): number | undefined {
  const age = features.device_age_days
  return isPresent(age) ? request.timestamp / MS_PER_SECOND - age * SECONDS_PER_DAY : undefined
}

function secondsOfLastTransaction({ request, features }: ScoredTransaction): number | undefined {
  const elapsed = features.time_since_last_txn_s
  return isPresent(elapsed) ? request.timestamp / MS_PER_SECOND - elapsed : undefined
}

function dateOf({ request }: ScoredTransaction): Date {
  return new Date(request.timestamp)
}

function isPresent(value: number | null | undefined): value is number {
  return value !== undefined && value !== null
}
