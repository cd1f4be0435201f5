import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HotEntities } from '../../../../api/fraud/profiles/hot-entities.ts'
import type { FraudEvent } from '../../../../schemas/fraud/event.ts'
import { upToDate } from '../../../../schemas/fraud/features/features.ts'
import { profileBytes } from '../../../../schemas/fraud/profile/bytes.ts'
import { foldEvents, NEW_PROFILE } from '../../../../schemas/fraud/profile/fold.ts'
import { deviationOf } from '../../../../schemas/fraud/profile/read.ts'
import { PROFILE_SHAPES } from '../../../../schemas/fraud/profile/shape.ts'
import { type HeldBytes, heldEntity } from '../../../../state/views/fraud/enrich.ts'
import { flightRow, IN_FLIGHT_MS, MOST_IN_FLIGHT } from '../../../../state/views/fraud/in-flight.ts'
import '../../../property-limit.ts'
import { HOUR, MINUTE, NOON } from '../../../schemas/fraud/payments.ts'
import { comparable } from '../../../schemas/fraud/profile-contents.ts'

const ENTITY = 'ip:192.0.2.1'
/**
 * Number of earlier transactions. It exceeds both limits of a profile: the maximum number of transactions that are
 * listed individually, and the maximum number of users that are remembered.
 */
const HISTORY = 530
const SHAPE = PROFILE_SHAPES.ip

let made = 0

function event(ago: number, user: number): FraudEvent {
  const none = { place: null, ip: null, merchant: null, user_id: null }
  return { ...none, id: ++made, at: NOON - ago, units: 10_000 * (made % 90), user, device: user % 7, card: user }
}

interface Flight {
  readonly event: FraudEvent
  readonly addedAt: number
}

/**
 * Simulates the data in Redis about a busy IP address. The returned functions change the data as the script, the sink
 * and the passage of time would.
 */
function address() {
  let profile = foldEvents(
    NEW_PROFILE,
    SHAPE,
    Array.from({ length: HISTORY }, (_, index) => event(MINUTE * index, index % 140)),
  )
  let flight: Flight[] = []
  return {
    add(added: FraudEvent, now: number): void {
      if (flight.length < MOST_IN_FLIGHT) flight.push({ event: added, addedAt: now })
    },
    /**
     * Adds the transactions in flight that `isIncluded` selects to the profile. Those that `isRemoved` also selects are
     * then removed from the transactions in flight. The others remain both in the profile and in flight.
     */
    sink(isIncluded: (index: number) => boolean, isRemoved: (index: number) => boolean): void {
      const included = flight.filter((_, index) => isIncluded(index))
      profile = foldEvents(
        profile,
        SHAPE,
        included.map((one) => one.event),
      )
      flight = flight.filter((one, index) => !included.includes(one) || !isRemoved(index))
    },
    judge(): void {
      profile = { ...profile, fraud_count: profile.fraud_count + 1 }
    },
    withdraw(index: number): void {
      flight = flight.filter((_, one) => one !== index)
    },
    forget(): void {
      flight = []
    },
    ids: () => flight.map((one) => one.event.id),
    held(counted: boolean): HeldBytes {
      const rows = flight.map((one) => flightRow(one.event, one.addedAt))
      const counters = counted ? [Buffer.from(String(NOON / 1_000)), Buffer.from('3 70000')] : []
      return { profile: profileBytes(profile), flight: rows.length === 0 ? null : Buffer.concat(rows), counted: counters }
    },
  }
}

function expectSame(apis: readonly HotEntities[], held: HeldBytes, id: number, now: number): void {
  const plain = upToDate('ip', heldEntity(held, now)!, id)
  for (const api of apis) {
    const kept = upToDate('ip', api.read('ip', ENTITY, held, id, now)!, id)
    expect(comparable(kept)).toEqual(comparable(plain))
    expect(kept.mean_usd).toBeCloseTo(plain.mean_usd, 6)
    expect(deviationOf(kept)).toBeCloseTo(deviationOf(plain), 6)
  }
}

const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ step: fc.constant('pay' as const), count: fc.integer({ min: 1, max: 25 }), ago: fc.nat(2 * HOUR) }),
    },
    { weight: 2, arbitrary: fc.record({ step: fc.constant('sink' as const), share: fc.integer({ min: 1, max: 4 }), left: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ step: fc.constantFrom('judge' as const, 'stale' as const, 'forget' as const) }) },
    { weight: 1, arbitrary: fc.record({ step: fc.constantFrom('withdraw' as const, 'repeat' as const), index: fc.nat(60) }) },
    { weight: 1, arbitrary: fc.record({ step: fc.constant('wait' as const), ms: fc.constantFrom(1_000, IN_FLIGHT_MS / 2) }) },
  ),
  { maxLength: 15 },
)

test('a process that adds transactions in flight to a profile as they arrive gets the same profile as if it added all of them at once', () => {
  fc.assert(
    fc.property(steps, (made) => {
      const redis = address()
      const [first, second] = [new HotEntities(), new HotEntities()]
      let now = NOON
      let earlier = redis.held(false)
      for (const step of made) {
        const before = redis.held(false)
        if (step.step === 'pay') {
          for (let index = 0; index < step.count; index++) {
            const added = event((step.ago * (index % 3)) / 2, index * 11)
            // Payments alternate between two processes, so the number of payments that were added since a process last
            // read the profile varies.
            if (index % 4 !== 3) expectSame([index % 2 === 0 ? first : second], redis.held(index % 5 === 0), added.id, now)
            redis.add(added, now)
          }
        } else if (step.step === 'sink')
          redis.sink(
            (index) => index % 4 < step.share,
            (index) => index !== step.left,
          )
        else if (step.step === 'judge') redis.judge()
        else if (step.step === 'withdraw') redis.withdraw(step.index)
        else if (step.step === 'forget') redis.forget()
        else if (step.step === 'wait') now += step.ms
        // A process may handle an older reply from Redis after a newer one.
        else if (step.step === 'stale') expectSame([first], earlier, 0, now)
        expectSame([first, second], redis.held(false), step.step === 'repeat' ? (redis.ids()[step.index] ?? 0) : 0, now)
        earlier = before
      }
    }),
    { numRuns: 15 },
  )
})

test('a profile of a different version cannot be read', () => {
  const redis = address()
  for (let index = 0; index < 20; index++) redis.add(event(0, 0), NOON)
  const held = redis.held(false)
  held.profile![0] = 9
  expect(new HotEntities().read('ip', ENTITY, held, 0, NOON)).toBeUndefined()
})

test('only the most recently used entities are remembered', () => {
  const hot = new HotEntities()
  const redis = address()
  for (let index = 0; index < 20; index++) redis.add(event(0, 0), NOON)
  const held = redis.held(false)
  const read = (entity: string) => hot.read('ip', entity, held, 0, NOON)!.profile
  const first = read('ip:first')
  expect(read('ip:first')).toBe(first)
  for (let index = 0; index < 127; index++) read(`ip:${index}`)
  expect(read('ip:first')).toBe(first)
  for (let index = 0; index < 128; index++) read(`ip:${index}`)
  expect(read('ip:first')).not.toBe(first)
})
