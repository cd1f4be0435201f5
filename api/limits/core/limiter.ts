import type { LimitRule } from '../../../schemas/types.ts'
import type { LimitedCaller } from '../../kit/limited-caller.ts'
import type { Ask, CounterStore, FailureReason, Reading, Undecided } from './counter-store.ts'
import { limitedMethod } from './endpoint-pattern.ts'
import { bucketStanding, type Limit, type Standing, US_PER_SECOND, windowStanding } from './formulas.ts'
import type { RuleTable } from './matching.ts'
import type { CompiledRule } from './rule.ts'

/** One request, as far as limits go. */
export interface LimitedRequest {
  readonly method: string
  /** As the router reads it: a path that is written otherwise must not pass by its rule. */
  readonly path: string
  readonly caller: LimitedCaller
  /** Requests that this one counts for; default 1. */
  readonly cost?: number
}

export interface RuleStanding extends Standing {
  readonly rule: LimitRule
  /** True: this rule has no room for the request. */
  readonly isOver: boolean
}

export type Verdict =
  /** No rule applies. */
  | { readonly outcome: 'unlimited' }
  /** The counters did not answer: the request is let through. */
  | { readonly outcome: 'undecided'; readonly reason: FailureReason | 'rules_not_ready' | 'fault' }
  | {
      readonly outcome: 'allowed' | 'refused'
      /** The strictest rule that may refuse; undefined: only rules that log apply. */
      readonly strictest: RuleStanding | undefined
      /** Every rule that had no room, whatever its action. */
      readonly violations: readonly RuleStanding[]
    }

export interface Limiter {
  /** Answers at once where nothing must be asked. Never throws or rejects. */
  decide(request: LimitedRequest): Verdict | Promise<Verdict>
}

export interface LimiterOptions {
  readonly counters: CounterStore
  /** undefined: not read yet; everything is let through. */
  rules(): RuleTable | undefined
}

const UNLIMITED: Verdict = { outcome: 'unlimited' }

/** Decides requests by their rules. */
export function limiter({ counters, rules }: LimiterOptions): Limiter {
  function decide({ method, path, caller, cost = 1 }: LimitedRequest): Verdict | Promise<Verdict> {
    const table = rules()
    if (table === undefined) return { outcome: 'undecided', reason: 'rules_not_ready' }
    const matching = table.match(limitedMethod(method), path, caller)
    if (matching.length === 0) return UNLIMITED
    const asks = matching.map(
      (compiled): Ask => ({ mode: compiled.rule.action === 'reject' ? 'hard' : 'soft', counter: compiled.counterFor(caller), units: cost }),
    )
    const outcome = counters.decide(asks)
    if (outcome instanceof Promise) return outcome.then((readings) => verdictOf(matching, readings, cost))
    return verdictOf(matching, outcome, cost)
  }

  return { decide }
}

function verdictOf(rules: readonly CompiledRule[], readings: readonly Reading[] | Undecided, cost: number): Verdict {
  if ('undecided' in readings) return { outcome: 'undecided', reason: readings.undecided }
  let strictest: RuleStanding | undefined
  let isRefused = false
  const violations: RuleStanding[] = []
  for (let index = 0; index < rules.length; index++) {
    const { rule, limit } = rules[index]
    const reading = readings[index]
    const standing = { rule, isOver: reading.taken < cost, ...standingOf(limit, reading, cost) }
    if (standing.isOver) violations.push(standing)
    if (rule.action !== 'reject') continue
    if (standing.isOver) isRefused = true
    if (strictest === undefined || isStricter(standing, strictest)) strictest = standing
  }
  return { outcome: isRefused ? 'refused' : 'allowed', strictest, violations }
}

export function standingOf(limit: Limit, reading: Reading, units: number): Standing {
  if (limit.burst > 0) return bucketStanding(limit, reading.held / US_PER_SECOND, reading.nowUs, units)
  return windowStanding(limit, { current: reading.held, previous: reading.heldBefore }, reading.nowUs, units)
}

/** A refusal is stricter than none; the longer wait, then the fewer requests left. */
function isStricter(one: RuleStanding, other: RuleStanding): boolean {
  if (one.isOver !== other.isOver) return one.isOver
  if (one.isOver) return one.retryAfterSeconds > other.retryAfterSeconds
  return one.remaining < other.remaining
}
