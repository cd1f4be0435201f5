import type { FraudFeatures, FraudIpFacts, FraudRequest } from '../types.ts'

export type FieldValue = number | string | boolean

const SECOND_MS = 1_000

/**
 * Returns the value of every field that rules can read, by its dotted name; null: missing. A logged transaction has all
 * of the arguments, so its rules can be evaluated again.
 */
export function fieldsOf(request: FraudRequest, ip: FraudIpFacts, features: FraudFeatures) {
  const { payer, payee, payment_instrument, device, session } = request
  const date = new Date(request.timestamp)
  return {
    'txn.transaction_id': request.transaction_id,
    'txn.timestamp': request.timestamp / SECOND_MS,
    'txn.amount': request.amount,
    'txn.amount_usd': features.amount_usd,
    'txn.currency': request.currency,
    'txn.transaction_type': request.transaction_type,

    'payer.user_id': payer.user_id,
    'payer.email_hash': payer.email_hash,
    'payer.phone_hash': payer.phone_hash,
    'payer.account_age_days': payer.account_age_days,
    'payer.country': payer.country,

    'payee.merchant_id': payee.merchant_id,
    'payee.merchant_category': payee.merchant_category,
    'payee.merchant_country': payee.merchant_country,

    'payment.type': payment_instrument.type,
    'payment.card_hash': payment_instrument.card_hash,
    'payment.issuer_bank': payment_instrument.issuer_bank,
    'payment.bin_country': payment_instrument.bin_country,

    'device.fingerprint_id': device.fingerprint_id,
    'device.ip_address': device.ip_address,
    'device.user_agent': device.user_agent,
    'device.geo_location.lat': device.lat,
    'device.geo_location.lng': device.lng,
    'device.first_seen': seconds(features.device_first_seen),
    'device.txn_count_24h': features.device_velocity_24h,
    'device.distinct_users_24h': features.device_distinct_users_24h,
    'device.distinct_users_7d': features.device_distinct_users_7d,
    'device.distinct_cards_24h': features.device_distinct_cards_24h,
    'device.fraud_assoc_count': features.device_fraud_assoc_count,
    'device.risk_tier': features.device_risk_tier,
    'device.is_new_for_user': features.is_new_device,

    'session.session_id': session.session_id,
    'session.login_method': session.login_method,
    'session.time_since_login_sec': session.time_since_login_sec,

    'user.lifetime_txn_count': features.user_txn_count,
    'user.lifetime_txn_sum': features.user_txn_sum,
    'user.avg_txn_amount': features.user_avg_amount,
    'user.txn_count_1h': features.user_velocity_1h,
    'user.txn_count_24h': features.user_velocity_24h,
    'user.txn_sum_24h': features.user_sum_24h,
    'user.distinct_devices_7d': features.user_distinct_devices_7d,
    'user.distinct_ips_24h': features.user_distinct_ips_24h,
    'user.distinct_cards_24h': features.user_distinct_cards_24h,
    'user.distinct_merchants_7d': features.user_distinct_merchants_7d,
    'user.last_txn_ts': seconds(features.user_last_txn_at),
    'user.last_txn_geo.lat': features.user_last_lat,
    'user.last_txn_geo.lng': features.user_last_lng,
    'user.risk_tier': features.user_risk_tier,
    'user.fraud_history_count': features.user_fraud_history_count,

    'ip.geo_country': ip.geo_country,
    'ip.is_vpn': ip.is_vpn,
    'ip.is_tor': ip.is_tor,
    'ip.is_datacenter': ip.is_datacenter,
    'ip.distinct_users_24h': features.ip_distinct_users_24h,
    'ip.distinct_devices_24h': features.ip_distinct_devices_24h,
    'ip.distinct_cards_24h': features.ip_distinct_cards_24h,
    'ip.fraud_assoc_count': features.ip_fraud_assoc_count,
    'ip.txn_count_1h': features.ip_velocity_1h,

    'card.age_days': features.card_age_days,
    'card.distinct_users_24h': features.card_distinct_users_24h,
    'card.distinct_devices_24h': features.card_distinct_devices_24h,
    'card.distinct_ips_24h': features.card_distinct_ips_24h,
    'card.distinct_merchants_24h': features.card_distinct_merchants_24h,
    'card.fraud_assoc_count': features.card_fraud_assoc_count,

    'merchant.txn_count_7d': features.merchant_txn_count_7d,
    'merchant.txn_count_30d': features.merchant_txn_count_30d,
    'merchant.txn_sum_7d': features.merchant_txn_sum_7d,
    'merchant.txn_sum_30d': features.merchant_txn_sum_30d,
    'merchant.avg_amount_30d': features.merchant_avg_amount_30d,
    'merchant.fraud_rate_7d': features.merchant_fraud_rate_7d,
    'merchant.fraud_rate_30d': features.merchant_fraud_rate_30d,
    'merchant.fraud_count': features.merchant_fraud_count,

    'velocity.user.txn_count_1h': features.user_velocity_1h,
    'velocity.user.txn_sum_1h': features.user_sum_1h,
    'velocity.user.txn_count_24h': features.user_velocity_24h,
    'velocity.user.txn_sum_24h': features.user_sum_24h,
    'velocity.user.txn_count_7d': features.user_velocity_7d,
    'velocity.user.txn_sum_7d': features.user_sum_7d,
    'velocity.device.txn_count_1h': features.device_velocity_1h,
    'velocity.device.txn_sum_1h': features.device_sum_1h,
    'velocity.device.txn_count_24h': features.device_velocity_24h,
    'velocity.device.txn_sum_24h': features.device_sum_24h,
    'velocity.device.txn_count_7d': features.device_velocity_7d,
    'velocity.device.txn_sum_7d': features.device_sum_7d,
    'velocity.ip.txn_count_1h': features.ip_velocity_1h,
    'velocity.ip.txn_sum_1h': features.ip_sum_1h,
    'velocity.ip.txn_count_24h': features.ip_velocity_24h,
    'velocity.ip.txn_sum_24h': features.ip_sum_24h,
    'velocity.ip.txn_count_7d': features.ip_velocity_7d,
    'velocity.ip.txn_sum_7d': features.ip_sum_7d,
    'velocity.card.txn_count_1h': features.card_velocity_1h,
    'velocity.card.txn_sum_1h': features.card_sum_1h,
    'velocity.card.txn_count_24h': features.card_velocity_24h,
    'velocity.card.txn_sum_24h': features.card_sum_24h,
    'velocity.card.txn_count_7d': features.card_velocity_7d,
    'velocity.card.txn_sum_7d': features.card_sum_7d,

    'geo.distance_from_last_txn_km': features.geo_distance_km,
    'geo.impossible_travel': features.geo_impossible_travel,
    'geo.impossible_travel_severity': features.geo_travel_severity,
    'time.since_last_txn_sec': features.time_since_last_txn_s,
    'time.hour_utc': date.getUTCHours(),
    'time.weekday_utc': date.getUTCDay() || SUNDAY,

    'features.amount_zscore': features.amount_zscore,
    'features.device_age_days': features.device_age_days,
    'features.is_new_merchant': features.is_new_merchant,
    'features.session_risk_score': features.session_risk_score,
  } satisfies Record<string, FieldValue | null>
}

/** Days of the week are counted from Monday, 1. */
const SUNDAY = 7

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / SECOND_MS
}
