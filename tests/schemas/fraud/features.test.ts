import { expect, test } from 'vitest'
import type { EntityKind } from '../../../schemas/fraud/entity.ts'
import { entitiesOf, eventsOf } from '../../../schemas/fraud/events.ts'
import { type Enrichments, featuresOf, type NO_HISTORY } from '../../../schemas/fraud/features/features.ts'
import { foldVerdict } from '../../../schemas/fraud/profile/verdicts.ts'
import type { FraudFeatures, FraudVerdict } from '../../../schemas/fraud/types.ts'
import { DAY, featuresAfter, HOUR, lookedUp, MINUTE, NO_IP_FACTS, NOON, type Payment, pay, SECOND } from './payments.ts'

type Row = readonly [what: string, earlier: readonly Payment[], now: Payment, expected: Partial<FraudFeatures>]

const SAN_FRANCISCO = [37.7749, -122.4194] as const
const LOS_ANGELES = [34.0522, -118.2437] as const
const LONDON = [51.5074, -0.1278] as const
const OAKLAND = [37.8044, -122.2712] as const

const minutesAgo = (minutes: number) => NOON - minutes * MINUTE

test.each<Row>([
  ['a new user has no transactions', [], {}, { user_velocity_1h: 0, user_velocity_24h: 0, user_velocity_7d: 0, user_sum_1h: 0 }],
  ['the start of a window is not part of the window', [{ at: NOON - HOUR }], {}, { user_velocity_1h: 0, user_velocity_24h: 1 }],
  ['a millisecond after its start is part of the window', [{ at: NOON - HOUR + 1 }], {}, { user_velocity_1h: 1, user_velocity_24h: 1 }],
  [
    'the window of a day also excludes its start',
    [{ at: NOON - DAY }, { at: NOON - DAY + 1 }],
    {},
    { user_velocity_24h: 1, user_velocity_7d: 2 },
  ],
  [
    'the window of a week also excludes its start',
    [{ at: NOON - 7 * DAY }, { at: NOON - 7 * DAY + 1 }],
    {},
    { user_velocity_7d: 1, user_txn_count: 2 },
  ],
  ['an equal timestamp counts', [{ at: NOON }], {}, { user_velocity_1h: 1 }],
  ['a later timestamp does not count', [{ at: NOON + 1 }], {}, { user_velocity_1h: 0, user_velocity_7d: 0 }],
  [
    'transactions that arrive out of order count by their times',
    [{ at: minutesAgo(5) }, { at: minutesAgo(90) }, { at: minutesAgo(30) }],
    {},
    { user_velocity_1h: 2, user_velocity_24h: 3, time_since_last_txn_s: 300 },
  ],
  ['sums are in USD', [{ amount: 20 }, { amount: 3, currency: 'KWD' }], {}, { user_sum_1h: 29.78, user_velocity_1h: 2 }],
  ['other users do not count', [{ user: 'u2' }], {}, { user_velocity_1h: 0 }],
  [
    'each entity counts its own transactions',
    [
      { device: 'd1', ip: '192.0.2.1', card: 'c1', user: 'u2' },
      { device: 'd1', ip: '192.0.2.2', card: 'c2', user: 'u3', at: minutesAgo(61) },
    ],
    { device: 'd1', ip: '192.0.2.1', card: 'c2' },
    {
      user_velocity_1h: 0,
      device_velocity_1h: 1,
      device_velocity_24h: 2,
      device_sum_24h: 20,
      ip_velocity_1h: 1,
      ip_velocity_24h: 1,
      card_velocity_1h: 0,
      card_velocity_24h: 1,
      card_velocity_7d: 1,
    },
  ],
])('velocity: %s', (_what, earlier, now, expected) => {
  expect(featuresAfter(earlier.map(pay), now)).toMatchObject(expected)
})

test.each<Row>([
  ['no history', [], { amount: 1_000 }, { amount_zscore: 0, user_avg_amount: null, user_stddev_amount: 0, user_txn_count: 0 }],
  ['one transaction has no deviation', [{ amount: 10 }], { amount: 1_000 }, { amount_zscore: 0, user_avg_amount: 10 }],
  ['equal amounts have no deviation', [{ amount: 0.1 }, { amount: 0.1 }, { amount: 0.1 }], { amount: 9 }, { amount_zscore: 0 }],
  [
    'the sample deviation',
    [{ amount: 10 }, { amount: 20 }, { amount: 30 }],
    { amount: 45 },
    { amount_zscore: 2.5, user_stddev_amount: 10 },
  ],
  ['smaller than the mean', [{ amount: 10 }, { amount: 20 }, { amount: 30 }], { amount: 5 }, { amount_zscore: -1.5 }],
  ['in USD', [{ amount: 10 }, { amount: 20 }, { amount: 30 }], { amount: 15, currency: 'KWD' }, { amount_usd: 48.9, amount_zscore: 2.89 }],
])('amount_zscore: %s', (_what, earlier, now, expected) => {
  const features = featuresAfter(earlier.map(pay), now)
  for (const [name, value] of Object.entries(expected)) {
    const found = features[name as keyof FraudFeatures]
    if (typeof value === 'number') expect(found).toBeCloseTo(value, 9)
    else expect(found).toBe(value)
  }
})

test('the mean and the standard deviation cover the whole history, not only the windows', () => {
  const earlier = [1, 2, 3, 4].map((amount, index) => pay({ amount, at: NOON - (100 - index) * DAY }))
  expect(featuresAfter(earlier, { amount: 10 })).toMatchObject({ user_txn_count: 4, user_avg_amount: 2.5, user_velocity_7d: 0 })
})

test.each([
  ['without an earlier place', undefined, NOON - HOUR, SAN_FRANCISCO, [null, null, null]],
  ['at the same place', SAN_FRANCISCO, NOON - HOUR, SAN_FRANCISCO, [0, 0, false]],
  ['places that are close together are never suspicious, even at the same moment', SAN_FRANCISCO, NOON, OAKLAND, [13.4, 0, false]],
  ['a flight that is possible', SAN_FRANCISCO, NOON - HOUR, LOS_ANGELES, [559.1, 0.6212, false]],
  ['faster than 900 km/h', SAN_FRANCISCO, NOON - 30 * MINUTE, LOS_ANGELES, [559.1, 1, true]],
  ['far at the same moment', SAN_FRANCISCO, NOON, LONDON, [8_616.4, 1, true]],
  ['far after a day', SAN_FRANCISCO, NOON - DAY, LONDON, [8_616.4, 0.3989, false]],
  ['antipodes', [0, 0], NOON - 10 * HOUR, [0, 180], [20_015.1, 1, true]],
  [
    'antipodes off the equator, where rounding would exceed the domain of the arcsine',
    [37.3, -12.7],
    NOON - 23 * HOUR,
    [-37.3, 167.3],
    [20_015.1, 0.9669, false],
  ],
  ['across the date line', [0, 179.9], NOON - MINUTE, [0, -179.9], [22.2, 0, false]],
  ['at the poles', [90, 0], NOON - MINUTE, [90, 135], [0, 0, false]],
] as const)('impossible travel: %s', (_what, from, at, to, [distance, severity, isImpossible]) => {
  const features = featuresAfter([pay({ at, place: from })], { place: to })
  if (distance === null) expect(features.geo_distance_km).toBeNull()
  else expect(features.geo_distance_km).toBeCloseTo(distance, 0)
  if (severity === null) expect(features.geo_travel_severity).toBeNull()
  else expect(features.geo_travel_severity).toBeCloseTo(severity, 3)
  expect(features.geo_impossible_travel).toBe(isImpossible)
})

test('impossible travel begins between 99.99 and 100.01 km at the same moment, and between 899.9 and 900.1 km after an hour', () => {
  const degree = (6_371 * Math.PI) / 180
  const north = (km: number) => [km / degree, 0] as const
  const at = (km: number, minutes: number) => featuresAfter([pay({ at: minutesAgo(minutes), place: [0, 0] })], { place: north(km) })
  expect(at(99.99, 0)).toMatchObject({ geo_impossible_travel: false, geo_travel_severity: 0 })
  expect(at(100.01, 0)).toMatchObject({ geo_impossible_travel: true, geo_travel_severity: 1 })
  expect(at(899.9, 60).geo_impossible_travel).toBe(false)
  expect(at(900.1, 60)).toMatchObject({ geo_impossible_travel: true, geo_travel_severity: 1 })
})

test('the last place is the latest known place before the time of the transaction', () => {
  const earlier = [
    pay({ at: minutesAgo(50), place: LOS_ANGELES }),
    pay({ at: minutesAgo(60), place: LONDON }),
    pay({ at: minutesAgo(10) }),
    pay({ at: NOON + MINUTE, place: LONDON }),
  ]
  expect(featuresAfter(earlier, { place: LOS_ANGELES })).toMatchObject({ geo_distance_km: expect.closeTo(0, 3) })
  expect(featuresAfter(earlier, {})).toMatchObject({ geo_distance_km: null, time_since_last_txn_s: 600 })
})

test.each<Row>([
  ['none before', [], {}, { time_since_last_txn_s: null }],
  ['the same moment', [{ at: NOON }], {}, { time_since_last_txn_s: 0 }],
  ['milliseconds', [{ at: NOON - 1_500 }], {}, { time_since_last_txn_s: 1.5 }],
  ['months ago', [{ at: NOON - 90 * DAY }], {}, { time_since_last_txn_s: 90 * 86_400 }],
  ['a later one does not count', [{ at: NOON + 1 }, { at: NOON - SECOND }], {}, { time_since_last_txn_s: 1 }],
])('time since the last transaction: %s', (_what, earlier, now, expected) => {
  expect(featuresAfter(earlier.map(pay), now)).toMatchObject(expected)
})

test.each<Row>([
  ['no merchant in the request', [{ merchant: 'm1' }], {}, { is_new_merchant: null, merchant_txn_count_7d: null }],
  ['the first one', [], { merchant: 'm1' }, { is_new_merchant: true, merchant_txn_count_7d: 0 }],
  ['the first one of this user', [{ merchant: 'm1', user: 'u2' }], { merchant: 'm1' }, { is_new_merchant: true, merchant_txn_count_7d: 1 }],
  ['known', [{ merchant: 'm1', at: NOON - 30 * DAY }], { merchant: 'm1' }, { is_new_merchant: false }],
  ['paid less than 90 days ago', [{ merchant: 'm1', at: NOON - 90 * DAY + 1 }], { merchant: 'm1' }, { is_new_merchant: false }],
  ['90 days ago', [{ merchant: 'm1', at: NOON - 90 * DAY }, { at: NOON - 1 }], { merchant: 'm1' }, { is_new_merchant: true }],
  ['paid later only', [{ merchant: 'm1', at: NOON + 1 }], { merchant: 'm1' }, { is_new_merchant: true }],
])('new merchants: %s', (_what, earlier, now, expected) => {
  expect(featuresAfter(earlier.map(pay), now)).toMatchObject(expected)
})

test.each<Row>([
  ['no device in the request', [], {}, { device_age_days: null, is_new_device: null, device_velocity_1h: null }],
  ['a new device', [], { device: 'd1' }, { device_age_days: 0, is_new_device: true }],
  [
    'seen with another user',
    [{ device: 'd1', user: 'u2', at: NOON - 3 * DAY }],
    { device: 'd1' },
    { device_age_days: 3, is_new_device: true },
  ],
  ['half a day', [{ device: 'd1', at: NOON - DAY / 2 }], { device: 'd1' }, { device_age_days: 0.5, is_new_device: false }],
  ['a transaction before the first one', [{ device: 'd1', at: NOON + DAY }], { device: 'd1' }, { device_age_days: 0 }],
])('age of the device: %s', (_what, earlier, now, expected) => {
  expect(featuresAfter(earlier.map(pay), now)).toMatchObject(expected)
})

test('each field counts the distinct entities in its own window', () => {
  const earlier = [
    pay({ device: 'd1', ip: '192.0.2.1', merchant: 'm1', card: 'c1', at: NOON - 6 * DAY }),
    pay({ device: 'd2', ip: '192.0.2.2', merchant: 'm2', card: 'c1', at: NOON - HOUR }),
    pay({ device: 'd2', ip: '192.0.2.1', merchant: 'm2', card: 'c2', at: NOON - MINUTE }),
    pay({ device: 'd2', ip: '192.0.2.9', merchant: 'm9', card: 'c2', at: NOON - MINUTE, user: 'u2' }),
    pay({ device: 'd9', ip: '192.0.2.9', merchant: 'm9', card: 'c9', at: NOON - 7 * DAY }),
  ]
  expect(featuresAfter(earlier, { device: 'd2', ip: '192.0.2.9', card: 'c2' })).toMatchObject({
    user_distinct_devices_7d: 2,
    user_distinct_ips_24h: 2,
    user_distinct_merchants_7d: 2,
    user_distinct_cards_24h: 2,
    device_distinct_users_24h: 2,
    device_distinct_cards_24h: 2,
    ip_distinct_users_24h: 1,
    card_distinct_users_24h: 2,
    card_distinct_merchants_24h: 2,
  })
})

test.each<readonly [string, readonly Payment[], Payment, string | null, number | null]>([
  ['nothing is known about the session', [], {}, null, null],
  ['a passkey on a known device', [{ device: 'd1' }], { device: 'd1', login: 'PASSKEY', sinceLogin: 600 }, null, 0],
  ['a password', [], { login: 'password' }, null, 0.2],
  ['an unknown method', [], { login: 'carrier pigeon' }, null, 0.3],
  ['a method with the name of a property that all objects have', [], { login: 'constructor' }, null, 0.3],
  ['right after the login', [], { sinceLogin: 29 }, null, 0.2],
  ['half a minute after the login', [], { sinceLogin: 30 }, null, 0.1],
  ['two minutes after the login', [], { sinceLogin: 120 }, null, 0],
  ['a day after the login', [], { sinceLogin: 86_400 }, null, 0.1],
  ['a device that is new for a user with history', [{ device: 'd1' }], { device: 'd2' }, null, 0.3],
  ['the first device of a new user', [], { device: 'd1' }, null, 0],
  ['the card is from the country of the IP address', [], { cardCountry: 'DE' }, 'DE', 0],
  ['the card is from another country', [], { cardCountry: 'DE' }, 'FR', 0.3],
  ['everything at once', [{}], { login: 'x', sinceLogin: 0, device: 'd3', cardCountry: 'DE' }, 'FR', 1],
])('session risk: %s', (_what, earlier, now, geo_country, expected) => {
  expect(featuresAfter(earlier.map(pay), now, { ...NO_IP_FACTS, geo_country }).session_risk_score).toBe(expected)
})

/**
 * Makes `week` payments of one entity: the first `hour` of them are half an hour old, the others of the first `day` are
 * five hours old, and the remaining ones are made at `weekAt`. `fields` returns the other fields of a payment by its
 * index, starting with the newest payment.
 */
function series([hour, day, week]: readonly number[], weekAt: number, fields: (index: number) => Payment): Payment[] {
  const timeOf = (index: number) => (index < hour ? minutesAgo(30) : index < day ? NOON - 5 * HOUR : weekAt)
  return Array.from({ length: week }, (_, index) => ({ at: timeOf(index), ...fields(index) }))
}

/** Returns the lookups after verdicts about one entity. */
function judged(lookups: Enrichments, kind: EntityKind, verdicts: readonly (readonly [FraudVerdict, at: number])[]): Enrichments {
  const known = lookups[kind] as typeof NO_HISTORY
  const profile = verdicts.reduce(
    (before, [verdict, at]) => foldVerdict(before, kind, { verdict, previous: null, at, previous_at: null }),
    known.profile!,
  )
  return { ...lookups, [kind]: { ...known, profile } }
}

test.each([
  ['passkey', 0],
  ['biometric', 0],
  ['mfa', 0.05],
  ['otp', 0.1],
  ['sso', 0.1],
  ['social', 0.15],
  ['password', 0.2],
  ['magic_link', 0.2],
  ['sms', 0.25],
])('the login method %s adds %f to the session risk, in upper and lower case', (login, expected) => {
  for (const written of [login, login.toUpperCase()]) expect(featuresAfter([], { login: written }).session_risk_score).toBe(expected)
})

test('every feature has the value of its own entity and window', () => {
  const some = (index: number, size: number) => Math.floor(index / size)
  const earlier = [
    ...series([4, 9, 15], NOON - 2 * DAY, (index) => ({
      amount: 4,
      device: `user-d${some(index, 2)}`,
      ip: `user-i${some(index, 3)}`,
      card: `user-c${some(index, 5)}`,
      merchant: `user-m${some(index, 1.5)}`,
      ...(index === 4 && { place: LOS_ANGELES }),
    })),
    ...[14, 14].map((amount) => ({ amount, at: NOON - 20 * DAY })),
    ...series([1, 3, 6], NOON - 3 * DAY, (index) => ({
      ...{ amount: 1.5, device: 'd1', user: `device-u${index}`, card: `device-c${some(index, 2)}` },
    })),
    ...series([2, 5, 9], NOON - 3 * DAY, (index) => ({
      ...{ amount: 2.5, ip: 'i1', user: `ip-u${index}`, device: `ip-d${some(index, 2)}`, card: `ip-c${some(index, 3)}` },
    })),
    ...series([3, 7, 12], NOON - 4 * DAY, (index) => ({
      ...{ amount: 3.5, card: 'c1', user: `card-u${index}`, device: `card-d${some(index, 2)}` },
      ...{ ip: `card-i${some(index, 3)}`, merchant: `card-m${some(index, 4)}` },
    })),
    ...series([0, 0, 13], NOON - 3 * DAY, (index) => ({ amount: 5, merchant: 'm1', user: `merchant-u${index}` })),
    ...series([0, 0, 8], NOON - 20 * DAY, (index) => ({ amount: 26, merchant: 'm1', user: `merchant-v${index}` })),
  ]
  const now = pay({
    ...{ device: 'd1', ip: 'i1', card: 'c1', merchant: 'm1', place: SAN_FRANCISCO },
    ...{ login: 'otp', sinceLogin: 60, cardCountry: 'DE' },
  })
  const frauds = (count: number) => Array.from({ length: count }, () => ['CONFIRMED_FRAUD', NOON - DAY] as const)
  let lookups = lookedUp(now, earlier.map(pay))
  lookups = judged(lookups, 'user', frauds(1))
  lookups = judged(lookups, 'device', [...frauds(2), ['FALSE_POSITIVE', NOON - DAY]])
  lookups = judged(lookups, 'ip', frauds(3))
  lookups = judged(lookups, 'card', frauds(4))
  const [inMonth, before] = [10, 40].map((days) => ['CONFIRMED_FRAUD', NOON - days * DAY] as const)
  lookups = judged(lookups, 'merchant', [...frauds(2), inMonth, inMonth, before])
  const { features, failed } = featuresOf(now, { ...NO_IP_FACTS, geo_country: 'FR' }, lookups)
  expect(failed).toEqual([])
  expect(features).toEqual({
    amount_usd: 10,
    user_velocity_1h: 4,
    user_velocity_24h: 9,
    user_velocity_7d: 15,
    user_sum_1h: 16,
    user_sum_24h: 36,
    user_sum_7d: 60,
    device_velocity_1h: 1,
    device_velocity_24h: 3,
    device_velocity_7d: 6,
    device_sum_1h: 1.5,
    device_sum_24h: 4.5,
    device_sum_7d: 9,
    ip_velocity_1h: 2,
    ip_velocity_24h: 5,
    ip_velocity_7d: 9,
    ip_sum_1h: 5,
    ip_sum_24h: 12.5,
    ip_sum_7d: 22.5,
    card_velocity_1h: 3,
    card_velocity_24h: 7,
    card_velocity_7d: 12,
    card_sum_1h: 10.5,
    card_sum_24h: 24.5,
    card_sum_7d: 42,
    amount_zscore: expect.closeTo(1.4524, 4),
    user_txn_count: 17,
    user_txn_sum: 88,
    user_avg_amount: expect.closeTo(88 / 17, 9),
    user_stddev_amount: expect.closeTo(3.3211, 4),
    user_distinct_devices_7d: 8,
    user_distinct_ips_24h: 3,
    user_distinct_cards_24h: 2,
    user_distinct_merchants_7d: 10,
    user_risk_tier: 'HIGH',
    user_fraud_history_count: 1,
    geo_distance_km: expect.closeTo(559.1, 1),
    geo_travel_severity: expect.closeTo(559.1 / 4_500, 4),
    geo_impossible_travel: false,
    time_since_last_txn_s: 1_800,
    is_new_device: true,
    is_new_merchant: true,
    device_age_days: 3,
    device_distinct_users_24h: 3,
    device_distinct_users_7d: 6,
    device_distinct_cards_24h: 2,
    device_risk_tier: 'ELEVATED',
    device_fraud_assoc_count: 2,
    ip_distinct_users_24h: 5,
    ip_distinct_devices_24h: 3,
    ip_distinct_cards_24h: 2,
    ip_fraud_assoc_count: 3,
    card_age_days: 4,
    card_distinct_users_24h: 7,
    card_distinct_devices_24h: 4,
    card_distinct_ips_24h: 3,
    card_distinct_merchants_24h: 2,
    card_fraud_assoc_count: 4,
    merchant_txn_count_7d: 13,
    merchant_txn_count_30d: 21,
    merchant_avg_amount_30d: 13,
    merchant_fraud_rate_7d: 2 / 13,
    merchant_fraud_rate_30d: 4 / 21,
    merchant_fraud_count: 5,
    session_risk_score: 0.8,
  } satisfies Record<keyof FraudFeatures, unknown>)
})

test('a transaction counts once, whether it is in the profile, in flight or both', () => {
  const [folded, both, flying] = [
    pay({ at: minutesAgo(3) }),
    pay({ at: minutesAgo(2) }),
    pay({ at: minutesAgo(1), device: 'd1', place: LONDON }),
  ]
  const now = pay({ place: LONDON, device: 'd1' })
  const flights = [both, flying, now].flatMap((request) => eventsOf(request).filter(({ kind }) => kind === 'user'))
  const found = lookedUp(now, [folded, both])
  const user = { profile: (found.user as typeof NO_HISTORY).profile, inFlight: flights.map(({ event }) => event), inFlightSeconds: [] }
  const { features } = featuresOf(now, NO_IP_FACTS, { ...found, user })
  expect(features).toEqual(featuresOf(now, NO_IP_FACTS, { ...found, user: lookedUp(now, [folded, both, flying]).user }).features)
  expect(features).toMatchObject({
    user_velocity_1h: 3,
    user_txn_count: 3,
    time_since_last_txn_s: 60,
    is_new_device: false,
    geo_distance_km: 0,
  })
})

test('the current transaction is not counted, even if an earlier attempt is in the profile', () => {
  const now = pay({ id: 'again' })
  expect(featuresOf(now, NO_IP_FACTS, lookedUp(now, [pay({ at: minutesAgo(1) }), now])).features).toMatchObject({
    user_velocity_1h: 1,
    time_since_last_txn_s: 60,
  })
})

test('a transaction that is scored again has the same features as at its first attempt, although its profiles now include the transaction', () => {
  const entities = { device: 'd2', ip: '192.0.2.2', card: 'c2' }
  const earlier = [10, 20, 10, 20, 10].map((amount, index) => pay({ at: minutesAgo(9 - index), amount, device: 'd1', place: LONDON }))
  const histories = [[], earlier, [...earlier, pay({ at: minutesAgo(2), ...entities, place: LOS_ANGELES })], earlier.slice(0, 1)]
  for (const history of histories) {
    const now = pay({ id: 'again', amount: 1_234.56, ...entities, place: SAN_FRANCISCO })
    const first = featuresOf(now, NO_IP_FACTS, lookedUp(now, history)).features
    const again = featuresOf(now, NO_IP_FACTS, lookedUp(now, [...history, now, pay({ at: NOON + MINUTE, user: 'u9' })])).features
    for (const [name, value] of Object.entries(first)) {
      const expected = typeof value === 'number' ? expect.closeTo(value, 6) : value
      expect([history.length, name, again[name as keyof typeof again]]).toEqual([history.length, name, expected])
    }
  }
})

test('if all earlier amounts are equal, an amount that is scored again has the z-score 0, without rounding errors', () => {
  for (const amount of Array.from({ length: 300 }, (_, cents) => (cents + 1) / 7)) {
    const history = Array.from({ length: 7 }, (_, index) => pay({ at: minutesAgo(9 - index), amount }))
    const now = pay({ id: 'again', amount: 999.99 })
    const { features } = featuresOf(now, NO_IP_FACTS, lookedUp(now, [...history, now]))
    expect(features).toMatchObject({ amount_zscore: 0, user_stddev_amount: 0, user_txn_count: 7 })
  }
})

test('an amount that is scored again also has the z-score 0 if it is close to equal earlier amounts', () => {
  for (const amount of [127.04, 0.07, 9_999.99, 1_234_567.89]) {
    for (const [count, more] of [5, 6, 11, 50].flatMap((count) => [0.01, 1, 33.33].map((more) => [count, more] as const))) {
      const history = Array.from({ length: count }, (_, index) => pay({ at: minutesAgo(60 - index), amount }))
      const now = pay({ id: 'again', amount: amount + more })
      const { features } = featuresOf(now, NO_IP_FACTS, lookedUp(now, [...history, now]))
      expect([amount, count, more, features.amount_zscore]).toEqual([amount, count, more, 0])
    }
  }
})

test('in-flight sums per second count in the windows and in the lifetime totals', () => {
  const now = pay({ amount: 3 })
  const seconds = [{ at: NOON - 2 * SECOND, count: 300, units: 300 * 20_000 }]
  const user = { profile: undefined, inFlight: eventsOf(pay({ at: NOON - SECOND })).map(({ event }) => event), inFlightSeconds: seconds }
  const { features } = featuresOf(now, NO_IP_FACTS, { ...lookedUp(now, []), user })
  expect(features).toMatchObject({ user_velocity_1h: 301, user_sum_1h: 610, user_txn_count: 301 })
  expect(features.user_avg_amount).toBeCloseTo(610 / 301, 9)
})

test('an entity without history counts as new, and an entity whose lookup failed counts as missing and is named', () => {
  const now = pay({ device: 'd1', merchant: 'm1', ip: '192.0.2.1' })
  const { features, failed } = featuresOf(now, NO_IP_FACTS, { ...lookedUp(now, []), user: 'failed', ip: 'failed' })
  expect(failed).toEqual(['user', 'ip'])
  expect(features).toMatchObject({
    amount_usd: 10,
    user_velocity_1h: null,
    amount_zscore: null,
    user_risk_tier: null,
    is_new_merchant: null,
    is_new_device: null,
    ip_velocity_1h: null,
    ip_distinct_users_24h: null,
    device_velocity_1h: 0,
    device_age_days: 0,
    device_risk_tier: 'NORMAL',
    merchant_txn_count_7d: 0,
    session_risk_score: null,
  })
})

test('an entity that the request does not name counts as missing, but its lookup does not count as failed', () => {
  const now = pay()
  const { features, failed } = featuresOf(now, NO_IP_FACTS, { ...lookedUp(now, []), device: 'failed' })
  expect(failed).toEqual([])
  expect(features).toMatchObject({ device_velocity_1h: null, card_velocity_1h: null, merchant_fraud_rate_7d: null })
  expect(entitiesOf(now)).toEqual({ user: 'u1', device: null, ip: null, card: null, merchant: null })
})
