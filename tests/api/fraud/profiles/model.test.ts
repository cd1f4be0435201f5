import { expect, test } from 'vitest'
import { profileJson } from '../../../../api/fraud/profiles/model.ts'
import type { EntityKind } from '../../../../schemas/fraud/entity.ts'
import { eventsOf } from '../../../../schemas/fraud/events.ts'
import { NO_HISTORY } from '../../../../schemas/fraud/features/features.ts'
import { NEW_PROFILE } from '../../../../schemas/fraud/profile/fold.ts'
import { foldVerdict } from '../../../../schemas/fraud/profile/verdicts.ts'
import type { FraudIpFacts, FraudProfile } from '../../../../schemas/fraud/types.ts'
import { DAY, HOUR, MINUTE, NO_IP_FACTS, NOON, type Payment, pay, profileOf } from '../../../schemas/fraud/payments.ts'

const LONDON = [51.5074, -0.1278] as const
const iso = (at: number) => new Date(at).toISOString()

/** Returns the profile that the API shows at noon for an entity after the given payments. */
function shown(kind: EntityKind, id: string, payments: readonly Payment[], ip: FraudIpFacts = NO_IP_FACTS) {
  return asShown(kind, id, profileOf(kind, id, payments.map(pay)), ip)
}

function asShown(kind: EntityKind, id: string, profile: FraudProfile, ip: FraudIpFacts = NO_IP_FACTS) {
  return profileJson({ kind, id, held: { ...NO_HISTORY, profile }, ip, now: NOON })
}

function withFrauds(profile: FraudProfile, kind: EntityKind, times: readonly number[]): FraudProfile {
  const judge = (known: FraudProfile, at: number) =>
    foldVerdict(known, kind, { verdict: 'CONFIRMED_FRAUD', previous: null, at, previous_at: null })
  return times.reduce(judge, profile)
}

test('the profile of a user has the fields of the contract, with windows that end now', () => {
  const payments = [
    { at: NOON - 10 * MINUTE, amount: 10, device: 'd1', ip: '192.0.2.1', merchant: 'm1' },
    { at: NOON - HOUR, amount: 20, device: 'd2', ip: '192.0.2.2', merchant: 'm2', place: LONDON },
    { at: NOON - 2 * DAY, amount: 30, device: 'd3', ip: '192.0.2.3', merchant: 'm3' },
    { at: NOON - 6 * DAY, amount: 40, device: 'd3', ip: '192.0.2.3', merchant: 'm4' },
    { at: NOON - 8 * DAY, amount: 50, device: 'd4', merchant: 'm5' },
  ]
  const profile = withFrauds(profileOf('user', 'u1', payments.map(pay)), 'user', [NOON])
  expect(asShown('user', 'u1', profile)).toEqual({
    user_id: 'u1',
    lifetime_txn_count: 5,
    lifetime_txn_sum: 150,
    avg_txn_amount: 30,
    stddev_txn_amount: expect.closeTo(15.8114, 4),
    txn_count_1h: 1,
    txn_count_24h: 2,
    txn_sum_24h: 30,
    distinct_devices_7d: 3,
    distinct_ips_24h: 2,
    distinct_merchants_7d: 4,
    last_txn_ts: iso(NOON - 10 * MINUTE),
    last_txn_geo: { lat: LONDON[0], lng: LONDON[1] },
    risk_tier: 'HIGH',
    fraud_history_count: 1,
  })
})

test('the profile of a device has the fields of the contract', () => {
  const payments = [
    { at: NOON - MINUTE, device: 'd1', user: 'u1' },
    { at: NOON - 2 * HOUR, device: 'd1', user: 'u2' },
    { at: NOON - 3 * DAY, device: 'd1', user: 'u3' },
  ]
  const profile = withFrauds(profileOf('device', 'd1', payments.map(pay)), 'device', [NOON, NOON])
  expect(asShown('device', 'd1', profile)).toEqual({
    fingerprint_id: 'd1',
    first_seen: iso(NOON - 3 * DAY),
    user_ids: ['u1', 'u2', 'u3'],
    txn_count_24h: 2,
    fraud_assoc_count: 2,
    risk_tier: 'HIGH',
  })
})

test('the profile of an IP address has the fields of the contract, and lists only users of the last day', () => {
  const ip = { geo_country: 'DE', is_vpn: true, is_tor: null, is_datacenter: false }
  const payments = [
    { at: NOON - MINUTE, ip: '192.0.2.1', user: 'u1' },
    { at: NOON - 2 * HOUR, ip: '192.0.2.1', user: 'u2' },
    { at: NOON - 2 * HOUR, ip: '192.0.2.1', user: 'u2' },
    { at: NOON - DAY, ip: '192.0.2.1', user: 'u3' },
  ]
  expect(shown('ip', '192.0.2.1', payments, ip)).toEqual({
    ip_address: '192.0.2.1',
    ...ip,
    user_ids_24h: ['u1', 'u2'],
    distinct_users_24h: 2,
    txn_count_1h: 1,
    fraud_assoc_count: 0,
  })
})

test('the profile of a card has the fields of the contract', () => {
  const payments = [
    { at: NOON - MINUTE, amount: 1, card: 'c1', user: 'u1', merchant: 'm1' },
    { at: NOON - 2 * HOUR, amount: 2, card: 'c1', user: 'u2', merchant: 'm1' },
    { at: NOON - 3 * HOUR, amount: 4, card: 'c1', user: 'u2', merchant: 'm1' },
    { at: NOON - 3 * DAY, amount: 8, card: 'c1', user: 'u3', merchant: 'm3' },
  ]
  const profile = withFrauds(profileOf('card', 'c1', payments.map(pay)), 'card', [NOON])
  expect(asShown('card', 'c1', profile)).toEqual({
    card_hash: 'c1',
    first_seen: iso(NOON - 3 * DAY),
    txn_count_1h: 1,
    txn_count_24h: 3,
    txn_sum_24h: 7,
    distinct_users_24h: 2,
    distinct_merchants_24h: 1,
    fraud_assoc_count: 1,
  })
})

test('the profile of a merchant has the fields of the contract', () => {
  const payments = [
    { at: NOON - MINUTE, amount: 1, merchant: 'm1' },
    { at: NOON - 3 * DAY, amount: 3, merchant: 'm1' },
    { at: NOON - 20 * DAY, amount: 8, merchant: 'm1' },
    { at: NOON - 40 * DAY, amount: 99, merchant: 'm1' },
  ]
  const frauds = [NOON - DAY, NOON - 10 * DAY, NOON - 12 * DAY, NOON - 50 * DAY]
  const profile = withFrauds(profileOf('merchant', 'm1', payments.map(pay)), 'merchant', frauds)
  expect(asShown('merchant', 'm1', profile)).toEqual({
    merchant_id: 'm1',
    first_seen: iso(NOON - 40 * DAY),
    txn_count_7d: 2,
    txn_count_30d: 3,
    avg_amount_30d: 4,
    frauds_7d: 1,
    frauds_30d: 3,
    fraud_count: 4,
  })
})

test('a profile includes transactions in flight, except for the ids of their users', () => {
  const known = pay({ at: NOON - HOUR / 2, device: 'd1', user: 'u1' })
  const flying = pay({ at: NOON, device: 'd1', user: 'u2' })
  const { event } = eventsOf(flying).find(({ kind }) => kind === 'device')!
  // Transactions in flight do not contain the ids of users: state/views/fraud/in-flight.ts
  const held = { ...NO_HISTORY, profile: profileOf('device', 'd1', [known]), inFlight: [{ ...event, user_id: null }] }
  const json = profileJson({ kind: 'device', id: 'd1', held, ip: NO_IP_FACTS, now: NOON })
  expect(json).toMatchObject({ txn_count_24h: 2, user_ids: ['u1'] })
})

test('no profile is shown for an entity without payments and frauds, and the profile of an entity with only a fraud has no times', () => {
  expect(asShown('user', 'u1', NEW_PROFILE)).toBeUndefined()
  const judged = withFrauds(NEW_PROFILE, 'user', [NOON])
  expect(asShown('user', 'u1', judged)).toMatchObject({ last_txn_ts: null, last_txn_geo: null, avg_txn_amount: null, risk_tier: 'HIGH' })
  expect(asShown('device', 'd1', judged)).toMatchObject({ first_seen: null, user_ids: [], txn_count_24h: 0, fraud_assoc_count: 1 })
})
