import { describe, expect, test } from 'vitest'
import { decideSetting, NO_SETTING } from '../../../pipelines/fraud/settings/decide.ts'
import { decideModels } from '../../../pipelines/fraud/settings/models.ts'
import { decideRules } from '../../../pipelines/fraud/settings/rules.ts'
import { DEFAULT_POLICY } from '../../../schemas/fraud/decision/policy.ts'
import { MAX_ACTIVE_RULES } from '../../../schemas/fraud/rules/rule.ts'
import { SEEDED_RULES } from '../../../schemas/fraud/rules/seeded.ts'
import { initialRuleSet } from '../../../schemas/fraud/settings/initial.ts'
import { KEPT_VERSIONS, MAX_LISTS, MAX_RULES, MAX_SNOOZES } from '../../../schemas/fraud/settings/limits.ts'
import { policyRecord } from '../../../schemas/fraud/settings/policy.ts'
import type { FraudRule, FraudRuleSet, FraudSetting, FraudSettingsAction, FraudSnooze } from '../../../schemas/fraud/types.ts'
import { ACTOR, ruleOf, settingsCommand, settingsDriver } from './settings-commands.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const SEEDED = SEEDED_RULES.length
const NOW = Date.UTC(2026, 0, 15)

/** Makes decisions without the driver, because the driver would keep the records of a thousand rule sets. */
function pureRules() {
  let rules: FraudRuleSet | undefined
  return {
    rule(action: FraudSettingsAction, rule_id: string, given: Partial<FraudRule> = {}) {
      const decision = decideRules(rules, settingsCommand(action, { rule_id, rule: ruleOf(rule_id, given) }), NOW, () => undefined)
      if ('refused' in decision) return decision.refused
      if ('next' in decision) rules = decision.next
      return 'done'
    },
    count: () => rules?.rules.length,
    bytes: () => Buffer.byteLength(JSON.stringify(rules?.rules)),
  }
}

describe('rules', () => {
  test('a rule is created, replaced and disabled, and each change creates a new version of the whole set', () => {
    const { rule, rules, audit, driver } = settingsDriver()
    const createdAt = driver.now
    expect(rule('create_rule', 'v')).toMatchObject({
      outcome: 'rules',
      ruleset_version: 1,
      revision: 1,
      rule: { rule_id: 'v', created_at: createdAt },
    })
    expect(rules()).toMatchObject({ version: 1, rules: { length: SEEDED + 1 } })
    driver.advanceWallClock(SECOND_MS)
    expect(rule('replace_rule', 'v', { priority: 7, created_by: '' })).toMatchObject({
      ruleset_version: 2,
      rule: { priority: 7, created_by: ACTOR, created_at: createdAt, updated_at: createdAt + SECOND_MS },
    })
    expect(rule('disable_rule', 'v')).toMatchObject({ ruleset_version: 3, rule: { enabled: false, priority: 7 } })
    expect(rules().rules.find(({ rule_id }) => rule_id === 'v')).toMatchObject({ enabled: false, priority: 7 })
    expect(rules().history.map(({ version, action, rule_id }) => [version, action, rule_id])).toEqual([
      [3, 'disable_rule', 'v'],
      [2, 'replace_rule', 'v'],
      [1, 'create_rule', 'v'],
      [0, 'seed', null],
    ])
    const parsed = (text: string | null) => (text === null ? null : JSON.parse(text))
    expect(
      audit().map(({ subject, action, actor, version, before, after }) => [
        subject,
        action,
        actor,
        version,
        parsed(before)?.priority,
        parsed(after)?.priority,
      ]),
    ).toEqual([
      ['rule:v', 'create_rule', ACTOR, 1, undefined, 1],
      ['rule:v', 'replace_rule', ACTOR, 2, 1, 7],
      ['rule:v', 'disable_rule', ACTOR, 3, 7, 7],
    ])
  })

  test('the id of a rule cannot be used again, even if the rule is disabled, and an unknown rule can be neither replaced nor disabled', () => {
    const { rule, revision } = settingsDriver()
    expect(rule('replace_rule', 'v')).toEqual({ outcome: 'rule_not_found' })
    expect(rule('disable_rule', 'v')).toEqual({ outcome: 'rule_not_found' })
    expect(rule('create_rule', 'seed-tor')).toEqual({ outcome: 'exists' })
    expect(revision()).toBe(0)
    rule('disable_rule', 'seed-tor')
    expect(rule('create_rule', 'seed-tor')).toEqual({ outcome: 'exists' })
  })

  test('disabling a rule twice makes one change', () => {
    const { rule, audit, revision } = settingsDriver()
    rule('disable_rule', 'seed-tor')
    expect(rule('disable_rule', 'seed-tor')).toMatchObject({ outcome: 'rules', ruleset_version: 1, revision: 1, rule: { enabled: false } })
    expect([audit().length, revision()]).toEqual([1, 1])
  })

  test('a rule can be switched to shadow mode, and can be removed from the set', () => {
    const { rule, rules } = settingsDriver()
    expect(rule('shadow_rule', 'seed-tor')).toMatchObject({ rule: { mode: 'shadow' }, ruleset_version: 1 })
    expect(rule('shadow_rule', 'seed-tor')).toMatchObject({ rule: { mode: 'shadow' }, ruleset_version: 1 })
    expect(rule('remove_rule', 'seed-tor')).toMatchObject({ ruleset_version: 2 })
    expect(rules().rules.map(({ rule_id }) => rule_id)).not.toContain('seed-tor')
  })

  test('an earlier version is restored as a new version, and the audit names the rules that the new version changed', () => {
    const { rule, rules, rollBack, audit } = settingsDriver()
    rule('create_rule', 'v')
    rule('replace_rule', 'v', { priority: 9 })
    rule('disable_rule', 'seed-tor')
    expect(rollBack(1)).toMatchObject({ outcome: 'rules', ruleset_version: 4, rule: null })
    const restored = Object.fromEntries(rules().rules.map(({ rule_id, priority, enabled }) => [rule_id, [priority, enabled]]))
    expect([restored.v, restored['seed-tor'][1], rules().rules.length]).toEqual([[1, true], true, SEEDED + 1])
    const { subject, version, before, after } = audit().at(-1)!
    expect([subject, version]).toEqual(['rules', 4])
    const idsOf = (text: string | null) => JSON.parse(text!).rules.map(({ rule_id }: { rule_id: string }) => rule_id)
    expect([idsOf(before), idsOf(after), JSON.parse(before!).version]).toEqual([['seed-tor', 'v'], ['seed-tor', 'v'], 3])
  })

  test('a rule that a roll-back changes gets a later update time than before, even if the clock has gone back', () => {
    const [seeded] = initialRuleSet().rules
    const changed = { ...seeded, priority: 9, updated_at: NOW + SECOND_MS }
    const set = { ...initialRuleSet(), version: 1, rules: [changed] }
    const target = { ...initialRuleSet(), rules: [seeded] }
    const decision = decideRules(set, settingsCommand('roll_back_rules', { version: 0 }), NOW, () => target)
    expect(decision).toMatchObject({ next: { rules: [{ priority: seeded.priority, updated_at: NOW + SECOND_MS + 1 }] } })
  })

  test('only the rules that a roll-back changes get a new update time', () => {
    const { driver, rule, rules, rollBack } = settingsDriver()
    rule('create_rule', 'kept')
    rule('create_rule', 'changed')
    rule('create_rule', 'removed')
    rule('replace_rule', 'changed', { priority: 9 })
    rule('remove_rule', 'removed')
    const before = Object.fromEntries(rules().rules.map(({ rule_id, updated_at }) => [rule_id, updated_at]))
    driver.advanceWallClock(SECOND_MS)
    rollBack(3)
    const after = Object.fromEntries(rules().rules.map(({ rule_id, updated_at }) => [rule_id, updated_at]))
    const { at } = rules().history[0]
    expect(after).toEqual({ ...before, changed: at, removed: at })
    expect(before.changed).toBeLessThan(at)
  })

  test('the seeded rules can be restored, but versions older than the last 50 cannot', () => {
    const { rule, rules, rollBack, view } = settingsDriver()
    expect(rollBack(0)).toMatchObject({ ruleset_version: 1 })
    rule('create_rule', 'v')
    expect(view('version:2')?.rules?.rules.length).toBe(SEEDED + 1)
    expect(rollBack(0)).toMatchObject({ ruleset_version: 3 })
    expect(rules().rules).toEqual(SEEDED_RULES)
    expect(rollBack(99)).toEqual({ outcome: 'version_not_found' })
    for (let times = 3; times <= KEPT_VERSIONS; times++) rule('replace_rule', 'seed-tor', { priority: times })
    const { history } = rules()
    expect([history.length, history[0].version, history.at(-1)!.version]).toEqual([KEPT_VERSIONS, KEPT_VERSIONS + 1, 2])
    expect([view('version:1'), view('version:2')?.rules?.version]).toEqual([undefined, 2])
    expect(rollBack(1)).toEqual({ outcome: 'version_not_found' })
    expect(rollBack(2)).toMatchObject({ outcome: 'rules' })
  })

  test('at most 500 rules may be active, not counting expired rules, and at most 1,000 rules may exist', () => {
    const { rule, count } = pureRules()
    for (let index = SEEDED; index < MAX_ACTIVE_RULES; index++) expect(rule('create_rule', `r${index}`)).toBe('done')
    expect(rule('create_rule', 'more')).toEqual({ outcome: 'limit', limit: 'At most 500 rules may be active.' })
    expect(rule('create_rule', 'off', { enabled: false })).toBe('done')
    expect(rule('replace_rule', 'off')).toMatchObject({ outcome: 'limit' })
    expect(rule('replace_rule', 'r20', { expires_at: NOW })).toBe('done')
    expect(rule('replace_rule', 'off')).toBe('done')
    for (let index = MAX_ACTIVE_RULES + 1; index < MAX_RULES; index++) rule('create_rule', `r${index}`, { enabled: false })
    expect(count()).toBe(MAX_RULES)
    expect(rule('create_rule', 'last', { enabled: false })).toMatchObject({
      outcome: 'limit',
      limit: expect.stringContaining('1000 rules'),
    })
    expect(rule('remove_rule', 'r700')).toBe('done')
    expect(rule('create_rule', 'last', { enabled: false })).toBe('done')
  })

  test('all rules together have at most 1 MiB', () => {
    const { rule, bytes } = pureRules()
    const condition = `txn.amount > 1 OR payer.user_id = '${'x'.repeat(3_900)}'`
    let created = 0
    while (rule('create_rule', `r${created}`, { condition }) === 'done') created++
    expect([created > 200, bytes() <= 1_048_576]).toEqual([true, true])
    expect(rule('create_rule', 'long', { condition })).toMatchObject({ outcome: 'limit', limit: expect.stringContaining('1048576 bytes') })
    expect(rule('create_rule', 'short')).toBe('done')
  })
})

describe('lists', () => {
  test('a list is created once, can be replaced and deleted, and contains each value once', () => {
    const { list, published, audit, driver } = settingsDriver()
    expect(list('replace_list', 'bad', ['a'])).toEqual({ outcome: 'not_found' })
    expect(list('create_list', 'bad', ['a', 'b', 'a'])).toMatchObject({
      outcome: 'list',
      list: { name: 'bad', count: 2, updated_by: ACTOR },
    })
    expect(published().get('list:bad')?.list?.values).toEqual(['a', 'b'])
    expect(list('create_list', 'bad', ['c'])).toEqual({ outcome: 'exists' })
    const created = driver.now
    driver.advanceWallClock(SECOND_MS)
    expect(list('replace_list', 'bad', ['c'])).toMatchObject({ list: { count: 1, created_at: created, updated_at: created + SECOND_MS } })
    expect(list('delete_list', 'bad')).toEqual({ outcome: 'removed', revision: 3 })
    expect([published().has('list:bad'), published().get('counts')?.counts]).toEqual([false, { revision: 3, lists: 0, snoozes: 0 }])
    expect(list('delete_list', 'bad')).toEqual({ outcome: 'not_found' })
    expect(
      audit().map(({ action, actor, before, after }) => [
        action,
        actor,
        before && JSON.parse(before).values,
        after && JSON.parse(after).values,
      ]),
    ).toEqual([
      ['create_list', ACTOR, null, ['a', 'b']],
      ['replace_list', ACTOR, ['a', 'b'], ['c']],
      ['delete_list', ACTOR, ['c'], null],
    ])
  })

  test('a list cannot be deleted while an enabled rule reads it, even if no API has received the rule yet', () => {
    const { list, rule, published } = settingsDriver()
    list('create_list', 'bad', ['a'])
    rule('create_rule', 'reader', { condition: "inList('b\\u0061d', payer.user_id)" })
    rule('create_rule', 'other', { condition: "inList('worse', payer.user_id)" })
    expect(list('delete_list', 'bad')).toEqual({ outcome: 'in_use', rule_ids: ['reader'] })
    expect(published().has('list:bad')).toBe(true)
    rule('disable_rule', 'reader')
    expect(list('delete_list', 'bad')).toMatchObject({ outcome: 'removed' })
  })

  test('a list has at most 10,000 values and 1 MiB, and there are at most 100 lists', () => {
    const { list } = settingsDriver()
    const numbered = (count: number) => Array.from({ length: count }, (_, index) => String(index))
    expect(list('create_list', 'long', numbered(10_001))).toEqual({ outcome: 'limit', limit: 'A list may have at most 10000 values.' })
    expect(list('create_list', 'long', numbered(10_000))).toMatchObject({ list: { count: 10_000 } })
    const wide = Array.from({ length: 1_100 }, (_, index) => `${index}`.padEnd(1_000, 'x'))
    expect(list('create_list', 'wide', wide)).toMatchObject({ outcome: 'limit', limit: expect.stringContaining('1048576 bytes') })
    for (let index = 1; index < MAX_LISTS; index++) list('create_list', `list-${index}`, [])
    expect(list('create_list', 'more', [])).toEqual({ outcome: 'limit', limit: 'There may be at most 100 lists.' })
    expect(list('replace_list', 'long', [])).toMatchObject({ list: { count: 0 } })
    list('delete_list', 'long')
    expect(list('create_list', 'more', [])).toMatchObject({ outcome: 'list' })
  })
})

describe('snoozes', () => {
  test('snoozes expire, and the audit records each expiration', () => {
    const { snooze, published, audit, driver } = settingsDriver()
    const until = driver.now + 2 * HOUR_MS
    const answer = snooze(2)
    expect(answer).toMatchObject({ outcome: 'snooze', snooze: { rule_id: 'seed-tor', entity_value: 'u1', until, created_by: ACTOR } })
    const key = `snooze:${(answer as { snooze: { snooze_id: string } }).snooze.snooze_id}`
    expect(published().get(key)?.snooze?.until).toBe(until)
    driver.advanceWallClock(2 * HOUR_MS - SECOND_MS)
    expect(published().has(key)).toBe(true)
    driver.advanceWallClock(2 * SECOND_MS)
    expect([published().has(key), published().get('counts')?.counts]).toEqual([false, { revision: 2, lists: 0, snoozes: 0 }])
    expect(audit().map(({ subject, action, actor }) => [subject, action, actor])).toEqual([
      [key, 'snooze_rule', ACTOR],
      [key, 'expire_snooze', 'millrace'],
    ])
  })

  test('a new snooze of the same rule and entity replaces the previous snooze, and a snooze can be ended early', () => {
    const { snooze, endSnooze, published, driver } = settingsDriver()
    const { snooze: first } = snooze(1) as { snooze: { snooze_id: string } }
    const second = snooze(5) as { snooze: { snooze_id: string } }
    expect([second.snooze.snooze_id, published().get('counts')?.counts?.snoozes]).toEqual([first.snooze_id, 1])
    driver.advanceWallClock(2 * HOUR_MS)
    expect(published().has(`snooze:${first.snooze_id}`)).toBe(true)
    expect(endSnooze(first.snooze_id, 'seed-zscore-3')).toEqual({ outcome: 'not_found' })
    expect(endSnooze(first.snooze_id)).toMatchObject({ outcome: 'removed' })
    expect(endSnooze(first.snooze_id)).toEqual({ outcome: 'not_found' })
    driver.advanceWallClock(5 * HOUR_MS)
    expect(published().get('counts')?.counts).toEqual({ revision: 3, lists: 0, snoozes: 0 })
  })

  test('an expired snooze cannot be ended, even before it is removed', () => {
    const { snooze } = settingsDriver()
    const { snooze: stored } = snooze(1) as { snooze: FraudSnooze }
    const command = settingsCommand('end_snooze', { rule_id: stored.rule_id })
    const others = { counts: { revision: 1, lists: 0, snoozes: 1 }, rules: initialRuleSet(), version: () => undefined }
    const outcomeAt = (now: number) => decideSetting({ ...NO_SETTING, snooze: stored }, command, { now }, others).answer.outcome
    expect([outcomeAt(stored.until - 1), outcomeAt(stored.until)]).toEqual(['removed', 'not_found'])
  })

  test('a snooze needs an existing rule and lasts at most 30 days, and there are at most 10,000 snoozes', () => {
    const { snooze } = settingsDriver()
    expect(snooze(1, { rule_id: 'none' })).toEqual({ outcome: 'rule_not_found' })
    expect(snooze(721)).toMatchObject({ outcome: 'limit', limit: 'A snooze may last at most 720 hours.' })
    expect(snooze(720)).toMatchObject({ outcome: 'snooze' })
    const { snooze: asked } = snooze(1) as { snooze: FraudSnooze }
    const command = settingsCommand('snooze_rule', { rule_id: asked.rule_id, snooze: asked, hours: 1 })
    const others = { counts: { revision: 9, lists: 0, snoozes: MAX_SNOOZES }, rules: initialRuleSet(), version: () => undefined }
    const decided = (stored?: FraudSetting) => decideSetting(stored, command, { now: NOW }, others).answer
    expect(decided()).toEqual({ outcome: 'limit', limit: 'There may be at most 10000 snoozes.' })
    expect(decided({ ...NO_SETTING, snooze: asked })).toMatchObject({ outcome: 'snooze', revision: 10 })
  })
})

describe('models', () => {
  const policy = policyRecord({ ...DEFAULT_POLICY, thresholds: { review: 500, block: 800 } })
  const versions = { payment_fraud: '2' }

  test('models are assigned together with their policy, and the policy has its own version number', () => {
    const { models, published, audit } = settingsDriver()
    expect(models('assign_models', { versions, policy })).toMatchObject({
      outcome: 'models',
      models: { champion: { versions, policy: { version: 1, thresholds: policy.thresholds }, set_by: ACTOR }, challenger: null },
    })
    expect(published().get('models')?.models?.champion.policy.version).toBe(1)
    const [{ subject, version, before, after }] = audit()
    expect([subject, version, JSON.parse(before!).champion.policy.version, JSON.parse(after!).champion.versions]).toEqual([
      'models',
      1,
      0,
      versions,
    ])
  })

  test('a challenger can be promoted after seven days, or earlier by force', () => {
    const { models, driver, audit, published } = settingsDriver()
    expect(models('promote_challenger')).toEqual({ outcome: 'no_challenger' })
    expect(models('end_challenger')).toEqual({ outcome: 'no_challenger' })
    const since = driver.now
    expect(models('set_challenger', { versions, policy })).toMatchObject({
      models: { challenger: { versions, since }, champion: { versions: {} } },
    })
    expect(models('promote_challenger')).toEqual({ outcome: 'too_early', from: since + 7 * DAY_MS })
    const stored = published().get('models')!.models!
    expect(decideModels(stored, settingsCommand('promote_challenger'), since + 7 * DAY_MS - 1)).toMatchObject({
      refused: { outcome: 'too_early' },
    })
    expect(decideModels(stored, settingsCommand('promote_challenger'), since + 7 * DAY_MS)).toMatchObject({ next: { challenger: null } })
    expect(models('promote_challenger', { force: true })).toMatchObject({ models: { champion: { versions }, challenger: null } })
    models('set_challenger', { versions: { payment_fraud: '3' } })
    expect(models('promote_challenger', { force: true })).toMatchObject({
      models: { champion: { versions: { payment_fraud: '3' }, policy: { version: 2, thresholds: policy.thresholds } } },
    })
    models('set_challenger', { versions: { payment_fraud: '4' } })
    driver.advanceWallClock(7 * DAY_MS)
    expect(models('promote_challenger')).toMatchObject({ outcome: 'models' })
    models('set_challenger', { versions: { payment_fraud: '5' } })
    driver.advanceWallClock(7 * DAY_MS)
    // With `force`, an administrator may also promote models that the API has refused.
    expect(models('promote_challenger', { force: true })).toMatchObject({ outcome: 'models' })
    expect(audit().map(({ action }) => action)).toEqual([
      'set_challenger',
      'force_promote_challenger',
      'set_challenger',
      'force_promote_challenger',
      'set_challenger',
      'promote_challenger',
      'set_challenger',
      'force_promote_challenger',
    ])
  })

  test('models can be rolled back step by step, and each step creates a new version of the policy', () => {
    const { models } = settingsDriver()
    expect(models('roll_back_models')).toEqual({ outcome: 'no_previous_models' })
    models('assign_models', { versions, policy })
    models('assign_models', { versions: { payment_fraud: '3' } })
    expect(models('roll_back_models')).toMatchObject({
      models: { champion: { versions, policy: { version: 3, thresholds: policy.thresholds } } },
    })
    expect(models('roll_back_models')).toMatchObject({
      models: { champion: { versions: {}, policy: { version: 4, thresholds: DEFAULT_POLICY.thresholds } } },
    })
    expect(models('roll_back_models')).toEqual({ outcome: 'no_previous_models' })
  })
})
