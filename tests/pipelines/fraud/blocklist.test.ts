import { expect, test } from 'vitest'
import { decisionDriver } from '../../../pipelines/engine/testing.ts'
import { decideBlocklist } from '../../../pipelines/fraud/blocklist/decide.ts'
import { fraudBlocklistTopology } from '../../../pipelines/fraud/blocklist/topology.ts'
import { blockedEntity, entryIdOf } from '../../../schemas/fraud/blocklist/entity.ts'
import { blocklistFlow } from '../../../schemas/fraud/blocklist/flow.ts'
import { fraudBlocklist } from '../../../schemas/fraud/blocklist/topics.ts'
import { personalHashes } from '../../../schemas/fraud/personal-hash.ts'
import { fraudAudit } from '../../../schemas/fraud/topics.ts'
import type { FraudBlocklistCommand, FraudBlocklistRequest, FraudBlocklistType } from '../../../schemas/fraud/types.ts'

const HOUR_MS = 3_600_000
const hashes = personalHashes('a key for tests, long enough')

type Attributes = Partial<Pick<FraudBlocklistRequest, 'reason' | 'blocked_by' | 'ttl_hours'>>

function entry(type: FraudBlocklistType, value: string, attributes: Attributes = {}) {
  const entity = blockedEntity(type, value, hashes)!
  const request = { ...entity, reason: 'chargebacks', blocked_by: 'ann', ttl_hours: null, ...attributes }
  const block: FraudBlocklistCommand = { action: 'block', actor: 'ann', request }
  return { id: entryIdOf(entity), block }
}

const UNBLOCK: FraudBlocklistCommand = { action: 'unblock', actor: 'bob', request: null }

function world() {
  const decider = decisionDriver(fraudBlocklistTopology, blocklistFlow)
  const published = () => decider.driver.read(fraudBlocklist).map(({ key, value }) => [key, value?.expires_at])
  const audited = () =>
    decider.driver.read(fraudAudit).map(({ key, value }) => {
      const { action, actor, at, before, after } = value!
      return [key, action, actor, at, before && JSON.parse(before).reason, after && JSON.parse(after).reason]
    })
  return { ...decider, published, audited }
}

test('an entity is blocked and unblocked, and each change is published and audited with its actor', () => {
  const { ask, view, driver, published, audited } = world()
  const { id, block } = entry('DEVICE', 'd:1')
  const at = driver.now
  expect(ask(id, block)).toMatchObject({ outcome: 'created', entry: { entry_id: id, created_at: at, expires_at: null } })
  expect(view(id)).toMatchObject({ entity_type: 'DEVICE', entity_value: 'd:1', reason: 'chargebacks' })
  expect(published()).toEqual([['DEVICE:d:1', null]])
  driver.advanceWallClock(1_000)
  expect(ask(id, UNBLOCK)).toMatchObject({ outcome: 'removed', entry: { entry_id: id } })
  expect(view(id)).toBeUndefined()
  expect(published()).toEqual([['DEVICE:d:1', undefined]])
  expect(audited()).toEqual([
    [`blocklist:${id}`, 'block', 'ann', at, null, 'chargebacks'],
    [`blocklist:${id}`, 'unblock', 'bob', at + 1_000, 'chargebacks', null],
  ])
  expect(ask(id, UNBLOCK)).toEqual({ outcome: 'not_found' })
})

test('blocking an entity again returns `exists` if all attributes are equal and `conflict` otherwise, and changes nothing', () => {
  const { ask, driver, published, audited } = world()
  const { id, block } = entry('USER', 'u1', { ttl_hours: 2 })
  const first = ask(id, block)
  published()
  audited()
  driver.advanceWallClock(HOUR_MS)
  expect(ask(id, block)).toEqual({ ...first, outcome: 'exists' })
  for (const attributes of [{ ttl_hours: null }, { ttl_hours: 2, reason: 'other' }, { ttl_hours: 2, blocked_by: 'bob' }]) {
    expect(ask(id, entry('USER', 'u1', attributes).block)).toEqual({ ...first, outcome: 'conflict' })
  }
  expect([published(), audited()]).toEqual([[], []])
})

test('a change replaces the attributes, restarts the lifetime, and is audited', () => {
  const { ask, view, driver, published, audited } = world()
  const { id, block } = entry('USER', 'u1', { ttl_hours: 2 })
  const change = (attributes: Attributes): FraudBlocklistCommand => ({
    ...entry('USER', 'u1', attributes).block,
    action: 'change',
    actor: 'bob',
  })
  expect(ask(id, change({}))).toEqual({ outcome: 'not_found' })
  const created = driver.now
  ask(id, block)
  published()
  audited()
  driver.advanceWallClock(HOUR_MS)
  const changed = { reason: 'more', blocked_by: 'bob', ttl_hours: 3, created_at: created, expires_at: driver.now + 3 * HOUR_MS }
  expect(ask(id, change({ reason: 'more', blocked_by: 'bob', ttl_hours: 3 }))).toMatchObject({ outcome: 'changed', entry: changed })
  expect(view(id)).toMatchObject(changed)
  expect(published()).toEqual([['USER:u1', changed.expires_at]])
  expect(audited()).toEqual([[`blocklist:${id}`, 'change', 'bob', driver.now, 'chargebacks', 'more']])
  driver.advanceWallClock(2 * HOUR_MS)
  expect(view(id)).toMatchObject(changed)
  expect(ask(id, change({}))).toMatchObject({ entry: { ttl_hours: null, expires_at: null } })
  driver.advanceWallClock(2 * HOUR_MS)
  expect(view(id)).toMatchObject({ expires_at: null })
})

test('an entry exists until `expires_at`, and a timer then removes it and audits the removal', () => {
  const { ask, view, driver, published, audited } = world()
  const { id, block } = entry('IP', '::ffff:192.0.2.1', { ttl_hours: 1 })
  const due = driver.now + HOUR_MS
  ask(id, block)
  expect(published()).toEqual([['IP:192.0.2.1', due]])
  audited()
  driver.advanceWallClock(HOUR_MS - 1)
  expect([view(id)?.expires_at, published()]).toEqual([due, []])
  driver.advanceWallClock(2_000)
  expect([view(id), published()]).toEqual([undefined, [['IP:192.0.2.1', undefined]]])
  const [[subject, action, actor, at, before, after]] = audited()
  expect([subject, action, actor, before, after]).toEqual([`blocklist:${id}`, 'expire', 'system', 'chargebacks', null])
  expect(at).toBeGreaterThanOrEqual(due)
  expect(ask(id, UNBLOCK)).toEqual({ outcome: 'not_found' })
})

test('an expired entry counts as missing, even before the timer has removed it', () => {
  const { id, block } = entry('CARD_HASH', 'c1', { ttl_hours: 1 })
  const facts = { key: id, now: 0, commandId: 'c' }
  const { state } = decideBlocklist(undefined, block, facts)
  const due = { ...facts, now: HOUR_MS }
  expect(decideBlocklist(state!, block, { ...due, now: HOUR_MS - 1 }).answer.outcome).toBe('exists')
  expect(decideBlocklist(state!, block, due)).toMatchObject({ answer: { outcome: 'created' }, state: { expires_at: 2 * HOUR_MS } })
  expect(decideBlocklist(state!, UNBLOCK, due)).toEqual({ answer: { outcome: 'not_found' } })
})

test('a new entry is not removed by the timer of the previous entry', () => {
  const { ask, view, driver } = world()
  const { id, block } = entry('CARD_HASH', 'c1', { ttl_hours: 1 })
  ask(id, block)
  ask(id, UNBLOCK)
  expect(ask(id, entry('CARD_HASH', 'c1', { ttl_hours: 3, reason: 'again' }).block)).toMatchObject({ outcome: 'created' })
  driver.advanceWallClock(2 * HOUR_MS)
  expect(view(id)?.reason).toBe('again')
  driver.advanceWallClock(HOUR_MS + 1_000)
  expect(view(id)).toBeUndefined()
})

test('a permanent entry is not removed by the timer of the removed entry that it replaces', () => {
  const { ask, view, driver } = world()
  const { id, block } = entry('USER', 'u2', { ttl_hours: 1 })
  ask(id, block)
  ask(id, UNBLOCK)
  ask(id, entry('USER', 'u2').block)
  driver.advanceWallClock(3 * HOUR_MS)
  expect(view(id)).toMatchObject({ ttl_hours: null, expires_at: null })
})

test('if more entries expire than one tick removes, the following ticks remove the remaining entries', () => {
  const { ask, driver, published } = world()
  const MANY = 1_200
  for (let index = 0; index < MANY; index++) {
    const { id, block } = entry('USER', `many ${index}`, { ttl_hours: 1 })
    ask(id, block)
  }
  published()
  driver.advanceWallClock(HOUR_MS)
  for (let second = 0; second < 3; second++) driver.advanceWallClock(1_000)
  expect(published().filter(([, expiry]) => expiry === undefined)).toHaveLength(MANY)
})

test('the records about an e-mail address contain its keyed hash and its masked form, but not the address', () => {
  const { ask, driver } = world()
  const { id, block } = entry('EMAIL', ' Ann.Smith@Example.com ')
  ask(id, block)
  const [record] = driver.read(fraudBlocklist)
  expect(record.key).toBe(`EMAIL:${hashes.email('ann.smith@example.com')}`)
  expect(record.value?.masked_value).toBe('a***@example.com')
  const all = JSON.stringify([record, driver.read(fraudAudit), driver.read(blocklistFlow.decisions)])
  expect(all.toLowerCase()).not.toContain('smith')
})

test('values that no transaction can contain are not accepted as entities', () => {
  const made = (type: FraudBlocklistType, value: string) => blockedEntity(type, value, hashes) !== undefined
  expect([
    made('IP', '192.0.2.0/24'),
    made('IP', 'localhost'),
    made('EMAIL', 'example.com'),
    made('EMAIL', '@x'),
    made('EMAIL', 'a@'),
  ]).toEqual([false, false, false, false, false])
  expect([made('USER', ' \t'), made('EMAIL', 'a b@x')]).toEqual([false, false])
})
