import { ENTITY_KINDS, type EntityKind } from '../entity.ts'
import type { FraudEvent } from '../event.ts'
import { type EntityIds, entitiesOf, eventsOf } from '../events.ts'
import { hash32, hash48 } from '../hash.ts'
import { unitsOf, usdOf } from '../money.ts'
import { hasEventWithin } from '../profile/events.ts'
import { type CountedSecond, foldEvents, foldSeconds, NEW_PROFILE } from '../profile/fold.ts'
import { placeBefore } from '../profile/places.ts'
import { deviationOf, lastTimeOf, type Reading, sumsOf } from '../profile/read.ts'
import { countSeen, wasSeen } from '../profile/seen.ts'
import { DAY_MS, HOUR_MS, KNOWN_MS, MONTH_MS, PROFILE_SHAPES, WEEK_MS } from '../profile/shape.ts'
import { withoutEvent } from '../profile/without.ts'
import type { FraudFeatures, FraudIpFacts, FraudProfile, FraudRequest } from '../types.ts'
import { sessionRisk } from './session-risk.ts'
import { travelBetween } from './travel.ts'

/** The result of looking up an entity. */
export interface Enrichment {
  /** The profile; undefined if the entity is known to have no history. */
  readonly profile: FraudProfile | undefined
  /** Transactions that were scored and may be missing from the profile. The current transaction may be among them. */
  readonly inFlight: readonly FraudEvent[]
  /** Counts and sums per second or minute, for entities that have too many transactions in flight to list them all. */
  readonly inFlightSeconds: readonly CountedSecond[]
}

/**
 * The lookup results for a transaction's entities. `failed`: the profile could not be read, so the features that depend
 * on it are missing. Undefined for an entity that the request does not name.
 */
export type Enrichments = Readonly<Record<EntityKind, Enrichment | 'failed' | undefined>>

export interface FeatureResult {
  readonly features: FraudFeatures
  /** Kinds of entities whose lookup has failed. */
  readonly failed: readonly EntityKind[]
}

/** An entity without history. */
export const NO_HISTORY: Enrichment = { profile: undefined, inFlight: [], inFlightSeconds: [] }

const SECOND_MS = 1_000
const VELOCITY_WINDOWS = [HOUR_MS, DAY_MS, WEEK_MS]
const MERCHANT_WINDOWS = [WEEK_MS, MONTH_MS]

/**
 * Computes all features of a transaction (see docs/services/fraud.md#features). The API and training both call this
 * function, so that their features cannot differ. Windows are (t − w, t], where t is the transaction's own timestamp.
 * They contain all transactions that were scored earlier, regardless of the decision. If an entity is not named or its
 * lookup has failed, the features that depend on the entity are missing (null).
 */
export function featuresOf(request: FraudRequest, ip: FraudIpFacts, enrichments: Enrichments): FeatureResult {
  const reading: Reading = { t: request.timestamp, id: hash48(request.transaction_id) }
  const ids = entitiesOf(request)
  const profiles = {} as Record<EntityKind, FraudProfile | undefined>
  const failed: EntityKind[] = []
  for (const kind of ENTITY_KINDS) {
    const enrichment = ids[kind] === null ? undefined : enrichments[kind]
    if (enrichment === 'failed') failed.push(kind)
    else profiles[kind] = enrichment && withoutOwn(kind, upToDate(kind, enrichment, reading.id))
  }

  /** Removes the current transaction from a profile. A profile may contain it if the request is repeated. */
  function withoutOwn(kind: EntityKind, profile: FraudProfile): FraudProfile {
    const { events } = profile
    if (!hasEventWithin(events, 0, events.length, reading.t, reading.id)) return profile
    return withoutEvent(profile, eventsOf(request).find((one) => one.kind === kind)!.event)
  }
  const amountUsd = usdOf(unitsOf(request.amount, request.currency))
  const user = userFeatures(profiles.user, { request, ids, amountUsd, reading })
  const features: FraudFeatures = {
    amount_usd: amountUsd,
    ...user,
    ...deviceFeatures(profiles.device, reading),
    ...ipFeatures(profiles.ip, reading),
    ...cardFeatures(profiles.card, reading),
    ...merchantFeatures(profiles.merchant, reading),
    session_risk_score: sessionRisk({
      loginMethod: request.session.login_method,
      secondsSinceLogin: request.session.time_since_login_sec,
      // The first device of a new user is always new, so a new device means nothing in this case.
      isNewDevice: user.user_txn_count === 0 && user.is_new_device ? false : user.is_new_device,
      ipCountry: ip.geo_country,
      cardCountry: request.payment_instrument.bin_country,
    }),
  }
  return { features, failed }
}

/**
 * Adds the transactions in flight to a profile. Skips transactions that the profile still contains individually.
 * @param id hash of the id of the current transaction, which is not added
 */
export function upToDate(kind: EntityKind, { profile = NEW_PROFILE, inFlight, inFlightSeconds }: Enrichment, id: number): FraudProfile {
  const shape = PROFILE_SHAPES[kind]
  const others = inFlight.filter((event) => event.id !== id)
  return foldSeconds(foldEvents(profile, shape, others), shape, inFlightSeconds)
}

interface UserContext {
  readonly request: FraudRequest
  readonly ids: EntityIds
  readonly amountUsd: number
  readonly reading: Reading
}

function userFeatures(profile: FraudProfile | undefined, { request, ids, amountUsd, reading }: UserContext) {
  const { t } = reading
  const [hour, day, week] = velocities(profile, reading)
  const deviation = profile && deviationOf(profile)
  const last = profile && lastTimeOf(profile, reading)
  const from = profile && placeBefore(profile.places, t)
  const { lat, lng } = request.device
  const travel = from && lat !== null && lng !== null ? travelBetween(from, { lat, lng }, t - from.at) : undefined
  const isNew = (rows: Buffer, id: string | null) => (id === null ? null : !wasSeen(rows, hash32(id), t, KNOWN_MS))
  return {
    user_velocity_1h: hour.count,
    user_velocity_24h: day.count,
    user_velocity_7d: week.count,
    user_sum_1h: hour.sum,
    user_sum_24h: day.sum,
    user_sum_7d: week.sum,
    amount_zscore: profile ? (deviation === 0 ? 0 : (amountUsd - profile.mean_usd) / deviation!) : null,
    user_txn_count: profile?.txn_count ?? null,
    user_txn_sum: profile ? usdOf(profile.txn_units) : null,
    user_avg_amount: profile && profile.txn_count > 0 ? profile.mean_usd : null,
    user_stddev_amount: deviation ?? null,
    user_distinct_devices_7d: profile ? countSeen(profile.devices, t, WEEK_MS) : null,
    user_distinct_ips_24h: profile ? countSeen(profile.ips, t, DAY_MS) : null,
    user_distinct_cards_24h: profile ? countSeen(profile.cards, t, DAY_MS) : null,
    user_distinct_merchants_7d: profile ? countSeen(profile.merchants, t, WEEK_MS) : null,
    user_risk_tier: profile?.tier ?? null,
    user_fraud_history_count: profile?.fraud_count ?? null,
    geo_distance_km: travel?.distanceKm ?? null,
    geo_travel_severity: travel?.severity ?? null,
    geo_impossible_travel: travel?.isImpossible ?? null,
    time_since_last_txn_s: last === undefined ? null : (t - last) / SECOND_MS,
    is_new_device: profile ? isNew(profile.devices, ids.device) : null,
    is_new_merchant: profile ? isNew(profile.merchants, ids.merchant) : null,
  }
}

function deviceFeatures(profile: FraudProfile | undefined, reading: Reading) {
  const [hour, day, week] = velocities(profile, reading)
  const { t } = reading
  return {
    device_velocity_1h: hour.count,
    device_velocity_24h: day.count,
    device_velocity_7d: week.count,
    device_sum_1h: hour.sum,
    device_sum_24h: day.sum,
    device_sum_7d: week.sum,
    device_age_days: profile ? ageInDays(profile, t) : null,
    device_distinct_users_24h: profile ? countSeen(profile.users, t, DAY_MS) : null,
    device_distinct_users_7d: profile ? countSeen(profile.users, t, WEEK_MS) : null,
    device_distinct_cards_24h: profile ? countSeen(profile.cards, t, DAY_MS) : null,
    device_risk_tier: profile?.tier ?? null,
    device_fraud_assoc_count: profile?.fraud_count ?? null,
  }
}

function ipFeatures(profile: FraudProfile | undefined, reading: Reading) {
  const [hour, day, week] = velocities(profile, reading)
  const { t } = reading
  return {
    ip_velocity_1h: hour.count,
    ip_velocity_24h: day.count,
    ip_velocity_7d: week.count,
    ip_sum_1h: hour.sum,
    ip_sum_24h: day.sum,
    ip_sum_7d: week.sum,
    ip_distinct_users_24h: profile ? countSeen(profile.users, t, DAY_MS) : null,
    ip_distinct_devices_24h: profile ? countSeen(profile.devices, t, DAY_MS) : null,
    ip_distinct_cards_24h: profile ? countSeen(profile.cards, t, DAY_MS) : null,
    ip_fraud_assoc_count: profile?.fraud_count ?? null,
  }
}

function cardFeatures(profile: FraudProfile | undefined, reading: Reading) {
  const [hour, day, week] = velocities(profile, reading)
  const { t } = reading
  return {
    card_velocity_1h: hour.count,
    card_velocity_24h: day.count,
    card_velocity_7d: week.count,
    card_sum_1h: hour.sum,
    card_sum_24h: day.sum,
    card_sum_7d: week.sum,
    card_age_days: profile ? ageInDays(profile, t) : null,
    card_distinct_users_24h: profile ? countSeen(profile.users, t, DAY_MS) : null,
    card_distinct_devices_24h: profile ? countSeen(profile.devices, t, DAY_MS) : null,
    card_distinct_ips_24h: profile ? countSeen(profile.ips, t, DAY_MS) : null,
    card_distinct_merchants_24h: profile ? countSeen(profile.merchants, t, DAY_MS) : null,
    card_fraud_assoc_count: profile?.fraud_count ?? null,
  }
}

function merchantFeatures(profile: FraudProfile | undefined, reading: Reading) {
  const [week, month] = profile ? sumsOf(profile, reading, MERCHANT_WINDOWS) : []
  return {
    merchant_txn_count_7d: week?.count ?? null,
    merchant_txn_count_30d: month?.count ?? null,
    merchant_avg_amount_30d: month && month.count > 0 ? usdOf(month.units / month.count) : null,
    merchant_fraud_rate_7d: week ? fraudRate(week) : null,
    merchant_fraud_rate_30d: month ? fraudRate(month) : null,
    merchant_fraud_count: profile?.fraud_count ?? null,
  }
}

interface Velocity {
  readonly count: number | null
  /** Sum of the amounts in USD. */
  readonly sum: number | null
}

const UNKNOWN: Velocity = { count: null, sum: null }

/** Returns the velocities of an hour, a day and a week. */
function velocities(profile: FraudProfile | undefined, reading: Reading): readonly Velocity[] {
  if (profile === undefined) return VELOCITY_WINDOWS.map(() => UNKNOWN)
  return sumsOf(profile, reading, VELOCITY_WINDOWS).map(({ count, units }) => ({ count, sum: usdOf(units) }))
}

/** Returns the confirmed frauds in a window as a share of its transactions, at most 1; 0 without transactions. */
function fraudRate({ count, frauds }: { readonly count: number; readonly frauds: number }): number {
  return count === 0 ? 0 : Math.min(1, Math.max(0, frauds) / count)
}

/**
 * Returns the age of an entity in days. If a transaction is older than the entity's first known transaction, the entity
 * counts as new.
 */
function ageInDays({ first_seen, txn_count }: FraudProfile, t: number): number {
  return txn_count === 0 ? 0 : Math.max(0, t - first_seen) / DAY_MS
}
