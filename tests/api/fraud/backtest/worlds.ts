import fc from 'fast-check'
import { decide } from '../../../../schemas/fraud/decision/decide.ts'
import { DEFAULT_POLICY } from '../../../../schemas/fraud/decision/policy.ts'
import { evaluateRules } from '../../../../schemas/fraud/rules/evaluate.ts'
import type { FactsByName } from '../../../../schemas/fraud/rules/facts.ts'
import { fieldOf } from '../../../../schemas/fraud/rules/fields.ts'
import { formatCondition } from '../../../../schemas/fraud/rules/format.ts'
import { MAX_CONDITION_CHARACTERS } from '../../../../schemas/fraud/rules/parse.ts'
import { factsOfTransaction } from '../../../../schemas/fraud/rules/read-facts.ts'
import type { Rule } from '../../../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../../../schemas/fraud/rules/rule-set.ts'
import { type Snooze, snoozesOf } from '../../../../schemas/fraud/rules/snoozes.ts'
import { RuleTallies } from '../../../../schemas/fraud/rules/tallies.ts'
import type { TxnScored } from '../../../../schemas/fraud/types.ts'
import { scored } from '../../../pipelines/fraud/scored.ts'
import { NOON, pay } from '../../../schemas/fraud/payments.ts'
import { conditions, facts, TEST_LISTS } from '../../../schemas/fraud/rules/conditions.ts'

const MAX_RULES = 8
const MAX_SNOOZES = 4
const MAX_TRANSACTIONS = 6
/**
 * Times of transactions, expiry times of rules, and times at which snoozes begin and end. They are only milliseconds
 * apart, so that they occur in every order.
 */
const times = fc.integer({ min: 0, max: 3 }).map((step) => NOON + step)
const users = fc.constantFrom('u1', 'u2')
const ruleIds = fc.integer({ min: 0, max: MAX_RULES - 1 }).map((index) => `r${index}`)

const rules: fc.Arbitrary<Rule[]> = fc
  .array(
    fc.record({
      condition: conditions.map(formatCondition).filter((text) => text.length <= MAX_CONDITION_CHARACTERS),
      action: fc.constantFrom('APPROVE', 'REVIEW', 'BLOCK', 'STEP_UP'),
      priority: fc.integer({ min: 0, max: 2 }),
      enabled: fc.boolean(),
      mode: fc.constantFrom('live', 'live', 'shadow'),
      expires_at: fc.option(times),
    }),
    { maxLength: MAX_RULES },
  )
  .map((drafts) =>
    drafts.map((draft, index) => ({ ...draft, rule_id: `r${index}`, name: 'any', created_by: 'ann', created_at: 0, updated_at: 0 })),
  )

const snoozes: fc.Arbitrary<Snooze[]> = fc.array(
  fc.record({ rule_id: ruleIds, entity_type: fc.constant('USER'), entity_value: users, created_at: times, until: times }),
  { maxLength: MAX_SNOOZES },
)

const probability = fc.constantFrom(0, 0.3, 0.71, 0.95, 0.995, 1)

const transactions = fc.array(
  fc.record({
    facts,
    user: users,
    scoredAt: times,
    amountUsd: fc.constantFrom(0.5, 99, 100, 1_000, 50_000),
    isUserRead: fc.boolean(),
    isBlocklisted: fc.constantFrom(false, false, false, true),
    scores: fc.record({
      evaluated: fc.boolean(),
      account_takeover: probability,
      payment_fraud: probability,
      money_laundering: probability,
    }),
    verdict: fc.constantFrom('CONFIRMED_FRAUD', 'FALSE_POSITIVE', 'SUSPICIOUS', null),
  }),
  { minLength: 1, maxLength: MAX_TRANSACTIONS },
)

/** Generates rules, snoozes and transactions. */
export const worlds = fc.record({ rules, snoozes, transactions })

export type TestTransaction = ReturnType<(typeof transactions)['generate']>['value'][number]

/** Scores a transaction as the live path does. Returns the outcome of the rules, the decision and the logged event. */
export function scoreLive(given: { rules: readonly Rule[]; snoozes: readonly Snooze[] }, index: number, transaction: TestTransaction) {
  const ruleSet = compileRuleSet(1, given.rules)
  const { scores, scoredAt, isBlocklisted, isUserRead, amountUsd, user } = transaction
  const base = withFacts(scored({ ...pay({ id: `t${index}`, user }), timestamp: NOON }), transaction.facts)
  const features = { ...base.features, amount_usd: amountUsd, user_txn_count: isUserRead ? 0 : null }
  const event = { ...base, features, scored_at: scoredAt }
  const input = { facts: factsOfTransaction(event), lists: TEST_LISTS, snoozes: snoozesOf(given.snoozes), at: scoredAt }
  const outcome = isBlocklisted ? undefined : evaluateRules(ruleSet, input, new RuleTallies(ruleSet), () => 0)
  const verdict = decide(DEFAULT_POLICY, {
    isBlocklisted,
    action: outcome?.winner?.action,
    scores: scores.evaluated ? scores : undefined,
    isDefaultProfile: !isUserRead,
    amountUsd,
  })
  const logged: TxnScored = {
    ...event,
    ...verdict,
    triggered_rules: outcome?.matched.map(({ rule_id }) => rule_id) ?? [],
    shadow_rules: outcome?.shadow.map(({ rule_id }) => rule_id) ?? [],
    ml_scores: scores.evaluated ? scores : { evaluated: false, account_takeover: 0, payment_fraud: 0, money_laundering: 0 },
    policy_version: DEFAULT_POLICY.version,
  }
  return { outcome, verdict, logged }
}

/** Returns the event with these values in the fields that rules read. */
function withFacts(event: TxnScored, values: FactsByName): TxnScored {
  const copy = structuredClone(event)
  for (const [name, value] of Object.entries(values)) {
    const path = (fieldOf(name)!.source as string).split('.')
    let parent = copy as unknown as Record<string, unknown>
    for (const part of path.slice(0, -1)) parent = parent[part] as Record<string, unknown>
    parent[path.at(-1)!] = value
  }
  return copy
}
