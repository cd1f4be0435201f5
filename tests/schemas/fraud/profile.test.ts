import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EntityKind } from '../../../schemas/fraud/entity.ts'
import { eventsOf } from '../../../schemas/fraud/events.ts'
import { profileBytes, profileFromBytes } from '../../../schemas/fraud/profile/bytes.ts'
import { eventCount, packEvents, unpackEvents } from '../../../schemas/fraud/profile/events.ts'
import { foldEvents, NEW_PROFILE } from '../../../schemas/fraud/profile/fold.ts'
import { placeBefore } from '../../../schemas/fraud/profile/places.ts'
import { deviationOf, lastTimeOf, sumsOf } from '../../../schemas/fraud/profile/read.ts'
import { countSeen } from '../../../schemas/fraud/profile/seen.ts'
import { PROFILE_SHAPES } from '../../../schemas/fraud/profile/shape.ts'
import { type EntityVerdict, foldVerdict } from '../../../schemas/fraud/profile/verdicts.ts'
import type { FraudProfile, FraudRequest } from '../../../schemas/fraud/types.ts'
import '../../property-limit.ts'
import { naiveProfile } from './naive.ts'
import { DAY, HOUR, MINUTE, NOON, pay, profileOf } from './payments.ts'

const NOBODY = -1
const WINDOWS = [HOUR, DAY, 7 * DAY]
const IDS = { user: 'u1', device: 'd1', ip: '192.0.2.1', card: 'c1', merchant: 'm1' } as const
const KINDS = ['user', 'device', 'ip', 'card'] as const

/**
 * Generates transactions. `other` determines which of a transaction's common entities, if any, is replaced by a
 * different entity.
 */
const transactions = (most: number, spreadMs: number) =>
  fc.array(
    fc.record({
      ago: fc.oneof(fc.integer({ min: 0, max: spreadMs }), fc.integer({ min: 0, max: HOUR }), fc.constant(HOUR)),
      amount: fc.integer({ min: 0, max: 5_000_00 }).map((cents) => cents / 100),
      other: fc.integer({ min: 0, max: 5 }),
    }),
    { minLength: 2, maxLength: most },
  )

type Made = readonly { readonly ago: number; readonly amount: number; readonly other: number }[]

function requestsOf(made: Made): FraudRequest[] {
  return made.map(({ ago, amount, other }, index) => {
    const at = NOON - ago
    // At most one entity of a payment (user, device, card or IP address) is replaced, so that entities of these kinds
    // occur in different combinations.
    const varied = { user: other === 1 ? 'u2' : IDS.user, device: other === 2 ? 'd2' : IDS.device, card: other === 3 ? 'c2' : IDS.card }
    return pay({
      id: `t${index}`,
      at,
      amount,
      ip: other === 4 ? '192.0.2.2' : IDS.ip,
      merchant: IDS.merchant,
      place: [other, index % 180],
      ...varied,
    })
  })
}

/** Folds requests into a profile in batches of the given sizes. The last batch has all remaining requests. */
function inBatches(kind: EntityKind, requests: readonly FraudRequest[], sizes: readonly number[]): FraudProfile {
  const rest = [...requests]
  let profile = NEW_PROFILE
  for (const size of sizes) profile = profileOf(kind, IDS[kind], rest.splice(0, size), profile)
  return profileOf(kind, IDS[kind], rest, profile)
}

/** Leaves out the fields whose rounding depends on the order of transactions. */
function withoutRounding({ mean_usd, m2_usd, ...exact }: FraudProfile) {
  return exact
}

test('transactions in any order and any batches give the same profile, apart from rounding and times of first sightings', () => {
  const shuffled = transactions(120, 9 * DAY).chain((made) =>
    fc.tuple(
      fc.constant(requestsOf(made)),
      fc.shuffledSubarray(
        made.map((_, index) => index),
        { minLength: made.length },
      ),
      fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 20 }),
    ),
  )
  fc.assert(
    fc.property(shuffled, ([requests, order, sizes]) => {
      for (const kind of ['user', 'device', 'merchant'] as const) {
        const inOrder = inBatches(kind, requests, [])
        const mixed = inBatches(
          kind,
          order.map((index) => requests[index]),
          sizes,
        )
        expect(sightingsAside(mixed)).toEqual(sightingsAside(inOrder))
        expect(mixed.mean_usd).toBeCloseTo(inOrder.mean_usd, 6)
        expect(deviationOf(mixed)).toBeCloseTo(deviationOf(inOrder), 6)
      }
    }),
    { numRuns: 150 },
  )
})

/**
 * Sorts the sightings of a profile, and removes the times of first sightings, because profiles forget these times after
 * a long absence.
 */
function sightingsAside(profile: FraudProfile) {
  const sorted = (rows: Buffer) =>
    Array.from({ length: rows.length / 16 }, (_, row) => `${rows.readUInt32BE(row * 16)} ${rows.readUIntBE(row * 16 + 10, 6)}`).sort()
  const { users, devices, ips, cards, merchants, ...rest } = withoutRounding(profile)
  return { ...rest, seen: [users, devices, ips, cards, merchants].map(sorted) }
}

test('a folded profile gives the same sums as a list of all transactions, except that a week may include up to two hours more', () => {
  fc.assert(
    fc.property(transactions(150, 8 * DAY), fc.integer({ min: 0, max: 2 * HOUR }), (made, later) => {
      const requests = requestsOf(made)
      const t = NOON + later
      for (const kind of KINDS) {
        const profile = inBatches(kind, requests, [1, 2, 3])
        if (profile.txn_count === 0) continue
        const naive = naiveProfile(kind, IDS[kind], requests)
        const sums = sumsOf(profile, { t, id: NOBODY }, WINDOWS)
        for (const [index, windowMs] of WINDOWS.entries()) {
          const exact = naive.within(t, windowMs)
          // For users, the week is exact. For other entities, everything before the last day is in sums of two hours,
          // so the window may include up to two hours more.
          const most = kind === 'user' || windowMs < 7 * DAY ? exact : naive.within(t, windowMs + 2 * HOUR)
          expect(sums[index].count).toBeGreaterThanOrEqual(exact.count)
          expect(sums[index].count).toBeLessThanOrEqual(most.count)
          if (most === exact) expect(sums[index].units).toBe(exact.units)
        }
        expect(lastTimeOf(profile, { t, id: NOBODY })).toBe(naive.lastBefore(t))
        expect(profile.mean_usd).toBeCloseTo(naive.mean, 6)
        if (profile.txn_count > 1) expect(deviationOf(profile)).toBeCloseTo(naive.deviation, 5)
        if (kind === 'user') expect(countSeen(profile.devices, t, 7 * DAY)).toBe(naive.distinct('device', t, 7 * DAY))
        if (kind === 'device') expect(countSeen(profile.users, t, DAY)).toBe(naive.distinct('user', t, DAY))
      }
    }),
    { numRuns: 150 },
  )
})

test('the sums for a late transaction cover only earlier transactions, and no earlier device is forgotten', () => {
  fc.assert(
    fc.property(transactions(80, 2 * DAY), fc.integer({ min: 0, max: DAY }), (made, earlier) => {
      const requests = requestsOf(made)
      const t = NOON - earlier
      const profile = inBatches('user', requests, [])
      const naive = naiveProfile('user', IDS.user, requests)
      for (const [index, sum] of sumsOf(profile, { t, id: NOBODY }, WINDOWS).entries())
        expect(sum).toMatchObject(naive.within(t, WINDOWS[index]))
      expect(lastTimeOf(profile, { t, id: NOBODY })).toBe(naive.lastBefore(t))
      expect(countSeen(profile.devices, t, DAY)).toBeGreaterThanOrEqual(naive.distinct('device', t, DAY))
    }),
    { numRuns: 150 },
  )
})

test.each([
  ['user', HOUR],
  ['user', 7 * DAY],
  ['device', DAY],
  ['ip', 6 * DAY],
] as const)(
  'of more than 512 transactions of a %s over %i ms, the oldest are counted in sums, within the stated error',
  (kind, spreadMs) => {
    const error = [MINUTE, 15 * MINUTE, 2 * HOUR]
    const requests = Array.from({ length: 3_000 }, (_, index) => ({
      ago: Math.floor((spreadMs * ((index * 7_919) % 3_000)) / 3_000),
      amount: 1 + (index % 9),
      other: 0,
    }))
    const all = requestsOf(requests)
    const naive = naiveProfile(kind, IDS[kind], all)
    const profiles = [
      inBatches(kind, all, []),
      inBatches(
        kind,
        all,
        Array.from({ length: 60 }, () => 50),
      ),
    ]
    expect(withoutRounding(profiles[1])).toEqual(withoutRounding(profiles[0]))
    expect(eventCount(profiles[0].events)).toBeLessThanOrEqual(512)
    for (const t of [NOON, NOON + MINUTE, NOON + 50 * MINUTE]) {
      for (const [index, sum] of sumsOf(profiles[0], { t, id: NOBODY }, WINDOWS).entries()) {
        const [least, most] = [naive.within(t, WINDOWS[index]), naive.within(t, WINDOWS[index] + error[index])]
        expect(sum.count).toBeGreaterThanOrEqual(least.count)
        expect(sum.count).toBeLessThanOrEqual(most.count)
        expect(sum.units).toBeGreaterThanOrEqual(least.units)
        expect(sum.units).toBeLessThanOrEqual(most.units)
      }
    }
    expect(profiles[0].txn_count).toBe(3_000)
  },
)

test('a profile lists 512 transactions individually, and the next transaction moves the oldest one into a sum', () => {
  const requests = Array.from({ length: 513 }, (_, index) => pay({ at: NOON - HOUR + index * SECOND_STEP, amount: 1 }))
  const full = profileOf('user', 'u1', requests.slice(0, 512))
  expect([eventCount(full.events), full.sums.length]).toEqual([512, 0])
  const over = profileOf('user', 'u1', requests.slice(512), full)
  expect(eventCount(over.events)).toBe(512)
  expect(over.sums.length).toBeGreaterThan(0)
  expect(sumsOf(over, { t: NOON, id: NOBODY }, WINDOWS)).toMatchObject([{ count: 513 }, { count: 513 }, { count: 513 }])
})

const SECOND_STEP = 7_000

test('a transaction that is too old for all windows of the profile counts only in the lifetime totals', () => {
  const profile = profileOf('user', 'u1', [pay({ at: NOON, amount: 5 }), pay({ at: NOON - 8 * DAY, amount: 7, device: 'd1' })])
  expect(profile).toMatchObject({ txn_count: 2, first_seen: NOON - 8 * DAY, mean_usd: 6 })
  expect(eventCount(profile.events)).toBe(1)
  expect(sumsOf(profile, { t: NOON, id: NOBODY }, WINDOWS)).toMatchObject([{ count: 1 }, { count: 1 }, { count: 1 }])
})

test('a profile does not count a transaction twice', () => {
  const [first, second] = [pay({ at: NOON }), pay({ at: NOON, amount: 3 })]
  const once = profileOf('user', 'u1', [first, second])
  expect(profileOf('user', 'u1', [second, first, first], once)).toBe(once)
  expect(profileOf('user', 'u1', [first, first, second])).toEqual(once)
})

test('folding does not modify the given profile', () => {
  const before = profileOf('user', 'u1', [pay({ device: 'd1', at: NOON - HOUR, place: [1, 1] })])
  const copy = structuredClone(profileBytes(before))
  profileOf('user', 'u1', [pay({ device: 'd1', at: NOON, place: [2, 2] }), pay({ at: NOON - 2 * HOUR, device: 'd1' })], before)
  expect(profileBytes(before)).toEqual(Buffer.from(copy))
})

test('the newest places are kept, regardless of the order in which they arrive', () => {
  const requests = Array.from({ length: 20 }, (_, index) => pay({ at: NOON - ((index * 7) % 20) * MINUTE, place: [index, index] }))
  const profile = profileOf('user', 'u1', requests)
  expect(placeBefore(profile.places, NOON)).toEqual({ at: NOON, lat: 0, lng: 0 })
  expect(placeBefore(profile.places, NOON - 1)).toMatchObject({ at: NOON - MINUTE, lat: 3 })
  expect(placeBefore(profile.places, NOON - 8 * MINUTE)).toBeUndefined()
})

test('the profile of a device with 300 users lists the newest 32 users and counts at most 128', () => {
  const requests = Array.from({ length: 300 }, (_, index) => pay({ device: 'd1', user: `user-${index}`, at: NOON - index * 1_000 }))
  const profile = profileOf('device', 'd1', requests)
  expect(profile.user_ids.map(({ user_id }) => user_id)).toEqual(Array.from({ length: 32 }, (_, index) => `user-${index}`))
  expect(countSeen(profile.users, NOON, DAY)).toBe(128)
  const reversed = profileOf(
    'device',
    'd1',
    requests.toReversed().slice(200),
    profileOf('device', 'd1', requests.toReversed().slice(0, 200)),
  )
  expect(reversed.user_ids).toEqual(profile.user_ids)
})

test('the profile of a user with 35 payments in a week fits into 2 KB, and the profile of an address with 40,000 payments fits into 32 KB', () => {
  const week = Array.from({ length: 35 }, (_, index) =>
    pay({
      at: NOON - index * 5 * HOUR - index * 1_234,
      amount: 10 + index,
      device: `d${index % 2}`,
      ip: `192.0.2.${index % 6}`,
      card: `c${index % 2}`,
      merchant: `m${index % 15}`,
      place: [37 + index / 100, -122],
    }),
  )
  const user = profileBytes(profileOf('user', 'u1', week))
  expect(user.length).toBeLessThan(2_048)
  const busy = Array.from({ length: 40_000 }, (_, index) =>
    pay({
      at: NOON - index * 15_000,
      device: `device-${index % 500}`,
      ip: '192.0.2.1',
      card: `card-${index % 500}`,
      user: `${index % 500}`.padStart(36, 'u'),
    }),
  )
  expect(profileBytes(profileOf('ip', '192.0.2.1', busy)).length).toBeLessThan(32_768)
})

test('a profile survives encoding and decoding, and bytes of another version are refused', () => {
  const profile = profileOf('device', 'd1', [pay({ device: 'd1', ip: '192.0.2.1', card: 'c1' })])
  const bytes = profileBytes(profile)
  expect(profileFromBytes(bytes)).toEqual(profile)
  bytes[0] = 99
  expect(profileFromBytes(bytes)).toBeUndefined()
  const rows = eventsOf(pay()).map(({ event: { at, id, units } }) => ({ at, id, units }))
  expect(unpackEvents(packEvents(rows))).toEqual(rows)
})

const verdict = (given: Partial<EntityVerdict>): EntityVerdict => ({
  verdict: 'CONFIRMED_FRAUD',
  previous: null,
  at: NOON,
  previous_at: null,
  ...given,
})

function judged(kind: EntityKind, verdicts: readonly Partial<EntityVerdict>[], profile = NEW_PROFILE): FraudProfile {
  return verdicts.reduce<FraudProfile>((known, given) => foldVerdict(known, kind, verdict(given)), profile)
}

const FALSE_POSITIVE = { verdict: 'FALSE_POSITIVE' } as const
const CORRECTED = { verdict: 'FALSE_POSITIVE', previous: 'CONFIRMED_FRAUD', previous_at: NOON } as const

test.each([
  ['a fraud', [{}], 'HIGH', 1],
  ['two frauds', [{}, {}], 'HIGH', 2],
  ['a false positive of a normal user', [FALSE_POSITIVE], 'NORMAL', 0],
  ['a false positive after a fraud lowers the tier by one step', [{}, FALSE_POSITIVE], 'ELEVATED', 1],
  ['two false positives after a fraud lower the tier by two steps', [{}, FALSE_POSITIVE, FALSE_POSITIVE], 'NORMAL', 1],
  ['a correction from fraud to false positive', [{}, CORRECTED], 'ELEVATED', 0],
  ['a correction from false positive to fraud', [FALSE_POSITIVE, { previous: 'FALSE_POSITIVE', previous_at: NOON }], 'HIGH', 1],
  ['the same verdict again', [{}, { previous: 'CONFIRMED_FRAUD', previous_at: NOON }], 'HIGH', 1],
  ['suspicion', [{ verdict: 'SUSPICIOUS' }], 'NORMAL', 0],
  ['suspicion after fraud', [{}, { verdict: 'SUSPICIOUS', previous: 'CONFIRMED_FRAUD', previous_at: NOON }], 'HIGH', 0],
] as const)('verdicts: %s', (_what, verdicts, tier, fraud_count) => {
  expect(judged('user', verdicts)).toMatchObject({ tier, fraud_count })
  expect(judged('device', verdicts)).toMatchObject({ tier, fraud_count })
  expect(judged('card', verdicts)).toMatchObject({ tier: 'NORMAL', fraud_count })
})

test("a merchant's rates count frauds by the time of the verdict, and a correction removes a fraud again", () => {
  const paid = profileOf(
    'merchant',
    'm1',
    Array.from({ length: 40 }, (_, index) => pay({ merchant: 'm1', at: NOON - index * DAY - HOUR })),
  )
  const rates = (profile: FraudProfile, t: number) =>
    sumsOf(profile, { t, id: NOBODY }, [7 * DAY, 30 * DAY]).map(({ count, frauds }) => [frauds, count])
  expect(rates(paid, NOON)).toEqual([
    [0, 7],
    [0, 31],
  ])
  const found = judged('merchant', [{ at: NOON - 10 * DAY }, { at: NOON - DAY }, { at: NOON + DAY }], paid)
  expect(rates(found, NOON).map(([frauds]) => frauds)).toEqual([1, 2])
  expect(rates(judged('merchant', [{ ...CORRECTED, previous_at: NOON - DAY }], found), NOON).map(([frauds]) => frauds)).toEqual([0, 1])
  expect(PROFILE_SHAPES.merchant.seen).toEqual({})
})

test('adding no transactions does not change a profile', () => {
  expect(foldEvents(NEW_PROFILE, PROFILE_SHAPES.user, [])).toBe(NEW_PROFILE)
})
