import { expect, test } from 'vitest'
import { BacktestBody } from '../../../../api/fraud/backtest/model.ts'
import { testedRules } from '../../../../api/fraud/backtest/tested-rules.ts'
import { fraudErrors } from '../../../../api/fraud/errors.ts'
import { ApiError, errors } from '../../../../api/kit/errors.ts'
import { MAX_ACTIVE_RULES, type Rule } from '../../../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../../../schemas/fraud/rules/rule-set.ts'
import { SEEDED_RULES } from '../../../../schemas/fraud/rules/seeded.ts'
import { NOON } from '../../../schemas/fraud/payments.ts'

const PERIOD = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00+01:00' }
const DRAFT = { rule_id: 'draft', name: 'draft', condition: 'txn.amount > 1', action: 'REVIEW', priority: 1 }

function ruleOf(rule_id: string, given: Partial<Rule> = {}): Rule {
  return { ...SEEDED_RULES[0], rule_id, condition: 'ip.is_tor', ...given }
}

const CURRENT = [ruleOf('a'), ruleOf('b', { condition: "inList('vip', payer.user_id)" }), ruleOf('off', { enabled: false })]
const STORED = [ruleOf('old', { condition: "inList('old', payer.user_id)" }), ruleOf('broken', { condition: 'gone.field > 1' })]

async function ask(request: object, current: readonly Rule[] = CURRENT) {
  const known = {
    current: { version: 7, rules: current },
    ruleSet: compileRuleSet(7, current),
    ofVersion: async (version: number) => (version === 3 ? STORED : undefined),
  }
  const { version, rules, lists } = await testedRules(BacktestBody.parse({ ...PERIOD, ...request }), known, 'ann', NOON)
  return { version, ids: rules.map(({ rule_id }) => rule_id), lists: [...lists], rules }
}

async function refusal(request: object, current?: readonly Rule[]): Promise<ApiError> {
  try {
    await ask(request, current)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  return expect.unreachable('unexpected: the request was accepted')
}

test('if a request gives no rules, the rules in force are tested', async () => {
  expect(await ask({})).toMatchObject({ version: 7, ids: ['a', 'b', 'off'], lists: ['vip'] })
  expect(await ask({ ruleset_version: 7 })).toMatchObject({ version: 7, ids: ['a', 'b', 'off'] })
})

test('a draft is added to the rules in force, or replaces the rule with its id', async () => {
  const { version, ids, rules } = await ask({ rule: { ...DRAFT, expires_at: '2027-01-01T00:00:00+01:00' } })
  expect([version, ids]).toEqual([null, ['a', 'b', 'off', 'draft']])
  const times = { created_at: NOON, updated_at: NOON, expires_at: Date.UTC(2026, 11, 31, 23) }
  expect(rules[3]).toEqual({ ...DRAFT, enabled: true, mode: 'live', created_by: 'ann', ...times })
  expect(await ask({ rule: { ...DRAFT, rule_id: 'b' } })).toMatchObject({ ids: ['a', 'off', 'b'], lists: [] })
})

test('a list of drafts replaces all rules, and may be empty', async () => {
  expect(await ask({ rules: [DRAFT, { ...DRAFT, rule_id: 'x', condition: "inList('bad', payer.user_id)" }] })).toMatchObject({
    version: null,
    ids: ['draft', 'x'],
    lists: ['bad'],
  })
  expect(await ask({ rules: [] })).toMatchObject({ version: null, ids: [] })
})

test('a stored version can be tested, even if it has rules that are no longer accepted', async () => {
  expect(await ask({ ruleset_version: 3 })).toMatchObject({ version: 3, ids: ['old', 'broken'], lists: ['old'] })
  expect((await refusal({ ruleset_version: 4 })).definition).toBe(fraudErrors.ruleset_version_not_found)
})

test('an invalid condition is refused with its path in the body and the position of the fault', async () => {
  const error = await refusal({ rules: [DRAFT, { ...DRAFT, rule_id: 'x', condition: 'txn.amonut > 1' }] })
  expect(error.definition).toBe(fraudErrors.invalid_condition)
  expect(error.options.details).toMatchObject([
    { path: 'body.rules[1].condition', code: 'unknown_field', line: 1, column: 1, nearest: 'txn.amount' },
  ])
  expect((await refusal({ rule: { ...DRAFT, condition: 'txn.amount >' } })).options.details).toMatchObject([
    { path: 'body.rule.condition' },
  ])
})

test('the number of active rules has the same limit in a back-test as in the live rule set', async () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => ({ ...DRAFT, rule_id: `r${index}` }))
  expect((await ask({ rules: many(MAX_ACTIVE_RULES) })).ids).toHaveLength(MAX_ACTIVE_RULES)
  expect((await refusal({ rules: many(MAX_ACTIVE_RULES + 1) })).definition).toBe(fraudErrors.settings_limit_reached)
  const full = Array.from({ length: MAX_ACTIVE_RULES }, (_, index) => ruleOf(`r${index}`))
  expect((await refusal({ rule: DRAFT }, full)).definition).toBe(fraudErrors.settings_limit_reached)
  expect((await ask({ rule: { ...DRAFT, rule_id: 'r1' } }, full)).ids).toHaveLength(MAX_ACTIVE_RULES)
})

test('each rule id may occur only once, a request may choose its rules in only one way, and a sample has at most a million transactions', async () => {
  expect((await refusal({ rules: [DRAFT, DRAFT] })).definition).toBe(errors.invalid_request)
  expect(BacktestBody.safeParse({ ...PERIOD, rule: DRAFT, ruleset_version: 3 }).success).toBe(false)
  expect(BacktestBody.safeParse({ ...PERIOD, sample: 1_000_001 }).success).toBe(false)
})
