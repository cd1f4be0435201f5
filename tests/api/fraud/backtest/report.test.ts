import { expect, test } from 'vitest'
import { MAX_EXAMPLES } from '../../../../api/fraud/backtest/examples.ts'
import { Replay } from '../../../../api/fraud/backtest/report.ts'
import { DEFAULT_POLICY } from '../../../../schemas/fraud/decision/policy.ts'
import { NO_LISTS } from '../../../../schemas/fraud/rules/facts.ts'
import type { Rule } from '../../../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../../../schemas/fraud/rules/rule-set.ts'
import { SEEDED_RULES } from '../../../../schemas/fraud/rules/seeded.ts'
import { NO_SNOOZES } from '../../../../schemas/fraud/rules/snoozes.ts'
import type { FraudVerdict, TxnScored } from '../../../../schemas/fraud/types.ts'
import { scored } from '../../../pipelines/fraud/scored.ts'
import { pay } from '../../../schemas/fraud/payments.ts'

function ruleOf(rule_id: string, given: Partial<Rule>): Rule {
  return { ...SEEDED_RULES[0], rule_id, condition: 'txn.amount > 100', action: 'REVIEW', priority: 1, ...given }
}

function replayOf(rules: readonly Rule[]): Replay {
  return new Replay({ ruleSet: compileRuleSet(7, rules), lists: NO_LISTS, snoozes: NO_SNOOZES, policy: DEFAULT_POLICY })
}

let made = 0

function logged(amount: number, verdict: FraudVerdict | null = null, given: Partial<TxnScored> = {}) {
  return { ...scored(pay({ id: `t${++made}`, amount })), policy_version: 0, ...given, verdict }
}

test('decisions are counted for each verdict of the analysts, with ids of transactions as examples', () => {
  const replay = replayOf([ruleOf('block', { action: 'BLOCK', condition: 'txn.amount > 1000', priority: 0 }), ruleOf('review', {})])
  const fraud = logged(2_000, 'CONFIRMED_FRAUD')
  for (const transaction of [
    fraud,
    logged(500, 'CONFIRMED_FRAUD'),
    logged(5, 'CONFIRMED_FRAUD'),
    logged(500, 'FALSE_POSITIVE'),
    logged(5, 'FALSE_POSITIVE'),
    logged(5, 'SUSPICIOUS'),
    logged(5),
  ]) {
    replay.add(transaction)
  }
  const result = replay.result()
  const cells = Object.fromEntries(result.confusion.map(({ decision, label, count }) => [`${decision} ${label}`, count]))
  expect(cells).toEqual({
    'APPROVE fraud': 1,
    'APPROVE legitimate': 1,
    'APPROVE unlabelled': 2,
    'REVIEW fraud': 1,
    'REVIEW legitimate': 1,
    'REVIEW unlabelled': 0,
    'BLOCK fraud': 1,
    'BLOCK legitimate': 0,
    'BLOCK unlabelled': 0,
  })
  expect(result.confusion.find(({ decision, label }) => decision === 'BLOCK' && label === 'fraud')?.examples).toEqual([
    fraud.request.transaction_id,
  ])
  expect(result.quality).toEqual({
    review_or_block: { recall: 2 / 3, precision: 2 / 3, false_positive_rate: 1 / 2 },
    block: { recall: 1 / 3, precision: 1, false_positive_rate: 0 },
  })
  expect(result.would_be).toEqual({ approve: 4, review: 2, block: 1, requires_3ds: 0, review_rate: 2 / 7, block_rate: 1 / 7 })
  expect(result.logged).toMatchObject({ approve: 7, review: 0, block: 0 })
  expect(result.rules).toMatchObject([
    { rule_id: 'block', evaluated: 7, matched: 1, decided: 1, matched_fraud: 1, matched_legitimate: 0 },
    { rule_id: 'review', evaluated: 7, matched: 3, decided: 2, matched_fraud: 2, matched_legitimate: 1 },
  ])
})

test('without labels, the report has no figures about quality', () => {
  const replay = replayOf([])
  replay.add(logged(5))
  const nothing = { recall: null, precision: null, false_positive_rate: null }
  expect(replay.result().quality).toEqual({ review_or_block: nothing, block: nothing })
  expect(replayOf([]).result()).toMatchObject({ transactions: 0, would_be: { block_rate: 0 } })
})

test('changed decisions are counted for each pair of logged and new decision', () => {
  const replay = replayOf([ruleOf('review', {}), ruleOf('step', { action: 'STEP_UP', condition: 'txn.amount BETWEEN 50 AND 60' })])
  for (const transaction of [
    logged(500),
    logged(500, null, { decision: 'REVIEW' }),
    logged(5, null, { decision: 'BLOCK' }),
    logged(55),
    logged(5, null, { policy_version: 3 }),
  ]) {
    replay.add(transaction)
  }
  const result = replay.result()
  expect(result.changes.map(({ logged: before, would_be, count }) => [before, would_be, count])).toEqual([
    ['APPROVE', 'REVIEW', 1],
    ['BLOCK', 'APPROVE', 1],
  ])
  expect(result).toMatchObject({ changed: 2, changed_3ds: { count: 1 }, other_policy: 1, would_be: { requires_3ds: 1 } })
})

test('transactions that the blocklist decided stay blocked, and no rules are evaluated for them', () => {
  const replay = replayOf([ruleOf('all', { condition: 'txn.amount >= 0', action: 'APPROVE' })])
  const { verdict } = replay.add(logged(5, null, { decision: 'BLOCK', reason: 'blocklist_hit' }))
  expect(verdict).toMatchObject({ decision: 'BLOCK', risk_score: 1_000, reason: 'blocklist_hit' })
  expect(replay.result()).toMatchObject({ blocklisted: 1, changed: 0, rules: [{ rule_id: 'all', evaluated: 0, matched: 0 }] })
})

test('shadow rules are counted and decide nothing; rules that do not compile are named', () => {
  const replay = replayOf([
    ruleOf('shadow', { mode: 'shadow', action: 'BLOCK' }),
    ruleOf('old', { condition: 'txn.amonut > 1' }),
    ruleOf('missing', { condition: 'payer.account_age_days < 7' }),
  ])
  replay.add(logged(500, 'CONFIRMED_FRAUD'))
  const { rules, set_aside, would_be } = replay.result()
  expect(rules).toMatchObject([
    { rule_id: 'shadow', mode: 'shadow', matched: 1, decided: 0, matched_fraud: 1 },
    { rule_id: 'missing', missing: 1, missing_by: { 'payer.account_age_days': 1 } },
  ])
  expect(set_aside).toMatchObject([{ rule_id: 'old', faults: [expect.stringContaining('txn.amount')] }])
  expect(would_be.approve).toBe(1)
})

test('a cell of the confusion matrix keeps five examples from the whole period, whatever the order of the transactions', () => {
  const transactions = Array.from({ length: 200 }, () => logged(5))
  const examplesOf = (order: typeof transactions) => {
    const replay = replayOf([])
    for (const transaction of order) replay.add(transaction)
    return replay.result().confusion[2].examples
  }
  const examples = examplesOf(transactions)
  expect(examples).toHaveLength(MAX_EXAMPLES)
  expect(examplesOf(transactions.toReversed())).toEqual(examples)
  const positions = examples.map((id) => transactions.findIndex(({ request }) => request.transaction_id === id))
  expect(Math.max(...positions)).toBeGreaterThan(100)
})
