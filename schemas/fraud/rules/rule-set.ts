import { type Condition, compileCondition } from './compile.ts'
import type { Fault } from './faults.ts'
import { planOf, type RulePlan } from './plan.ts'
import { byPrecedence, type Rule } from './rule.ts'

/** A rule ready for evaluation. */
export interface CompiledRule {
  readonly rule: Rule
  readonly condition: Condition
  /** Position in `RuleSet.rules`, for counters and the plan. */
  readonly index: number
  /** Time from which the rule is no longer evaluated, epoch ms; infinite if the rule does not expire. */
  readonly endsAt: number
}

/**
 * A rule whose condition this version of the program rejects, although an earlier version accepted it. The rule is
 * never evaluated.
 */
export interface BrokenRule {
  readonly rule: Rule
  readonly faults: readonly Fault[]
}

/** All enabled rules of one version: the compiled rules, and those that do not compile. */
export interface RuleSet {
  readonly version: number
  /** The live and shadow rules that compile, in order of precedence. */
  readonly rules: readonly CompiledRule[]
  /** Evaluates `rules` by their indexes. */
  readonly plan: RulePlan
  /** The live rules in order of precedence. */
  readonly live: readonly CompiledRule[]
  /** The shadow rules in order of precedence. */
  readonly shadow: readonly CompiledRule[]
  readonly broken: readonly BrokenRule[]
}

/**
 * Compiles the enabled rules of a set. A rule that does not compile is listed as broken, because one invalid rule must
 * not stop the others. Conditions that are also in the previous set are taken from it, because parsing and checking
 * hundreds of conditions would delay the payments that are being scored.
 */
export function compileRuleSet(version: number, given: readonly Rule[], previous?: RuleSet): RuleSet {
  const known = new Map(previous?.rules.map(({ rule, condition }) => [rule.condition, condition]))
  const rules: CompiledRule[] = []
  const broken: BrokenRule[] = []
  for (const rule of given.filter(({ enabled }) => enabled).sort(byPrecedence)) {
    const condition = known.get(rule.condition)
    const compiled = condition === undefined ? compileCondition(rule.condition) : { ok: true as const, condition }
    if (compiled.ok)
      rules.push({ rule, condition: compiled.condition, index: rules.length, endsAt: rule.expires_at ?? Number.POSITIVE_INFINITY })
    else broken.push({ rule, faults: compiled.faults })
  }
  return {
    version,
    rules,
    plan: planOf(rules.map(({ condition }) => condition.node)),
    live: rules.filter(({ rule }) => rule.mode === 'live'),
    shadow: rules.filter(({ rule }) => rule.mode === 'shadow'),
    broken,
  }
}
