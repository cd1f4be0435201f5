import fc from 'fast-check'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { entityProfiles } from '../../../../api/fraud/profiles/entity-profiles.ts'
import { keptAnswers } from '../../../../api/fraud/score/kept-answers.ts'
import { entityKey } from '../../../../schemas/fraud/entity.ts'
import { eventsOf } from '../../../../schemas/fraud/events.ts'
import { type Enrichments, featuresOf } from '../../../../schemas/fraud/features/features.ts'
import { packEvents } from '../../../../schemas/fraud/profile/events.ts'
import { NEW_PROFILE } from '../../../../schemas/fraud/profile/fold.ts'
import { packProfile } from '../../../../schemas/fraud/profile/packed.ts'
import type { FraudProfile, FraudRequest, TxnScored } from '../../../../schemas/fraud/types.ts'
import { boundedScripts } from '../../../../state/redis/bounded-scripts.ts'
import { positionsKey, viewStore } from '../../../../state/views/apply.ts'
import { FLIGHT_BYTES, IN_FLIGHT_MS, MOST_COUNTERS, MOST_IN_FLIGHT } from '../../../../state/views/fraud/in-flight.ts'
import { FRAUD_PROFILES_VIEW, fraudProfilesView, profileKeys } from '../../../../state/views/fraud/profiles.ts'
import { caughtUpKey } from '../../../../state/views/view.ts'
import '../../../property-limit.ts'
import { scored as scoredEvent } from '../../../pipelines/fraud/scored.ts'
import { HOUR, MINUTE, NO_IP_FACTS, NOON, pay, profileOf, SECOND } from '../../../schemas/fraud/payments.ts'
import { privateRedis } from '../../../stack/index.ts'

const PARTITION = 0
const TOPIC = 'fraud-profiles'

/** Starts a Redis with a sink and with the lookups of the API. The view has caught up. */
async function world() {
  const redis = new Redis((await privateRedis()).address)
  onTestFinished(() => redis.disconnect())
  const store = viewStore(redis)
  const clock = { now: NOON }
  const failures: string[] = []
  const scripts = boundedScripts({ redis, timeoutMs: 5_000, monotonic: () => performance.now() })
  // Runs scripts without the time limits of 10 and 15 ms, because these tests are not about the limits.
  const unlimited: typeof scripts = { run: (script, keys, args) => scripts.run(script, keys, args) }
  const profiles = entityProfiles({
    scripts: unlimited,
    partitionOf: () => PARTITION,
    onFailure: (reason) => void failures.push(reason),
    now: () => clock.now,
  })
  let position = 0
  /** Writes a profile as the sink does. */
  async function sink(entity: string, profile: FraudProfile, isCaughtUp = true): Promise<void> {
    const operations = fraudProfilesView.operationsFor(PARTITION, entity, packProfile(profile))
    const expected = position === 0 ? undefined : position
    const batch = { view: FRAUD_PROFILES_VIEW, partition: PARTITION, topic: TOPIC, viewTopics: [TOPIC], now: clock.now }
    const { applied } = await store.apply({ ...batch, expected, next: ++position, operations, caughtUp: isCaughtUp })
    expect(applied).toBe(true)
  }
  await sink('merchant:any', NEW_PROFILE)
  const answers = keptAnswers({ scripts: unlimited, keptMs: 60_000, onFailure: (reason) => void failures.push(reason) })
  const enrich = (request: FraudRequest) => profiles.enrich(request, clock.now)
  return { redis, store, clock, failures, profiles, enrich, answers, sink, keys: (entity: string) => profileKeys(PARTITION, entity) }
}

function featuresFrom(request: FraudRequest, enrichments: Enrichments) {
  return featuresOf(request, NO_IP_FACTS, enrichments).features
}

test('of six simultaneous payments by a user, each counts a different number of the others, from 0 to 5', async () => {
  const { enrich } = await world()
  const requests = Array.from({ length: 6 }, (_, index) => pay({ id: `t${index}`, device: 'd1' }))
  const features = await Promise.all(requests.map(async (request) => featuresFrom(request, await enrich(request))))
  expect(features.map(({ user_velocity_1h }) => user_velocity_1h).sort()).toEqual([0, 1, 2, 3, 4, 5])
  expect(features.map(({ device_sum_1h }) => device_sum_1h).sort()).toEqual([0, 10, 20, 30, 40, 50])
})

test('each payment counts once for later payments, however far the sink lags behind', async () => {
  const { enrich, sink } = await world()
  let round = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ user: fc.constantFrom('u', 'v'), ago: fc.integer({ min: 0, max: 2 * HOUR }), isSunk: fc.boolean() }), {
        maxLength: 40,
      }),
      async (made) => {
        round++
        const scored: FraudRequest[] = []
        const sunk = new Set<FraudRequest>()
        for (const [index, { user, ago, isSunk }] of made.entries()) {
          const request = pay({ id: `r${round}-${index}`, user: `${user}${round}`, device: `d${round}`, at: NOON - ago, amount: index + 1 })
          const features = featuresFrom(request, await enrich(request))
          const before = (isOurs: (one: FraudRequest) => boolean, windowMs: number) =>
            scored.filter((one) => isOurs(one) && one.timestamp <= request.timestamp && one.timestamp > request.timestamp - windowMs)
          const ofUser = before(({ payer }) => payer.user_id === request.payer.user_id, HOUR)
          expect(features.user_velocity_1h).toBe(ofUser.length)
          expect(features.user_sum_1h).toBeCloseTo(ofUser.reduce((sum, { amount }) => sum + amount, 0))
          expect(features.device_velocity_24h).toBe(before(() => true, 24 * HOUR).length)
          scored.push(request)
          if (isSunk) await sinkUser(request.payer.user_id, scored, sunk)
        }
      },
    ),
    { numRuns: 25 },
  )

  /** Makes the sink include all payments of one user. Afterwards, only some of the device's payments are included. */
  async function sinkUser(user: string, scored: readonly FraudRequest[], sunk: Set<FraudRequest>): Promise<void> {
    const added = scored.filter((one) => one.payer.user_id === user && !sunk.has(one))
    for (const one of added) sunk.add(one)
    for (const [kind, id] of [
      ['user', user],
      ['device', `d${round}`],
    ] as const) {
      const included = added.flatMap(eventsOf).filter((seen) => seen.kind === kind)
      await sink(entityKey(kind, id), { ...profileOf(kind, id, [...sunk]), included: packEvents(included.map(({ event }) => event)) })
    }
  }
})

test('payments in flight above the maximum number are counted per second, and the sink removes them from these counts', async () => {
  const { profiles, enrich, sink, redis, keys } = await world()
  const count = MOST_IN_FLIGHT + 100
  const requests = Array.from({ length: count }, (_, index) =>
    pay({ id: `t${index}`, user: `u${index}`, ip: '192.0.2.1', at: NOON + (index % 10) * SECOND, amount: 1 }),
  )
  for (const [index, request] of requests.entries()) {
    // The timestamp is later than all others, so that the window contains all transactions.
    const features = featuresFrom({ ...request, timestamp: NOON + MINUTE }, await enrich(request))
    expect(features.ip_velocity_1h).toBe(index)
    expect(features.ip_sum_1h).toBe(index)
  }
  const { flight, counted } = keys('ip:192.0.2.1')
  expect(await redis.strlen(flight)).toBe(MOST_IN_FLIGHT * FLIGHT_BYTES)
  expect(Object.keys(await redis.hgetall(counted))).toHaveLength(10)

  const last = pay({ id: 'last', user: 'u', ip: '192.0.2.1', at: NOON + MINUTE })
  for (const until of [100, 300, count]) {
    const included = requests.slice(until === 100 ? 0 : until === 300 ? 100 : 300, until)
    const profile = profileOf('ip', '192.0.2.1', requests.slice(0, until))
    const events = included.flatMap(eventsOf).filter(({ kind }) => kind === 'ip')
    await sink('ip:192.0.2.1', { ...profile, included: packEvents(events.map(({ event }) => event)) })
    const held = await profiles.find('ip', '192.0.2.1')
    const features = featuresFrom(last, { user: undefined, device: undefined, card: undefined, merchant: undefined, ip: held })
    expect([until, features.ip_velocity_1h, features.ip_sum_1h]).toEqual([until, count, count])
  }
  expect(await redis.exists(flight, counted)).toBe(0)
})

test('counts per second are merged into counts per minute, so that fewer than a hundred remain, and the sink can still remove them', async () => {
  const { profiles, enrich, sink, redis, keys } = await world()
  const count = MOST_IN_FLIGHT + MOST_COUNTERS + 50
  const requests = Array.from({ length: count }, (_, index) =>
    pay({ id: `t${index}`, ip: '192.0.2.1', at: NOON + index * SECOND, amount: 2 }),
  )
  for (const request of requests) await enrich(request)
  const { flight, counted } = keys('ip:192.0.2.1')
  const fields = Object.keys(await redis.hgetall(counted))
  expect(fields.length).toBeLessThan(100)
  expect(fields.some((field) => field.startsWith('m'))).toBe(true)
  const held = await profiles.find('ip', '192.0.2.1')
  expect(held).not.toBe('failed')
  if (held === 'failed') return
  expect(held.inFlight.length + held.inFlightSeconds.reduce((sum, second) => sum + second.count, 0)).toBe(count)
  expect(held.inFlightSeconds.reduce((sum, { units }) => sum + units, 0)).toBe((count - MOST_IN_FLIGHT) * 20_000)
  const events = requests.flatMap(eventsOf).filter(({ kind }) => kind === 'ip')
  await sink('ip:192.0.2.1', { ...profileOf('ip', '192.0.2.1', requests), included: packEvents(events.map(({ event }) => event)) })
  expect(await redis.exists(flight, counted)).toBe(0)
})

test('a payment is in flight for at most a day, and then makes room for other payments', async () => {
  const { profiles, enrich, redis, clock, keys } = await world()
  const { flight } = keys('user:u1')
  await enrich(pay({ id: 'old' }))
  expect(await redis.pttl(flight)).toBeGreaterThan(IN_FLIGHT_MS - MINUTE)
  clock.now += IN_FLIGHT_MS
  for (let index = 0; index <= MOST_IN_FLIGHT; index++) await enrich(pay({ id: `new${index}`, at: clock.now }))
  const held = await profiles.find('user', 'u1')
  if (held === 'failed') throw new Error('the lookup failed')
  expect(held.inFlight).toHaveLength(MOST_IN_FLIGHT - 1)
  expect(held.inFlightSeconds).toMatchObject([{ count: 2 }])
})

test('while the view is being built, lookups fail, but payments are still noted as in flight', async () => {
  const { store, enrich, failures, redis, keys } = await world()
  await redis.del(positionsKey(FRAUD_PROFILES_VIEW, PARTITION), caughtUpKey(FRAUD_PROFILES_VIEW, PARTITION))
  await store.finishClearing(FRAUD_PROFILES_VIEW, PARTITION)
  const enrichments = await enrich(pay({ device: 'd1' }))
  expect(enrichments).toMatchObject({ user: 'failed', device: 'failed', ip: undefined })
  expect(failures).toEqual(['the view is being built'])
  expect(await redis.strlen(keys('user:u1').flight)).toBe(FLIGHT_BYTES)
})

test('a withdrawn transaction is no longer in flight, unless another request has also added it', async () => {
  const { profiles, enrich, clock, redis, keys } = await world()
  const first = pay({ id: 't1', device: 'd1', merchant: 'm1', amount: 1 })
  const other = pay({ id: 't1', device: 'd1', ip: '192.0.2.1', amount: 2 })
  await enrich(first)
  await enrich(other)
  await profiles.withdraw(other, clock.now)
  expect(await redis.strlen(keys('device:d1').flight)).toBe(FLIGHT_BYTES)
  expect(await redis.exists(keys('ip:192.0.2.1').flight)).toBe(0)
  await profiles.withdraw(first, clock.now)
  expect(await redis.exists(keys('user:u1').flight, keys('device:d1').flight)).toBe(0)
})

test('if two processes score the same transaction, the first answer is kept, unless the second answer blocks the transaction', async () => {
  const { answers } = await world()
  const audited: TxnScored[] = []
  const audit = async (earlier: TxnScored) => void audited.push(earlier)
  const request = pay({ id: 't1' })
  const scored = scoredEvent(request)
  expect(await answers.claim(request)).toEqual({ state: 'new' })
  expect(await answers.claim(request)).toEqual({ state: 'new' })
  expect(await answers.claim({ ...request, amount: 11 })).toEqual({ state: 'conflict' })
  expect(await answers.find('t1')).toBeUndefined()
  expect(await answers.keep(scored, audit)).toEqual({ state: 'new' })
  expect(await answers.keep({ ...scored, request_id: 'second' }, audit)).toEqual({ state: 'answered', scored })
  expect(await answers.claim(request)).toEqual({ state: 'answered', scored })
  expect(await answers.keep({ ...scored, request: { ...request, amount: 11 } }, audit)).toEqual({ state: 'conflict' })
  const blocked = { ...scored, decision: 'BLOCK' as const, reason: 'blocklist_hit' }
  expect(audited).toEqual([])
  expect(await answers.keep(blocked, audit)).toEqual({ state: 'new' })
  expect(audited).toEqual([scored])
  expect(await answers.find('t1')).toEqual(blocked)
})
