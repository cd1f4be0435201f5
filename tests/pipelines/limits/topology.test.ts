import { expect, test } from 'vitest'
import { decisionDriver } from '../../../pipelines/engine/testing.ts'
import { limits } from '../../../pipelines/limits/topology.ts'
import { type GivenRule, ruleOf } from '../../../schemas/limit-rule.ts'
import { keySubject, limitFlow, ruleSubject } from '../../../schemas/limits/flow.ts'
import { limitAudit, limitClients, limitRules } from '../../../schemas/limits/topics.ts'
import type { LimitClient, LimitCommand } from '../../../schemas/limits/types.ts'

const ADMIN = '7'
const HASH = 'a'.repeat(64)

function ruleCommand(action: LimitCommand['action'], given: Partial<GivenRule> = {}): LimitCommand {
  const rule = ruleOf({ rule_id: 'one', endpoint_pattern: '/a/*', limit_count: 10, window_seconds: 60, ...given })
  return { action, actor: ADMIN, rule: action === 'delete_rule' ? null : rule, client: null }
}

function keyCommand(action: LimitCommand['action']): LimitCommand {
  const client: LimitClient = { key_id: 'k1', key_hash: HASH, client_id: 'acme', tier: 'pro', label: '', created_at: 0, revoked_at: null }
  return { action, actor: ADMIN, rule: null, client: action === 'issue_key' ? client : null }
}

const SUBJECT = ruleSubject('one')

test('a rule is created, replaced and deleted, and each change is published and audited with the previous rule', () => {
  const { ask, driver } = decisionDriver(limits, limitFlow)
  const createdAt = driver.now
  expect(ask(SUBJECT, ruleCommand('create_rule'))).toMatchObject({ outcome: 'done', rule: { limit_count: 10, created_at: createdAt } })
  driver.advanceWallClock(1_000)
  expect(ask(SUBJECT, ruleCommand('replace_rule', { limit_count: 20 }))).toMatchObject({
    rule: { limit_count: 20, created_at: createdAt, updated_at: createdAt + 1_000 },
  })
  driver.advanceWallClock(1_000)
  expect(ask(SUBJECT, ruleCommand('delete_rule'))).toMatchObject({ rule: { limit_count: 20, is_active: false } })

  const published = driver.read(limitRules).map(({ key, value }) => [key, value?.limit_count, value?.is_active])
  expect(published).toEqual([
    ['one', 10, true],
    ['one', 20, true],
    ['one', 20, false],
  ])
  const audit = driver.read(limitAudit).map(({ value }) => value!)
  expect(audit.map(({ action, actor, subject }) => [action, actor, subject])).toEqual([
    ['create_rule', ADMIN, SUBJECT],
    ['replace_rule', ADMIN, SUBJECT],
    ['delete_rule', ADMIN, SUBJECT],
  ])
  expect(audit.map(({ before }) => before && JSON.parse(before).limit_count)).toEqual([null, 10, 20])
  expect(audit.map(({ after }) => after && JSON.parse(after).is_active)).toEqual([true, true, false])
})

test('the id of an active rule cannot be used again, and a missing rule can be neither replaced nor deleted', () => {
  const { ask, driver } = decisionDriver(limits, limitFlow)
  expect(ask(SUBJECT, ruleCommand('replace_rule'))).toEqual({ outcome: 'not_found' })
  expect(ask(SUBJECT, ruleCommand('delete_rule'))).toEqual({ outcome: 'not_found' })
  ask(SUBJECT, ruleCommand('create_rule'))
  expect(ask(SUBJECT, ruleCommand('create_rule', { limit_count: 99 }))).toEqual({ outcome: 'exists' })
  ask(SUBJECT, ruleCommand('delete_rule'))
  expect(ask(SUBJECT, ruleCommand('delete_rule'))).toEqual({ outcome: 'not_found' })
  driver.advanceWallClock(5_000)
  expect(ask(SUBJECT, ruleCommand('create_rule', { limit_count: 99 }))).toMatchObject({
    outcome: 'done',
    rule: { limit_count: 99, created_at: driver.now },
  })
})

test('a seeded rule exists from the start, so it cannot be created again, but it can be deleted', () => {
  const { ask, driver } = decisionDriver(limits, limitFlow)
  const subject = ruleSubject('snippets-create')
  expect(ask(subject, ruleCommand('create_rule', { rule_id: 'snippets-create' }))).toEqual({ outcome: 'exists' })
  expect(ask(subject, ruleCommand('delete_rule'))).toMatchObject({
    outcome: 'done',
    rule: { rule_id: 'snippets-create', is_active: false },
  })
  const [{ value }] = driver.read(limitAudit)
  expect(JSON.parse(value!.before!)).toMatchObject({ endpoint_pattern: 'POST /api/v1/pastes', is_active: true })
})

test('an API key is issued and revoked once, and no audit record contains its hash', () => {
  const { ask, driver } = decisionDriver(limits, limitFlow)
  const subject = keySubject('k1')
  expect(ask(subject, keyCommand('issue_key'))).toMatchObject({ outcome: 'done', client: { client_id: 'acme', created_at: driver.now } })
  expect(ask(subject, keyCommand('issue_key'))).toEqual({ outcome: 'exists' })
  expect(ask(subject, keyCommand('revoke_key'))).toMatchObject({ outcome: 'done', client: { revoked_at: driver.now } })
  expect(ask(subject, keyCommand('revoke_key'))).toEqual({ outcome: 'not_found' })
  expect(driver.read(limitClients).map(({ key, value }) => [key, value?.revoked_at === null])).toEqual([
    [HASH, true],
    [HASH, false],
  ])
  expect(JSON.stringify(driver.read(limitAudit).map(({ value }) => value))).not.toContain(HASH)
})
