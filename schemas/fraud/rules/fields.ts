/** The type of a field's values. The last four are strings of a known form, so that the check finds wrong literals. */
export type FieldType = 'number' | 'boolean' | 'string' | 'country' | 'currency' | 'ip' | 'tier'

export type FieldValue = number | string | boolean

export interface Field {
  /** The dotted name in conditions. */
  readonly name: string
  readonly type: FieldType
  /** True if some transactions lack the field. */
  readonly optional: boolean
  /** The unit or meaning, for people who write rules. */
  readonly description: string
  /** The index of the value in a row of facts. */
  readonly slot: number
}

/** Type, description, and `required` if every transaction has the field. */
type Entry = readonly [type: FieldType, description: string, required?: 'required']

const velocityOf = <Entity extends string>(entity: Entity, whose: string) => {
  const windows = [
    ['1h', 'in the hour'],
    ['24h', 'in the 24 hours'],
    ['7d', 'in the 7 days'],
  ] as const
  type Window = (typeof windows)[number][0]
  type Name = `velocity.${Entity}.txn_${'count' | 'sum'}_${Window}`
  const entries = windows.flatMap(([window, time]): [string, Entry][] => [
    [`velocity.${entity}.txn_count_${window}`, ['number', `transactions ${whose} ${time} before this one`]],
    [`velocity.${entity}.txn_sum_${window}`, ['number', `USD spent ${whose} ${time} before this one`]],
  ])
  return Object.fromEntries(entries) as Record<Name, Entry>
}

/**
 * All fields that a condition can read: docs/services/fraud.md#fields. Model scores are missing on purpose, because
 * models run at the same time as rules.
 */
const ENTRIES = {
  'txn.transaction_id': ['string', "the caller's id of the transaction", 'required'],
  'txn.timestamp': ['number', 'seconds since 1970', 'required'],
  'txn.amount': ['number', 'in the currency of the transaction', 'required'],
  'txn.amount_usd': ['number', 'the amount in USD', 'required'],
  'txn.currency': ['currency', 'ISO 4217 code', 'required'],
  'txn.transaction_type': ['string', 'such as PURCHASE', 'required'],

  'payer.user_id': ['string', 'id of the user who pays', 'required'],
  'payer.email_hash': ['string', 'keyed hash of the e-mail address'],
  'payer.email_domain': ['string', 'lower-case part of the e-mail address after the @'],
  'payer.phone_hash': ['string', 'keyed hash of the phone number'],
  'payer.account_age_days': ['number', 'days since the account was opened'],
  'payer.country': ['country', 'country that the caller gives for the payer'],

  'payee.merchant_id': ['string', 'id of the merchant'],
  'payee.merchant_category': ['string', 'category of the merchant'],
  'payee.merchant_country': ['country', 'country of the merchant'],

  'payment.type': ['string', 'such as CREDIT_CARD'],
  'payment.card_hash': ['string', 'token of the card'],
  'payment.issuer_bank': ['string', 'bank that issued the card'],
  'payment.bin_country': ['country', 'country of the card, by its first digits'],

  'device.fingerprint_id': ['string', 'id of the device'],
  'device.ip_address': ['ip', 'address of the device'],
  'device.user_agent': ['string', 'user agent of the device'],
  'device.geo_location.lat': ['number', 'degrees north'],
  'device.geo_location.lng': ['number', 'degrees east'],
  'device.first_seen': ['number', 'seconds since 1970 when the device was first seen'],
  'device.txn_count_24h': ['number', 'transactions of the device in the 24 hours before this one'],
  'device.distinct_users_24h': ['number', 'different users of the device in 24 hours, this one included'],
  'device.fraud_assoc_count': ['number', 'confirmed frauds with this device'],
  'device.risk_tier': ['tier', 'NORMAL, ELEVATED or HIGH'],

  'session.session_id': ['string', 'id of the session'],
  'session.login_method': ['string', 'such as PASSWORD'],
  'session.time_since_login_sec': ['number', 'seconds since the user signed in'],

  'user.lifetime_txn_count': ['number', 'transactions of the user so far'],
  'user.lifetime_txn_sum': ['number', 'USD that the user has spent so far'],
  'user.avg_txn_amount': ['number', "mean of the user's amounts in USD"],
  'user.txn_count_1h': ['number', 'transactions of the user in the hour before this one'],
  'user.txn_count_24h': ['number', 'transactions of the user in the 24 hours before this one'],
  'user.txn_sum_24h': ['number', 'USD that the user spent in the 24 hours before this one'],
  'user.distinct_devices_7d': ['number', 'different devices of the user in 7 days'],
  'user.distinct_ips_24h': ['number', 'different IP addresses of the user in 24 hours'],
  'user.distinct_merchants_7d': ['number', 'different merchants of the user in 7 days'],
  'user.last_txn_ts': ['number', 'seconds since 1970 of the previous transaction'],
  'user.last_txn_geo.lat': ['number', 'degrees north of the previous transaction'],
  'user.last_txn_geo.lng': ['number', 'degrees east of the previous transaction'],
  'user.risk_tier': ['tier', 'NORMAL, ELEVATED or HIGH'],
  'user.fraud_history_count': ['number', 'confirmed frauds of the user'],

  'ip.geo_country': ['country', 'country of the IP address'],
  'ip.is_vpn': ['boolean', 'whether the address belongs to a VPN'],
  'ip.is_tor': ['boolean', 'whether the address is a Tor exit'],
  'ip.is_datacenter': ['boolean', 'whether the address belongs to a data centre'],
  'ip.distinct_users_24h': ['number', 'different users of the address in 24 hours, this one included'],
  'ip.txn_count_1h': ['number', 'transactions from the address in the hour before this one'],

  'merchant.txn_count_7d': ['number', 'transactions of the merchant in the 7 days before this one'],
  'merchant.txn_count_30d': ['number', 'transactions of the merchant in the 30 days before this one'],
  'merchant.txn_sum_7d': ['number', "USD of the merchant's transactions in the 7 days before this one"],
  'merchant.txn_sum_30d': ['number', "USD of the merchant's transactions in the 30 days before this one"],
  'merchant.fraud_rate_7d': ['number', 'share of confirmed frauds in 7 days, 0 to 1'],
  'merchant.fraud_rate_30d': ['number', 'share of confirmed frauds in 30 days, 0 to 1'],

  ...velocityOf('user', 'of the user'),
  ...velocityOf('device', 'of the device'),
  ...velocityOf('ip', 'from the IP address'),
  ...velocityOf('card', 'of the card'),

  'geo.distance_from_last_txn_km': ['number', "kilometres from the user's previous transaction"],
  'geo.impossible_travel': ['boolean', 'whether the distance exceeds 100 km and 900 km per hour passed'],
  'geo.impossible_travel_severity': ['number', 'distance / (hours passed x 900 km), 0 to 1; 0 up to 100 km'],
  'time.since_last_txn_sec': ['number', "seconds since the user's previous transaction"],
  'time.hour_utc': ['number', 'hour of the day in UTC, 0 to 23', 'required'],
  'time.weekday_utc': ['number', 'day of the week in UTC, 1 (Monday) to 7', 'required'],

  'features.amount_zscore': ['number', "(amount - user's mean) / user's standard deviation; 0 if the deviation is 0"],
  'features.device_age_days': ['number', 'days since the device was first seen'],
  'features.is_new_merchant': ['boolean', 'whether the user has not paid this merchant for 90 days'],
  'features.session_risk_score': ['number', 'risk of the session, 0 to 1'],
} satisfies Record<string, Entry>

/** The name of a field, without aliases. */
export type FieldName = keyof typeof ENTRIES

/** Names of the feature record that mean a field above. A condition may use either name. */
const ALIASES: Readonly<Record<string, FieldName>> = {
  'features.user_velocity_1h': 'velocity.user.txn_count_1h',
  'features.user_velocity_24h': 'velocity.user.txn_count_24h',
  'features.geo_distance_km': 'geo.distance_from_last_txn_km',
  'features.time_since_last_txn_s': 'time.since_last_txn_sec',
}

/** Names that people try, with the reason why rules do not have them. */
export const REFUSED_FIELDS: ReadonlyMap<string, string> = new Map([
  ...['ml_scores.account_takeover', 'ml_scores.payment_fraud', 'ml_scores.money_laundering'].map((name): [string, string] => [
    name,
    'rules cannot read model scores, because models run at the same time',
  ]),
  ['txn.risk_score', 'rules cannot read the risk score, because it results from them'],
  ['payer.email', 'e-mail addresses are only kept as hashes: use payer.email_domain, or payer.email_hash'],
  ['payer.phone', 'phone numbers are only kept as hashes: use payer.phone_hash'],
  ['device.user_ids', 'profiles keep the number of users: use device.distinct_users_24h'],
  ['ip.user_ids_24h', 'profiles keep the number of users: use ip.distinct_users_24h'],
])

/** All fields in the order of their slots. */
export const FIELDS: readonly Field[] = Object.entries<Entry>(ENTRIES).map(([name, [type, description, required]], slot) => ({
  name,
  type,
  optional: required === undefined,
  description,
  slot,
}))

const byName: ReadonlyMap<string, Field> = new Map([
  ...FIELDS.map((field): [string, Field] => [field.name, field]),
  ...Object.entries(ALIASES).map(([alias, name]): [string, Field] => [alias, FIELDS.find((field) => field.name === name)!]),
])

/** Every name that a condition may use, aliases included. */
export const FIELD_NAMES: readonly string[] = [...byName.keys()]

/** Returns the field of a name or alias. */
export function fieldOf(name: string): Field | undefined {
  return byName.get(name)
}

/** Returns the index of a field's value in a row of facts. */
export function slotOf(name: FieldName): number {
  return byName.get(name)!.slot
}
