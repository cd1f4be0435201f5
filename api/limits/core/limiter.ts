import type { LimitRule } from '../../../schemas/limit-rule.ts'
import type { LimitedCaller } from '../../kit/limited-caller.ts'
import type { Ask, CounterStore, FailureReason, Outcome, Reading } from './counter.ts'
import { limitedMethod } from './endpoint-pattern.ts'
import { bucketStatus, type Limit, type LimitStatus, US_PER_SECOND, windowStatus } from './formulas.ts'
import type { RuleTable } from './matching.ts'
import type { OwnCounts } from './own-counts.ts'
import type { CompiledRule } from './rule.ts'

/** The parts of a request that rate limits use. */
export interface LimitedRequest {
  readonly method: string
  /**
   * The path in normalised spelling, so that a different spelling of a path does not bypass its rule. For a route with
   * `countsAs`, that path replaces the path of the request.
   */
  readonly path: string
  readonly caller: LimitedCaller
  /** The number of requests to count. Default 1. */
  readonly cost?: number
}

export interface RuleStatus extends LimitStatus {
  readonly rule: LimitRule
  /** Whether the rule has too few units left for the request. */
  readonly isOver: boolean
}

export type Verdict =
  /** No rule applies. */
  | { readonly outcome: 'unlimited' }
  /**
   * No decision was possible, for example because the rules, or the API key that alone identifies the caller, have not
   * been read yet. The request is allowed.
   */
  | { readonly outcome: 'undecided'; readonly reason: FailureReason | 'rules_not_ready' | 'keys_not_ready' | 'fault' }
  | {
      readonly outcome: 'allowed' | 'refused'
      /** The strictest rule that may refuse requests; undefined if all rules that apply are rules that only log. */
      readonly strictest: RuleStatus | undefined
      /** All rules with too few units left for the request, regardless of their action. */
      readonly violations: readonly RuleStatus[]
      /** Why this instance's own counts decided instead of the store; undefined if the store decided. */
      readonly withoutStore?: FailureReason
    }

export interface Limiter {
  /**
   * Decides whether a request is allowed. Returns a plain value instead of a promise if it need not wait for the store.
   * Throws or rejects only because of a bug; `failOpenLimiter` then allows the request.
   */
  decide(request: LimitedRequest): Verdict | Promise<Verdict>
}

export interface LimiterOptions {
  readonly counters: CounterStore
  /** Returns the rules; undefined if they have not been read yet. All requests are then allowed. */
  rules(): RuleTable | undefined
  /** Decides requests that the counters leave undecided. If undefined, these requests are allowed. */
  readonly own?: Pick<OwnCounts, 'decide'>
}

const UNLIMITED: Verdict = { outcome: 'unlimited' }

/** Creates a limiter that decides requests by the rules that apply to them. */
export function limiter({ counters, rules, own }: LimiterOptions): Limiter {
  function decide({ method, path, caller, cost = 1 }: LimitedRequest): Verdict | Promise<Verdict> {
    const table = rules()
    if (table === undefined) return { outcome: 'undecided', reason: 'rules_not_ready' }
    const matching = table.match(limitedMethod(method), path, caller)
    if (matching.length === 0) return UNLIMITED
    const asks = matching.map(
      (compiled): Ask => ({ mode: compiled.rule.action === 'reject' ? 'hard' : 'soft', counter: compiled.counterFor(caller), units: cost }),
    )
    const outcome = counters.decide(asks)
    if (outcome instanceof Promise) return outcome.then((answered) => concluded(matching, asks, answered, cost))
    return concluded(matching, asks, outcome, cost)
  }

  function concluded(matching: readonly CompiledRule[], asks: readonly Ask[], outcome: Outcome, cost: number): Verdict {
    if (!('undecided' in outcome)) return verdictOf(matching, outcome, cost, undefined)
    if (own === undefined) return { outcome: 'undecided', reason: outcome.undecided }
    return verdictOf(matching, own.decide(asks, outcome), cost, outcome.undecided)
  }

  return { decide }
}

function verdictOf(
  rules: readonly CompiledRule[],
  readings: readonly Reading[],
  cost: number,
  withoutStore: FailureReason | undefined,
): Verdict {
  let strictest: RuleStatus | undefined
  let isRefused = false
  const violations: RuleStatus[] = []
  for (let index = 0; index < rules.length; index++) {
    const { rule, limit } = rules[index]
    const reading = readings[index]
    const status = { rule, isOver: reading.taken < cost, ...statusOf(limit, reading, cost) }
    if (status.isOver) violations.push(status)
    if (rule.action !== 'reject') continue
    if (status.isOver) isRefused = true
    if (strictest === undefined || isStricter(status, strictest)) strictest = status
  }
  return { outcome: isRefused ? 'refused' : 'allowed', strictest, violations, withoutStore }
}

export function statusOf(limit: Limit, reading: Reading, units: number): LimitStatus {
  if (limit.burst > 0) return bucketStatus(limit, reading.held / US_PER_SECOND, reading.nowUs, units)
  return windowStatus(limit, { current: reading.held, previous: reading.heldBefore }, reading.nowUs, units)
}

/**
 * Returns whether one decision is stricter than another. A refusal is stricter than a permission. Of two refusals, the
 * refusal with the longer wait is stricter. Of two permissions, the permission with fewer requests left is stricter.
 */
function isStricter(one: RuleStatus, other: RuleStatus): boolean {
  if (one.isOver !== other.isOver) return one.isOver
  if (one.isOver) return one.retryAfterSeconds > other.retryAfterSeconds
  return one.remaining < other.remaining
}
