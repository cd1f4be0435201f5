/** What a rule does to a transaction: docs/services/fraud.md#rule-language */
export type RuleAction = 'APPROVE' | 'REVIEW' | 'BLOCK' | 'STEP_UP'

/** `shadow`: the rule is evaluated and counted, and changes no decision. */
export type RuleMode = 'live' | 'shadow'

export interface Rule {
  /** `[A-Za-z0-9_.-]{1,50}` */
  readonly rule_id: string
  /** At most 200 characters. */
  readonly name: string
  readonly condition: string
  readonly action: RuleAction
  /** An integer. Of the rules that match, the one with the lowest number decides. */
  readonly priority: number
  /** A disabled rule is kept but not evaluated. */
  readonly enabled: boolean
  readonly mode: RuleMode
  readonly created_by: string
  /** Epoch ms. */
  readonly created_at: number
  /** Epoch ms. */
  readonly updated_at: number
  /** Epoch ms from which the rule is not evaluated, or null. */
  readonly expires_at: number | null
}

/** More rules than this are refused, because 500 must be evaluated within 10 ms. Shadow rules count as well. */
export const MAX_ACTIVE_RULES = 500

/** Returns whether a rule is evaluated at a time in epoch ms. */
export function isActive(rule: Pick<Rule, 'enabled' | 'expires_at'>, at: number): boolean {
  return rule.enabled && (rule.expires_at === null || at < rule.expires_at)
}

/** Of rules with equal priority, the one whose action comes first decides. */
const ACTION_ORDER: readonly RuleAction[] = ['BLOCK', 'STEP_UP', 'REVIEW', 'APPROVE']

/**
 * Orders rules so that the first one that matches decides: by priority, then by action, then by id, so that the result
 * never depends on the order in which rules were created.
 */
export function byPrecedence(one: Rule, other: Rule): number {
  if (one.priority !== other.priority) return one.priority - other.priority
  const byAction = ACTION_ORDER.indexOf(one.action) - ACTION_ORDER.indexOf(other.action)
  if (byAction !== 0) return byAction
  return one.rule_id < other.rule_id ? -1 : Number(one.rule_id !== other.rule_id)
}
