/** The effect of a rule on a transaction; see docs/services/fraud.md#rule-language. */
export type RuleAction = 'APPROVE' | 'REVIEW' | 'BLOCK' | 'STEP_UP'

/** The mode of a rule. `shadow`: the rule is evaluated and counted, but does not affect decisions. */
export type RuleMode = 'live' | 'shadow'

export interface Rule {
  /** `[A-Za-z0-9_.-]{1,50}` */
  readonly rule_id: string
  /** At most 200 characters. */
  readonly name: string
  readonly condition: string
  readonly action: RuleAction
  /** Priority of the rule, an integer. Of the rules that match, the rule with the lowest number decides. */
  readonly priority: number
  /** False if the rule is stored but not evaluated. */
  readonly enabled: boolean
  readonly mode: RuleMode
  readonly created_by: string
  /** Epoch ms. */
  readonly created_at: number
  /** Epoch ms. */
  readonly updated_at: number
  /** Time from which the rule is no longer evaluated, epoch ms; null if the rule does not expire. */
  readonly expires_at: number | null
}

/**
 * Maximum number of active rules, because all of them must be evaluated within 10 ms. The number includes shadow rules.
 */
export const MAX_ACTIVE_RULES = 500

/** Returns whether a rule is evaluated at a time in epoch ms. */
export function isActive(rule: Pick<Rule, 'enabled' | 'expires_at'>, at: number): boolean {
  return rule.enabled && (rule.expires_at === null || at < rule.expires_at)
}

/**
 * Precedence of actions. Of matching rules with equal priority, the rule whose action is earlier in this list decides.
 */
const ACTION_ORDER: readonly RuleAction[] = ['BLOCK', 'STEP_UP', 'REVIEW', 'APPROVE']

/**
 * Orders rules so that the first matching rule decides: by priority, then by action, then by id. The order therefore
 * never depends on when rules were created.
 */
export function byPrecedence(one: Rule, other: Rule): number {
  if (one.priority !== other.priority) return one.priority - other.priority
  const byAction = ACTION_ORDER.indexOf(one.action) - ACTION_ORDER.indexOf(other.action)
  if (byAction !== 0) return byAction
  return one.rule_id < other.rule_id ? -1 : Number(one.rule_id !== other.rule_id)
}
