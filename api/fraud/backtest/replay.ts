import { decide, type Verdict } from '../../../schemas/fraud/decision/decide.ts'
import type { Policy } from '../../../schemas/fraud/decision/policy.ts'
import { evaluateRules, type RuleOutcome } from '../../../schemas/fraud/rules/evaluate.ts'
import type { Lists } from '../../../schemas/fraud/rules/facts.ts'
import { factsOfTransaction } from '../../../schemas/fraud/rules/read-facts.ts'
import type { RuleSet } from '../../../schemas/fraud/rules/rule-set.ts'
import type { Snoozes } from '../../../schemas/fraud/rules/snoozes.ts'
import type { RuleTallies } from '../../../schemas/fraud/rules/tallies.ts'
import type { LoggedTransaction } from '../../../state/tables/fraud/logged.ts'

/** The rules and settings by which logged transactions are judged again. */
export interface ReplayBasis {
  readonly ruleSet: RuleSet
  readonly lists: Lists
  readonly snoozes: Snoozes
  readonly policy: Policy
}

export interface Replayed {
  /** The rules that match; undefined if the blocklist decided. In that case, live scoring evaluates no rules either. */
  readonly outcome: RuleOutcome | undefined
  readonly verdict: Verdict
}

/**
 * A clock that never advances, so that no shadow rule is skipped. Live scoring skips shadow rules when they take too
 * long, but a back-test has time to evaluate all of them.
 */
const TIMELESS = () => 0

/**
 * Judges a logged transaction again. Adds the results of the rules to `tallies`. The log provides every value that was
 * measured when the transaction was scored: features, facts about the IP address, model scores, and whether the
 * blocklist decided. Whether a rule has expired or is snoozed is determined for the time when the transaction was
 * scored.
 */
export function replay({ ruleSet, lists, snoozes, policy }: ReplayBasis, transaction: LoggedTransaction, tallies: RuleTallies): Replayed {
  const { features, ml_scores, reason, scored_at } = transaction
  const isBlocklisted = reason === 'blocklist_hit'
  const outcome = isBlocklisted
    ? undefined
    : evaluateRules(ruleSet, { facts: factsOfTransaction(transaction), lists, snoozes, at: scored_at }, tallies, TIMELESS)
  const verdict = decide(policy, {
    isBlocklisted,
    action: outcome?.winner?.action,
    scores: ml_scores.evaluated ? ml_scores : undefined,
    // A missing count means that the lookup of the user's profile failed. For a user without history, the count is 0.
    isDefaultProfile: features.user_txn_count === null,
    amountUsd: features.amount_usd,
  })
  return { outcome, verdict }
}
