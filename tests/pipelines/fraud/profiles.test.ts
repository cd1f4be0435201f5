import { expect, test } from 'vitest'
import type { KeyedStore } from '../../../pipelines/engine/index.ts'
import {
  type CommitFaultPoint,
  DriverCrash,
  memoryBackend,
  type TestDriver,
  type TestDriverOptions,
  testDriver,
} from '../../../pipelines/engine/testing.ts'
import type { StoredProfile } from '../../../pipelines/fraud/profiles/stored.ts'
import { fraudProfilesTopology } from '../../../pipelines/fraud/profiles/topology.ts'
import { fraudReviews } from '../../../schemas/fraud/cases/topics.ts'
import { entityKey, parseEntityKey } from '../../../schemas/fraud/entity.ts'
import { hash48 } from '../../../schemas/fraud/hash.ts'
import { unpackEvents } from '../../../schemas/fraud/profile/events.ts'
import { unpackProfile } from '../../../schemas/fraud/profile/packed.ts'
import { fraudFeedback, fraudProfiles, txnScored } from '../../../schemas/fraud/topics.ts'
import type { FraudFeedback, FraudProfile, FraudRequest, TxnScored } from '../../../schemas/fraud/types.ts'
import { StateCorrupted } from '../../../state/stores/errors.ts'
import { integer, pick, seededRandom } from '../../../tools/random/random.ts'
import { DAY, HOUR, MINUTE, NOON, type Payment, pay, profileOf } from '../../schemas/fraud/payments.ts'
import { scored } from './scored.ts'

const FULL: Payment = { device: 'd1', ip: '192.0.2.1', card: 'c1', merchant: 'm1', place: [1, 2] }
const NOTHING = Buffer.alloc(0)

function profilesDriver(options: TestDriverOptions = {}) {
  const driver = testDriver(fraudProfilesTopology, { startAt: NOON, ...options })
  const send = (request: FraudRequest) => driver.pipe(txnScored, request.payer.user_id, scored(request))
  const judge = (feedback: Partial<FraudFeedback>) => {
    const whole: FraudFeedback = {
      transaction_id: 't1',
      case_id: '1',
      verdict: 'CONFIRMED_FRAUD',
      previous_verdict: null,
      previous_at: null,
      fraud_type: null,
      notes: '',
      evidence: [],
      reporter: 'ann',
      at: driver.now,
      user_id: 'u1',
      device: null,
      ip: null,
      card: null,
      merchant: null,
      ...feedback,
    }
    driver.pipe(fraudFeedback, whole.transaction_id, whole)
  }
  const profile = (key: string) => storedProfile(driver, key)
  return { driver, send, judge, profile }
}

function storedProfile(driver: TestDriver, key: string, partitions = 1): FraudProfile | undefined {
  for (let partition = 0; partition < partitions; partition++) {
    const found = driver.store<KeyedStore<string, StoredProfile>>('profiles', partition).get(key)
    // The stored form also lists the newly included transactions, which the comparison ignores.
    if (found !== undefined) return { ...unpackProfile(found), included: NOTHING }
  }
  return undefined
}

/**
 * Reads the new records. Returns them, the newest profile of each entity, and the hashes of all transaction ids that
 * its records include.
 */
function published(driver: TestDriver) {
  const profiles = new Map<string, FraudProfile | null>()
  const included = new Map<string, number[]>()
  const records = driver.read(fraudProfiles)
  for (const { key, value } of records) {
    profiles.set(key as string, value)
    included.set(key as string, [...(included.get(key as string) ?? []), ...unpackEvents(value?.included ?? NOTHING).map(({ id }) => id)])
  }
  return { records, profiles, included }
}

test('the topology has two repartitioned inputs and one folding stage', () => {
  expect(fraudProfilesTopology.describe().text).toMatchInlineSnapshot(`
    "topology fraud-profiles
      sub-topology 0: 1 partitions
        source txn.scored
          process spread (stores counted) → fraud-profiles-changes-repartition, fraud-reviews
          tick forget-counted (every 1000 ms of wall time; stores counted)
          before-commit emit-events → fraud-profiles-changes-repartition
        store counted (changelog fraud-profiles-counted-changelog)
      sub-topology 1: 1 partitions
        source fraud-feedback
          process judge → fraud-profiles-changes-repartition
          before-commit emit-verdicts → fraud-profiles-changes-repartition
      sub-topology 2: 1 partitions
        source fraud-profiles-changes-repartition
          process collect (stores profiles)
          tick forget-idle (every 1000 ms of wall time; stores profiles)
          before-commit fold (stores profiles) → fraud-profiles-profiles-changelog
        store profiles (changelog fraud-profiles-profiles-changelog)
    "
  `)
})

test('a transaction changes the profiles of its five entities', () => {
  const { driver, send, profile } = profilesDriver()
  const request = pay({ ...FULL, amount: 12.5 })
  send(request)
  const { profiles, included, records } = published(driver)
  expect(records).toHaveLength(5)
  expect([...profiles.keys()].sort()).toEqual(['card:c1', 'device:d1', 'ip:192.0.2.1', 'merchant:m1', 'user:u1'])
  for (const [key, value] of profiles) {
    const { kind, id } = parseEntityKey(key)
    expect(profile(key)).toEqual(profileOf(kind, id, [request]))
    expect(value).toEqual({ ...profileOf(kind, id, [request]), included: value?.included })
    expect(included.get(key)).toEqual(kind === 'merchant' ? [] : [hash48(request.transaction_id)])
  }
  expect(profile('user:u1')).toMatchObject({ txn_count: 1, txn_units: 125_000, tier: 'NORMAL', fraud_count: 0 })
})

test('an entity that the transaction does not name has no profile', () => {
  const { driver, send } = profilesDriver()
  send(pay({}))
  expect([...published(driver).profiles.keys()]).toEqual(['user:u1'])
})

test('a transaction that is repeated within a day counts once, and the published records list it as included', () => {
  const { driver, send, profile } = profilesDriver()
  const request = pay({ device: 'd1' })
  send(request)
  driver.read(fraudProfiles)
  send(request)
  expect(driver.metrics.dropped.get('counted_before')).toBe(1)
  expect(profile('user:u1')?.txn_count).toBe(1)
  const { included } = published(driver)
  expect(included).toEqual(new Map(['user:u1', 'device:d1'].map((key) => [key, [hash48(request.transaction_id)]])))
  driver.restart({ downMs: DAY - MINUTE })
  send(request)
  expect(driver.metrics.dropped.get('counted_before')).toBe(2)
})

test('the ids of counted transactions are forgotten after a day', () => {
  const { driver, send } = profilesDriver()
  const ids = () => [...driver.store<KeyedStore<string, number>>('counted').scan()].map(([id]) => id)
  send(pay({ id: 'old' }))
  driver.restart({ downMs: 20 * HOUR })
  send(pay({ id: 'new' }))
  driver.restart({ downMs: 7 * HOUR })
  driver.advanceWallClock(MINUTE)
  expect(ids()).toEqual(['new'])
})

test('the transactions in one commit lead to one record per entity, even if all of them pay the same merchant', () => {
  const { driver, send } = profilesDriver({ commit: 'manual' })
  const requests = Array.from({ length: 500 }, (_, index) =>
    pay({ user: `u${index % 50}`, merchant: 'm1', ip: '192.0.2.1', at: NOON - index }),
  )
  for (const request of requests) send(request)
  driver.settle()
  const { records, profiles, included } = published(driver)
  expect(records).toHaveLength(52)
  expect(profiles.get('merchant:m1')).toMatchObject({ txn_count: 500 })
  expect(included.get('ip:192.0.2.1')).toHaveLength(500)
})

test('a commit with 1,500 transactions sends their changes in two records, and an entity that occurs in all transactions counts each of them once', () => {
  const { driver, send, profile } = profilesDriver({ commit: 'manual' })
  const count = 1_500
  for (let index = 0; index < count; index++) send(pay({ user: `u${index}`, ip: '192.0.2.1', amount: 1, at: NOON - index }))
  driver.settle()
  const changes = 'fraud-profiles-changes-repartition'
  expect(driver.broker.fetch(changes, 0, 0, Number.MAX_SAFE_INTEGER).chunks.reduce((sum, chunk) => sum + chunk.count, 0)).toBe(2)
  expect(profile('ip:192.0.2.1')).toMatchObject({ txn_count: count, txn_units: count * 10_000 })
  const { included } = published(driver)
  expect(new Set(included.get('ip:192.0.2.1')).size).toBe(count)
  expect(included.size).toBe(count + 1)
})

test('records between the stages stay below 1 MB, even if another producer uses ids of 200,000 characters', () => {
  const { driver, send, profile } = profilesDriver({ commit: 'manual' })
  const long = (index: number) => `${index}-${'d'.repeat(200_000)}`
  for (let index = 0; index < 5; index++) send(pay({ device: long(index), merchant: 'm1' }))
  driver.settle()
  const sizes = driver.broker.records('fraud-profiles-changes-repartition').map(({ value }) => value?.length ?? 0)
  expect(sizes).toHaveLength(2)
  expect(Math.max(...sizes)).toBeLessThan(1_000_000)
  expect(profile(`device:${long(4)}`)).toMatchObject({ txn_count: 1 })
  expect(profile('merchant:m1')).toMatchObject({ txn_count: 5 })
})

test('a verdict does not change the transaction counts, even if it is in the same commit as the transactions', () => {
  const { driver, send, judge, profile } = profilesDriver({ commit: 'manual' })
  send(pay(FULL))
  judge({ merchant: 'm1' })
  send(pay(FULL))
  driver.settle()
  expect(profile('merchant:m1')).toMatchObject({ txn_count: 2, fraud_count: 1 })
  expect(profile('user:u1')).toMatchObject({ txn_count: 2, fraud_count: 1, tier: 'HIGH' })
})

test('a damaged profile is reported as damaged state', () => {
  const backend = memoryBackend()
  const { driver, send } = profilesDriver({ openState: () => backend })
  send(pay({}))
  driver.restart()
  const session = backend.session('fraud-profiles')
  const [key, value] = [Buffer.from('user:u1'), Buffer.from([0, 0, 0, 0, 1, 2, 3])]
  value.writeInt32BE(driver.broker.records(fraudProfiles.name)[0].value!.readInt32BE(1), 1)
  session.column('profiles', 0).put(key, 0, key.length, value, 0, value.length)
  session.write()
  expect(() => send(pay({}))).toThrow(expect.objectContaining({ cause: expect.any(StateCorrupted) }))
})

test('queries of the state show the decoded profile', () => {
  const { driver, send, profile } = profilesDriver()
  send(pay({}))
  const store = driver.store<KeyedStore<string, StoredProfile>>('profiles')
  expect(store.lookup.view(store.get('user:u1'))).toEqual({ ...profile('user:u1'), included: expect.any(Buffer) })
})

test('verdicts change the fraud counts of all entities and the tiers of user and device, even before their first transaction', () => {
  const { send, judge, profile, driver } = profilesDriver()
  send(pay(FULL))
  const entities = { device: 'd1', ip: '192.0.2.1', card: 'c1', merchant: 'm1' }
  judge(entities)
  expect(profile('user:u1')).toMatchObject({ tier: 'HIGH', fraud_count: 1, txn_count: 1 })
  expect(profile('device:d1')).toMatchObject({ tier: 'HIGH', fraud_count: 1 })
  for (const key of ['ip:192.0.2.1', 'card:c1', 'merchant:m1']) expect(profile(key)).toMatchObject({ tier: 'NORMAL', fraud_count: 1 })
  judge({ ...entities, verdict: 'FALSE_POSITIVE', previous_verdict: 'CONFIRMED_FRAUD', previous_at: driver.now })
  expect(profile('user:u1')).toMatchObject({ tier: 'ELEVATED', fraud_count: 0 })
  judge({ user_id: 'u9', transaction_id: 't9' })
  expect(profile('user:u9')).toMatchObject({ tier: 'HIGH', fraud_count: 1, txn_count: 0 })
  send(pay({ user: 'u9', at: NOON - HOUR }))
  expect(profile('user:u9')).toMatchObject({ tier: 'HIGH', txn_count: 1, first_seen: NOON - HOUR })
})

test('a transaction that cannot be counted becomes a dead letter, and the other transactions of its commit count once', () => {
  const { driver, send, profile } = profilesDriver({ commit: 'manual' })
  const bad = [
    { amount: -1 },
    { amount: Number.NaN },
    { currency: 'XXX' },
    { at: NOON + 2 * DAY },
    { at: -5 },
    { user: 'u'.repeat(300_000) },
  ]
  send(pay({}))
  for (const payment of bad) send(pay(payment))
  send(pay({ place: [91, 0] }))
  driver.settle()
  expect(driver.readDeadLetters()).toHaveLength(bad.length)
  expect(profile('user:u1')).toMatchObject({ txn_count: 2 })
  expect(profile('user:u1')?.places).toEqual(NOTHING)
})

test('devices, IPs and cards that were idle for 90 days are forgotten, unless they took part in a fraud', () => {
  const { driver, send, judge, profile } = profilesDriver()
  send(pay(FULL))
  send(pay({ device: 'd2', at: NOON }))
  judge({ device: 'd2' })
  driver.read(fraudProfiles)
  driver.restart({ downMs: 89 * DAY })
  driver.advanceWallClock(MINUTE)
  expect(published(driver).records).toEqual([])
  driver.restart({ downMs: 2 * DAY })
  driver.advanceWallClock(MINUTE)
  expect(published(driver).profiles).toEqual(new Map(['card:c1', 'device:d1', 'ip:192.0.2.1'].map((key) => [key, null])))
  expect(profile('device:d1')).toBeUndefined()
  for (const key of ['user:u1', 'merchant:m1', 'device:d2']) expect(profile(key)).toBeDefined()
})

/** Returns two hours of payments among a few entities, in random order. Every fifth payment occurs twice. */
function traffic(count: number, seed: number): FraudRequest[] {
  const random = seededRandom(seed)
  const requests = Array.from({ length: count }, (_, index) =>
    pay({
      id: `t${index}`,
      at: NOON - integer(random, 2 * HOUR),
      amount: integer(random, 10_000) / 100,
      user: `u${integer(random, 4)}`,
      device: `d${integer(random, 3)}`,
      ip: `192.0.2.${integer(random, 2)}`,
      card: pick(random, ['c1', 'c2', null]),
      merchant: `m${integer(random, 2)}`,
      place: [integer(random, 90), integer(random, 180)],
    }),
  )
  return requests.flatMap((request, index) => (index % 5 === 0 ? [request, request] : [request]))
}

const COMMIT_STEPS: readonly CommitFaultPoint[] = ['encoded', 'produced', 'offsets-added', 'committed', 'written']

test.each([false, true])(
  'profiles, apart from their sets of seen entities, equal a fold of all transactions after crashes at every step (state lost: %s)',
  (wipeState) => {
    const partitions = { 'fraud-profiles-changes-repartition': 2, 'txn.scored': 2 }
    const { driver, send } = profilesDriver({ commit: 'manual', partitions })
    const requests = traffic(300, 7)
    let crashes = 0
    for (const [index, request] of requests.entries()) {
      send(request)
      if (index % 10 !== 9) continue
      const step = COMMIT_STEPS[((index / 10) % COMMIT_STEPS.length) | 0]
      driver.crashAt(step as never)
      try {
        driver.settle()
      } catch (error) {
        if (!(error instanceof DriverCrash)) throw error
        crashes++
      }
      driver.restart({ wipeState })
    }
    driver.settle()
    expect(crashes).toBe(36)
    const { profiles, included } = published(driver)
    const distinct = [...new Map(requests.map((request) => [request.transaction_id, request])).values()]
    expect(profiles.size).toBe(4 + 3 + 2 + 2 + 2)
    for (const [key, value] of profiles) {
      const { kind, id } = parseEntityKey(key)
      const { mean_usd, m2_usd, ...exact } = profileOf(kind, id, distinct)
      const stored = storedProfile(driver, entityKey(kind, id), 2)!
      const seen = { users: NOTHING, devices: NOTHING, ips: NOTHING, cards: NOTHING, merchants: NOTHING }
      expect({ ...stored, ...seen, mean_usd: 0, m2_usd: 0 }).toEqual({ ...exact, ...seen, mean_usd: 0, m2_usd: 0 })
      expect([stored.mean_usd, stored.m2_usd]).toEqual([expect.closeTo(mean_usd, 6), expect.closeTo(m2_usd, 4)])
      expect(value).toMatchObject({ txn_count: exact.txn_count, newest_at: exact.newest_at })
      expect(new Set(included.get(key)).size).toBe(kind === 'merchant' ? 0 : exact.txn_count)
    }
  },
)

test('transactions with the decision REVIEW are sent to the case topology, including repeated ones', () => {
  const { driver } = profilesDriver()
  const approved = scored(pay({ ...FULL, id: 't1' }))
  const event: TxnScored = { ...approved, decision: 'REVIEW', risk_score: 612, triggered_rules: ['r'] }
  for (const one of [approved, event, event, { ...event, decision: 'BLOCK' as const }]) driver.pipe(txnScored, 'u1', one)
  const expected = {
    transaction_id: 't1',
    user_id: 'u1',
    device: 'd1',
    ip: '192.0.2.1',
    card: 'c1',
    merchant: 'm1',
    decision: 'REVIEW',
    risk_score: 612,
  }
  expect(driver.read(fraudReviews).map(({ key, value }) => [key, value])).toMatchObject([
    ['t1', expected],
    ['t1', expected],
  ])
})
