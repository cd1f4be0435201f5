import type { Decision } from '../../../schemas/fraud/decision/policy.ts'
import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import type { RuleTallies } from '../../../schemas/fraud/rules/tallies.ts'

/** What scoring reports about one new answer. */
export interface ScoredActivity {
  /** The counters of the rules. The evaluation has increased them, unless the blocklist decided. */
  readonly tallies: RuleTallies
  /** The rule that had precedence; undefined if no rule matched, or if the blocklist decided. */
  readonly winner: Rule | undefined
  readonly verdict: { readonly decision: Decision; readonly reason: string | null }
}

/** Observes scoring decisions. An observer must be fast and must not throw, because scoring waits for it. */
export interface ScoringObserver {
  scored(activity: ScoredActivity): void
}
