import { expect, test } from 'vitest'
import { HourCounts } from '../../../../api/fraud/rule-stats/hour-counts.ts'
import { evaluateRules } from '../../../../schemas/fraud/rules/evaluate.ts'
import { factsOf, NO_LISTS } from '../../../../schemas/fraud/rules/facts.ts'
import type { Rule } from '../../../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../../../schemas/fraud/rules/rule-set.ts'
import { SEEDED_RULES } from '../../../../schemas/fraud/rules/seeded.ts'
import { NO_SNOOZES } from '../../../../schemas/fraud/rules/snoozes.ts'
import { RuleTallies } from '../../../../schemas/fraud/rules/tallies.ts'
import type { FraudRuleTallies } from '../../../../schemas/fraud/types.ts'
import { HOUR, NOON, SECOND } from '../../../schemas/fraud/payments.ts'

function ruleOf(rule_id: string, given: Partial<Rule> = {}): Rule {
  return { ...SEEDED_RULES[0], rule_id, condition: 'txn.amount > 100', ...given }
}

/**
 * Returns a function that evaluates the rules of a rule set for an amount. An evaluation returns a second function that
 * records it, because scoring records an evaluation only after it has stored the answer.
 */
function evaluating(counts: HourCounts, rules: readonly Rule[]) {
  const ruleSet = compileRuleSet(1, rules)
  const tallies = new RuleTallies(ruleSet)
  return function evaluate(amount: number): () => void {
    const input = { facts: factsOf({ 'txn.amount': amount }), lists: NO_LISTS, snoozes: NO_SNOOZES, at: 0 }
    const { winner } = evaluateRules(ruleSet, input, tallies, () => 0)
    return function record() {
      counts.evaluated(tallies)
      if (winner !== undefined) counts.decided(winner.rule_id)
    }
  }
}

/** Returns a function that scores amounts with a rule set and records each evaluation at once. */
function scoring(counts: HourCounts, rules: readonly Rule[]) {
  const evaluate = evaluating(counts, rules)
  return function score(...amounts: readonly number[]): void {
    for (const amount of amounts) evaluate(amount)()
  }
}

const rowsOf = (records: readonly FraudRuleTallies[]) =>
  records.flatMap(({ rules }) =>
    rules.map(({ rule_id, mode, evaluated, matched, decided, missing_by }) => [rule_id, mode, evaluated, matched, decided, missing_by]),
  )

test('counts grow until the end of the hour, and only changed counts are sent', () => {
  const counts = new HourCounts(() => 'node', NOON + SECOND)
  const score = scoring(counts, [ruleOf('a'), ruleOf('b', { condition: 'ip.is_tor', priority: 1_000 })])
  score(5, 500)
  const missing = { 'ip.is_tor': 2 }
  const first = counts.take(NOON + 5 * SECOND)
  expect(first).toMatchObject([{ node: 'node', hour: NOON }])
  expect(rowsOf(first)).toEqual([
    ['a', 'live', 2, 1, 1, {}],
    ['b', 'live', 2, 0, 0, missing],
  ])
  expect(counts.take(NOON + 10 * SECOND)).toEqual([])
  score(500)
  expect(rowsOf(counts.take(NOON + 15 * SECOND))).toEqual([
    ['a', 'live', 3, 2, 2, {}],
    ['b', 'live', 3, 0, 0, { 'ip.is_tor': 3 }],
  ])
})

test('the counts of a new hour begin at zero, after the last counts of the old hour were sent', () => {
  const counts = new HourCounts(() => 'node', NOON)
  const score = scoring(counts, [ruleOf('a')])
  score(5)
  expect(counts.isOver(NOON + HOUR - 1)).toBe(false)
  expect(counts.isOver(NOON + HOUR)).toBe(true)
  expect(counts.take(NOON + HOUR)).toMatchObject([{ hour: NOON, rules: [{ evaluated: 1 }] }])
  score(5, 5)
  expect(counts.take(NOON + HOUR + 1)).toMatchObject([{ hour: NOON + HOUR, rules: [{ evaluated: 2 }] }])
})

test('if the clock is set back to an earlier hour, the counts that were already sent for this hour are not replaced', () => {
  const names = ['first', 'second']
  const counts = new HourCounts(() => names.shift()!, NOON)
  const score = scoring(counts, [ruleOf('a')])
  const sent: FraudRuleTallies[] = []
  score(5, 5, 5)
  sent.push(...counts.take(NOON + HOUR))
  score(5)
  sent.push(...counts.take(NOON + HOUR - SECOND))
  score(5, 5)
  sent.push(...counts.take(NOON + HOUR))
  score(5)
  sent.push(...counts.take(NOON + HOUR))
  const kept = new Map(sent.map(({ node, hour, rules }) => [`${hour - NOON} ${node}`, rules[0].evaluated]))
  expect([...kept]).toEqual([
    ['0 first', 3],
    [`${HOUR} first`, 1],
    ['0 second', 2],
    [`${HOUR} second`, 1],
  ])
})

test('a change of the rules loses no counts, and a rule has separate counts for each mode', () => {
  const counts = new HourCounts(() => 'node', NOON)
  const before = scoring(counts, [ruleOf('a')])
  before(500)
  counts.take(NOON)
  before(500, 500)
  const between = scoring(counts, [ruleOf('a', { mode: 'shadow' })])
  between(500)
  const after = scoring(counts, [ruleOf('a'), ruleOf('b')])
  after(500)
  expect(rowsOf(counts.take(NOON))).toEqual([
    ['a', 'live', 4, 4, 4, {}],
    ['a', 'shadow', 1, 1, 0, {}],
    ['b', 'live', 1, 1, 0, {}],
  ])
})

test('payments that were evaluated before a change of the rules and recorded after it are counted once', () => {
  const counts = new HourCounts(() => 'node', NOON)
  const before = evaluating(counts, [ruleOf('a')])
  for (let payment = 0; payment < 10; payment++) before(500)()
  const late = [before(500), before(500)]
  const after = evaluating(counts, [ruleOf('b')])
  after(500)()
  late[0]()
  after(500)()
  late[1]()
  expect(rowsOf(counts.take(NOON))).toEqual([
    ['a', 'live', 12, 12, 12, {}],
    ['b', 'live', 2, 2, 2, {}],
  ])
})

test('the counts of the current rules are complete, even if the first payment that earlier rules evaluated is recorded late', () => {
  const counts = new HourCounts(() => 'node', NOON)
  const late = evaluating(counts, [ruleOf('a')])(500)
  const current = scoring(counts, [ruleOf('b')])
  current(500)
  late()
  current(500, 500)
  expect(rowsOf(counts.take(NOON))).toEqual([
    ['b', 'live', 3, 3, 3, {}],
    ['a', 'live', 1, 1, 1, {}],
  ])
})

test('the counts of 250 rules are sent in records of at most 100 rules', () => {
  const counts = new HourCounts(() => 'node', NOON)
  scoring(
    counts,
    Array.from({ length: 250 }, (_, index) => ruleOf(`r${index}`)),
  )(5)
  expect(counts.take(NOON).map(({ rules }) => rules.length)).toEqual([100, 100, 50])
})
