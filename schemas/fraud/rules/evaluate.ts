import type { Facts, Lists } from './facts.ts'
import type { RulePlan } from './plan.ts'
import type { Rule } from './rule.ts'
import type { CompiledRule, RuleSet } from './rule-set.ts'
import { isSnoozed, type Snoozes } from './snoozes.ts'
import type { RuleTallies } from './tallies.ts'
import type { Truth } from './truth.ts'

/** Time limit of all shadow rules together for one transaction. */
const SHADOW_BUDGET_MS = 2
/** The clock is read once per this many shadow rules, because reading it takes as long as evaluating a rule. */
const SHADOW_RULES_PER_CLOCK_READ = 16

/** The data on which rules are evaluated. */
export interface RuleInput {
  readonly facts: Facts
  readonly lists: Lists
  readonly snoozes: Snoozes
  /**
   * The time that decides whether rules have expired or are snoozed, epoch ms. A back-test passes the logged time of
   * the decision.
   */
  readonly at: number
}

/**
 * The result of the rules for one transaction. Its lists of rules are in order of precedence; in `snoozed`, live rules
 * come before shadow rules.
 */
export interface RuleOutcome {
  /** The first live rule that matched. Only this rule affects the decision. */
  readonly winner: Rule | undefined
  /** All live rules that matched. */
  readonly matched: readonly Rule[]
  /** The shadow rules that matched, among those that were evaluated before the time limit. */
  readonly shadow: readonly Rule[]
  /** Live and shadow rules that would have matched without a snooze. */
  readonly snoozed: readonly Rule[]
}

/**
 * Evaluates a rule set. Rules never prevent a decision: a rule that throws does not match. `clock` returns monotonic
 * ms. This clock limits only shadow rules, so the results of live rules depend on nothing but the input.
 */
export function evaluateRules(ruleSet: RuleSet, input: RuleInput, tallies: RuleTallies, clock: () => number): RuleOutcome {
  const matched: Rule[] = []
  const shadow: Rule[] = []
  const snoozed: Rule[] = []
  const { live, plan } = ruleSet
  plan.begin(input.facts, input.lists)
  for (const rule of live) evaluateRule(rule, plan, input, tallies, matched, snoozed)
  const end = ruleSet.shadow.length === 0 ? 0 : clock() + SHADOW_BUDGET_MS
  for (const [position, rule] of ruleSet.shadow.entries()) {
    const isLate = position > 0 && position % SHADOW_RULES_PER_CLOCK_READ === 0 && clock() > end
    if (isLate) {
      for (const skipped of ruleSet.shadow.slice(position)) tallies.skipped(skipped)
      break
    }
    evaluateRule(rule, plan, input, tallies, shadow, snoozed)
  }
  return { winner: matched[0], matched, shadow, snoozed }
}

function evaluateRule(
  compiled: CompiledRule,
  plan: RulePlan,
  input: RuleInput,
  tallies: RuleTallies,
  matched: Rule[],
  snoozed: Rule[],
): void {
  if (input.at >= compiled.endsAt) return
  tallies.evaluated(compiled.index)
  const result = resultOf(compiled, plan, tallies)
  if (result === false) return
  const { rule } = compiled
  if (result === undefined) {
    tallies.missing(compiled, input.facts, input.lists)
  } else if (isSnoozed(input.snoozes, rule.rule_id, input.facts, input.at)) {
    tallies.snoozed(compiled)
    snoozed.push(rule)
  } else {
    tallies.matched(compiled)
    matched.push(rule)
  }
}

/**
 * Returns whether a rule matches. Returns undefined if the result depends on a missing value, and false if the
 * evaluation failed.
 */
function resultOf(compiled: CompiledRule, plan: RulePlan, tallies: RuleTallies): Truth {
  try {
    return plan.evaluate(compiled.index)
  } catch {
    tallies.failed(compiled)
    return false
  }
}
