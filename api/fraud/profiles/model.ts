import { z } from '@hono/zod-openapi'
import type { EntityKind } from '../../../schemas/fraud/entity.ts'
import { upToDate } from '../../../schemas/fraud/features/features.ts'
import { usdOf } from '../../../schemas/fraud/money.ts'
import { placeBefore } from '../../../schemas/fraud/profile/places.ts'
import { deviationOf, lastTimeOf, type Reading, sumsOf } from '../../../schemas/fraud/profile/read.ts'
import { countSeen } from '../../../schemas/fraud/profile/seen.ts'
import { DAY_MS, HOUR_MS, MONTH_MS, WEEK_MS } from '../../../schemas/fraud/profile/shape.ts'
import type { FraudIpFacts, FraudProfile } from '../../../schemas/fraud/types.ts'
import type { HeldEntity } from '../../../state/views/fraud/enrich.ts'

const count = z.int().min(0)
const usd = z.number().openapi({ description: 'Amount in USD.' })
const time = z.string().nullable().openapi({ format: 'date-time' })
const tier = z.enum(['NORMAL', 'ELEVATED', 'HIGH'])
const known = z.boolean().nullable()

const UserProfileSchema = z
  .object({
    user_id: z.string(),
    lifetime_txn_count: count,
    lifetime_txn_sum: usd,
    avg_txn_amount: usd.nullable(),
    stddev_txn_amount: usd,
    txn_count_1h: count,
    txn_count_24h: count,
    txn_sum_24h: usd,
    distinct_devices_7d: count,
    distinct_ips_24h: count,
    distinct_merchants_7d: count,
    last_txn_ts: time,
    last_txn_geo: z.object({ lat: z.number(), lng: z.number() }).nullable(),
    risk_tier: tier,
    fraud_history_count: count,
  })
  .openapi('UserProfile')

const DeviceProfileSchema = z
  .object({
    fingerprint_id: z.string(),
    first_seen: time,
    user_ids: z.array(z.string()).openapi({ description: 'Ids of the most recently seen users, at most 32.' }),
    txn_count_24h: count,
    fraud_assoc_count: count,
    risk_tier: tier,
  })
  .openapi('DeviceProfile')

const IpProfileSchema = z
  .object({
    ip_address: z.string(),
    geo_country: z.string().nullable(),
    is_vpn: known,
    is_tor: known,
    is_datacenter: known,
    user_ids_24h: z.array(z.string()).openapi({ description: 'Ids of the most recently seen users of the last 24 hours, at most 32.' }),
    distinct_users_24h: count,
    txn_count_1h: count,
    fraud_assoc_count: count,
  })
  .openapi('IpProfile')

const CardProfileSchema = z
  .object({
    card_hash: z.string(),
    first_seen: time,
    txn_count_1h: count,
    txn_count_24h: count,
    txn_sum_24h: usd,
    distinct_users_24h: count,
    distinct_merchants_24h: count,
    fraud_assoc_count: count,
  })
  .openapi('CardProfile')

const MerchantProfileSchema = z
  .object({
    merchant_id: z.string(),
    first_seen: time,
    txn_count_7d: count,
    txn_count_30d: count,
    avg_amount_30d: usd.nullable(),
    frauds_7d: count,
    frauds_30d: count,
    fraud_count: count,
  })
  .openapi('MerchantProfile')

export const ProfileSchema = z
  .union([UserProfileSchema, DeviceProfileSchema, IpProfileSchema, CardProfileSchema, MerchantProfileSchema])
  .openapi('Profile')

type ProfileJson = z.output<typeof ProfileSchema>

/** A value that is not the hash of any transaction id. With this value, no transaction is left out of the profile. */
const NO_TRANSACTION = -1

export interface ProfileOf {
  readonly kind: EntityKind
  readonly id: string
  readonly held: HeldEntity
  readonly ip: FraudIpFacts
  /** Epoch ms. */
  readonly now: number
}

/** Returns a profile in its documented form; undefined if nothing is known about the entity. */
export function profileJson({ kind, id, held, ip, now }: ProfileOf): ProfileJson | undefined {
  const profile = upToDate(kind, held, NO_TRANSACTION)
  if (profile.txn_count === 0 && profile.fraud_count === 0) return undefined
  const reading: Reading = { t: Math.max(now, profile.newest_at), id: NO_TRANSACTION }
  switch (kind) {
    case 'user':
      return userJson(id, profile, reading)
    case 'device':
      return deviceJson(id, profile, reading)
    case 'ip':
      return ipJson(id, profile, reading, ip)
    case 'card':
      return cardJson(id, profile, reading)
    case 'merchant':
      return merchantJson(id, profile, reading)
  }
}

function userJson(user_id: string, profile: FraudProfile, reading: Reading): z.output<typeof UserProfileSchema> {
  const [hour, day] = sumsOf(profile, reading, [HOUR_MS, DAY_MS])
  const place = placeBefore(profile.places, reading.t)
  return {
    user_id,
    lifetime_txn_count: profile.txn_count,
    lifetime_txn_sum: usdOf(profile.txn_units),
    avg_txn_amount: profile.txn_count === 0 ? null : profile.mean_usd,
    stddev_txn_amount: deviationOf(profile),
    txn_count_1h: hour.count,
    txn_count_24h: day.count,
    txn_sum_24h: usdOf(day.units),
    distinct_devices_7d: countSeen(profile.devices, reading.t, WEEK_MS),
    distinct_ips_24h: countSeen(profile.ips, reading.t, DAY_MS),
    distinct_merchants_7d: countSeen(profile.merchants, reading.t, WEEK_MS),
    last_txn_ts: isoTime(lastTimeOf(profile, reading) ?? profile.newest_at),
    last_txn_geo: place === undefined ? null : { lat: place.lat, lng: place.lng },
    risk_tier: profile.tier,
    fraud_history_count: profile.fraud_count,
  }
}

function deviceJson(fingerprint_id: string, profile: FraudProfile, reading: Reading): z.output<typeof DeviceProfileSchema> {
  const [day] = sumsOf(profile, reading, [DAY_MS])
  return {
    fingerprint_id,
    first_seen: isoTime(profile.first_seen),
    user_ids: profile.user_ids.map(({ user_id }) => user_id),
    txn_count_24h: day.count,
    fraud_assoc_count: profile.fraud_count,
    risk_tier: profile.tier,
  }
}

function ipJson(ip_address: string, profile: FraudProfile, reading: Reading, ip: FraudIpFacts): z.output<typeof IpProfileSchema> {
  const [hour] = sumsOf(profile, reading, [HOUR_MS])
  const users = profile.user_ids.filter(({ last_at }) => last_at > reading.t - DAY_MS)
  return {
    ip_address,
    ...ip,
    user_ids_24h: users.map(({ user_id }) => user_id),
    distinct_users_24h: countSeen(profile.users, reading.t, DAY_MS),
    txn_count_1h: hour.count,
    fraud_assoc_count: profile.fraud_count,
  }
}

function cardJson(card_hash: string, profile: FraudProfile, reading: Reading): z.output<typeof CardProfileSchema> {
  const [hour, day] = sumsOf(profile, reading, [HOUR_MS, DAY_MS])
  return {
    card_hash,
    first_seen: isoTime(profile.first_seen),
    txn_count_1h: hour.count,
    txn_count_24h: day.count,
    txn_sum_24h: usdOf(day.units),
    distinct_users_24h: countSeen(profile.users, reading.t, DAY_MS),
    distinct_merchants_24h: countSeen(profile.merchants, reading.t, DAY_MS),
    fraud_assoc_count: profile.fraud_count,
  }
}

function merchantJson(merchant_id: string, profile: FraudProfile, reading: Reading): z.output<typeof MerchantProfileSchema> {
  const [week, month] = sumsOf(profile, reading, [WEEK_MS, MONTH_MS])
  return {
    merchant_id,
    first_seen: isoTime(profile.first_seen),
    txn_count_7d: week.count,
    txn_count_30d: month.count,
    avg_amount_30d: month.count === 0 ? null : usdOf(month.units / month.count),
    frauds_7d: Math.max(0, week.frauds),
    frauds_30d: Math.max(0, month.frauds),
    fraud_count: profile.fraud_count,
  }
}

function isoTime(at: number): string | null {
  return at === 0 ? null : new Date(at).toISOString()
}
