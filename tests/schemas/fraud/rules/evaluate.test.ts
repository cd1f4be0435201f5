import { expect, test } from 'vitest'
import { evaluateRules } from '../../../../schemas/fraud/rules/evaluate.ts'
import { type FactsByName, factsOf, type Lists, NO_LISTS } from '../../../../schemas/fraud/rules/facts.ts'
import type { Rule } from '../../../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../../../schemas/fraud/rules/rule-set.ts'
import { NO_SNOOZES, type Snooze, snoozesOf } from '../../../../schemas/fraud/rules/snoozes.ts'
import { RuleTallies } from '../../../../schemas/fraud/rules/tallies.ts'

const NOW = Date.UTC(2026, 0, 1)
const STILL = () => 0

function ruleOf(rule_id: string, given: Partial<Rule> = {}): Rule {
  return {
    rule_id,
    name: rule_id,
    condition: 'txn.amount > 1',
    action: 'REVIEW',
    priority: 1,
    enabled: true,
    mode: 'live',
    created_by: 'test',
    created_at: 0,
    updated_at: 0,
    expires_at: null,
    ...given,
  }
}

interface Given {
  readonly facts?: FactsByName
  readonly lists?: Lists
  readonly snoozes?: readonly Snooze[]
  readonly clock?: () => number
}

function evaluate(rules: readonly Rule[], { facts = { 'txn.amount': 5 }, lists = NO_LISTS, snoozes = [], clock = STILL }: Given = {}) {
  const ruleSet = compileRuleSet(1, rules)
  const tallies = new RuleTallies(ruleSet)
  const input = { facts: factsOf(facts), lists, snoozes: snoozes.length === 0 ? NO_SNOOZES : snoozesOf(snoozes), at: NOW }
  const outcome = evaluateRules(ruleSet, input, tallies, clock)
  const idsOf = (matched: readonly Rule[]) => matched.map(({ rule_id }) => rule_id)
  return {
    winner: outcome.winner?.rule_id,
    matched: idsOf(outcome.matched),
    shadow: idsOf(outcome.shadow),
    snoozed: idsOf(outcome.snoozed),
    tallies: new Map(tallies.read().map((tally) => [tally.rule_id, tally])),
    ruleSet,
  }
}

test('of the rules that match, the one with the lowest priority number wins, and all are listed', () => {
  const { winner, matched } = evaluate([
    ruleOf('second', { priority: 2, action: 'BLOCK' }),
    ruleOf('first', { priority: -1, action: 'APPROVE' }),
    ruleOf('other', { condition: 'txn.amount > 10', priority: -2 }),
  ])
  expect(winner).toBe('first')
  expect(matched).toEqual(['first', 'second'])
})

test('among equal priorities, the order is BLOCK, STEP_UP, REVIEW and APPROVE, and then the id decides', () => {
  const { matched } = evaluate([
    ruleOf('a', { action: 'APPROVE' }),
    ruleOf('b', { action: 'REVIEW' }),
    ruleOf('d', { action: 'STEP_UP' }),
    ruleOf('c', { action: 'STEP_UP' }),
    ruleOf('e', { action: 'BLOCK' }),
  ])
  expect(matched).toEqual(['e', 'c', 'd', 'b', 'a'])
})

test('if no rule matches, there is no winner', () => {
  expect(evaluate([ruleOf('a')], { facts: { 'txn.amount': 0 } })).toMatchObject({ winner: undefined, matched: [], shadow: [] })
})

test('disabled and expired rules are not evaluated', () => {
  const { matched, tallies } = evaluate([
    ruleOf('disabled', { enabled: false }),
    ruleOf('expired', { expires_at: NOW }),
    ruleOf('expires', { expires_at: NOW + 1 }),
  ])
  expect(matched).toEqual(['expires'])
  expect(tallies.get('expired')).toMatchObject({ evaluated: 0 })
})

test('a shadow rule is listed separately and never wins', () => {
  const { winner, matched, shadow, tallies } = evaluate([
    ruleOf('shadow', { mode: 'shadow', priority: -5, action: 'BLOCK' }),
    ruleOf('live'),
  ])
  expect([winner, matched, shadow]).toEqual(['live', ['live'], ['shadow']])
  expect(tallies.get('shadow')).toMatchObject({ matched: 1 })
})

test('a rule that throws is counted as failed, does not match, and does not stop other rules', () => {
  const lists = {
    has: () => true,
    get: () => {
      throw new Error('broken list')
    },
  } as unknown as Lists
  const condition = "inList('x', payer.user_id)"
  const { matched, shadow, tallies } = evaluate(
    [ruleOf('live', { condition }), ruleOf('shadow', { condition, mode: 'shadow' }), ruleOf('after', { priority: 9 })],
    { facts: { 'txn.amount': 5, 'payer.user_id': 'u1' }, lists },
  )
  expect([matched, shadow]).toEqual([['after'], []])
  expect(tallies.get('live')).toMatchObject({ evaluated: 1, failed: 1, matched: 0, missing: 0 })
  expect(tallies.get('shadow')).toMatchObject({ evaluated: 1, failed: 1 })
})

test('shadow rules beyond the time limit are skipped and counted; live rules have no limit', () => {
  const rules = Array.from({ length: 40 }, (_, index) => ruleOf(`r${index}`))
  let now = 0
  const slow = () => {
    now += 10
    return now
  }
  const { matched, shadow, tallies } = evaluate(
    [...rules, ...rules.map((rule) => ({ ...rule, rule_id: `s${rule.rule_id}`, mode: 'shadow' as const }))],
    {
      clock: slow,
    },
  )
  expect(matched).toHaveLength(40)
  expect(shadow).toHaveLength(16)
  expect([...tallies.values()].filter(({ skipped }) => skipped === 1)).toHaveLength(24)
})

test('missing values are counted by rule and cause', () => {
  const { matched, tallies } = evaluate(
    [
      ruleOf('fields', { condition: 'payer.account_age_days < 7 AND ip.is_tor AND txn.amount > 1' }),
      ruleOf('list', { condition: "inList('gone', payer.user_id)" }),
      ruleOf('division', { condition: 'txn.amount / velocity.user.txn_count_1h > 1' }),
      ruleOf('decided', { condition: 'ip.is_tor OR txn.amount > 1' }),
      ruleOf('asked', { condition: 'ip.is_tor IS MISSING' }),
      ruleOf('both', { condition: "inList('asked', payer.user_id) IS MISSING AND inList('gone', payer.user_id)" }),
    ],
    { facts: { 'txn.amount': 5, 'payer.user_id': 'u1', 'velocity.user.txn_count_1h': 0 } },
  )
  expect(matched).toEqual(['asked', 'decided'])
  const causes = [...tallies].map(([id, { missing, missing_by }]) => [id, missing, Object.fromEntries(missing_by)])
  expect(causes).toEqual([
    ['asked', 0, {}],
    ['both', 1, { 'list:gone': 1 }],
    ['decided', 0, {}],
    ['division', 1, { arithmetic: 1 }],
    ['fields', 1, { 'payer.account_age_days': 1, 'ip.is_tor': 1 }],
    ['list', 1, { 'list:gone': 1 }],
  ])
})

const FACTS = { 'txn.amount': 5, 'payer.user_id': 'u1', 'payee.merchant_id': 'm1' } as const

test('from its creation until its end, a snooze suppresses one rule for one entity', () => {
  const snooze: Snooze = { rule_id: 'a', entity_type: 'USER', entity_value: 'u1', created_at: NOW, until: NOW + 1 }
  const rules = [ruleOf('a'), ruleOf('b'), ruleOf('s', { mode: 'shadow' })]
  const outcomeOf = (...snoozes: Snooze[]) => evaluate(rules, { facts: FACTS, snoozes })
  expect(outcomeOf(snooze)).toMatchObject({ winner: 'b', matched: ['b'], snoozed: ['a'] })
  expect(outcomeOf(snooze).tallies.get('a')).toMatchObject({ evaluated: 1, matched: 0, snoozed: 1 })
  // A back-test evaluates transactions that were scored before the snooze was created.
  expect(outcomeOf({ ...snooze, created_at: NOW + 1, until: NOW + 2 })).toMatchObject({ matched: ['a', 'b'], snoozed: [] })
  expect(outcomeOf({ ...snooze, until: NOW })).toMatchObject({ matched: ['a', 'b'], snoozed: [] })
  expect(outcomeOf({ ...snooze, entity_value: 'u2' })).toMatchObject({ matched: ['a', 'b'] })
  expect(outcomeOf({ ...snooze, entity_type: 'DEVICE' })).toMatchObject({ matched: ['a', 'b'] })
  expect(outcomeOf({ ...snooze, entity_type: 'MERCHANT', entity_value: 'm1' })).toMatchObject({ snoozed: ['a'] })
  expect(outcomeOf({ ...snooze, rule_id: 's' })).toMatchObject({ shadow: [], snoozed: ['s'] })
  expect(outcomeOf(snooze, { ...snooze, until: NOW - 1 })).toMatchObject({ snoozed: ['a'] })
})

test('a rule that does not compile is excluded and listed with its faults, and the other rules still work', () => {
  const { matched, ruleSet } = evaluate([ruleOf('old', { condition: 'txn.amonut > 1' }), ruleOf('right')])
  expect(matched).toEqual(['right'])
  expect(ruleSet.broken).toMatchObject([{ rule: { rule_id: 'old' }, faults: [{ nearest: 'txn.amount' }] }])
})

test('a changed rule set reuses the compiled form of every unchanged condition', () => {
  const before = compileRuleSet(1, [ruleOf('kept'), ruleOf('gone', { condition: 'ip.is_tor' })])
  const after = compileRuleSet(2, [ruleOf('new', { condition: 'ip.is_vpn' }), ruleOf('kept', { action: 'BLOCK' })], before)
  expect(after.rules.map(({ rule, condition }) => [rule.rule_id, rule.action, condition === before.rules[1].condition])).toEqual([
    ['kept', 'BLOCK', true],
    ['new', 'REVIEW', false],
  ])
  expect(after.version).toBe(2)
})

test('the order in which rules are given does not affect the outcome', () => {
  const rules = ['a', 'b', 'c', 'd'].map((id, index) => ruleOf(id, { priority: index % 2, action: index < 2 ? 'BLOCK' : 'REVIEW' }))
  expect(evaluate(rules.toReversed()).matched).toEqual(evaluate(rules).matched)
})
