import { decide } from '../../../schemas/fraud/decision/decide.ts'
import type { ModelScores, Policy } from '../../../schemas/fraud/decision/policy.ts'
import { hash32 } from '../../../schemas/fraud/hash.ts'
import type { ModelInput } from '../../../schemas/fraud/models/inputs.ts'
import { evaluateRules } from '../../../schemas/fraud/rules/evaluate.ts'
import { NO_LISTS } from '../../../schemas/fraud/rules/facts.ts'
import { factsOfTransaction } from '../../../schemas/fraud/rules/read-facts.ts'
import type { RuleAction } from '../../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../../schemas/fraud/rules/rule-set.ts'
import { SEEDED_RULES } from '../../../schemas/fraud/rules/seeded.ts'
import { NO_SNOOZES } from '../../../schemas/fraud/rules/snoozes.ts'
import { RuleTallies } from '../../../schemas/fraud/rules/tallies.ts'
import type { FraudRequest } from '../../../schemas/fraud/types.ts'
import { profileReplay } from '../profile-replay.ts'
import { type GeneratedPayment, PATTERNS, type Pattern } from './payment.ts'

/** A generated payment with the inputs of rules and models, and the result of the seeded rules. */
export interface RuledPayment {
  readonly payment: GeneratedPayment
  readonly input: ModelInput
  /** The action of the winning rule; undefined if no rule matches. */
  readonly action: RuleAction | undefined
  /**
   * False for a person's normal payments after an unconfirmed fraud. Such payments look suspicious, for example
   * because the fraud took place far away. Generated traffic has too many frauds, and therefore too many of these
   * payments.
   */
  readonly isCounted: boolean
}

/** Quality of the decisions by rules and models together on generated traffic. All numbers are shares from 0 to 1. */
export interface TrafficReport {
  /**
   * Share of all payments that are blocked, calculated for the assumed share of frauds. Leaves out payments for which
   * `isCounted` is false.
   */
  readonly blocked: number
  /** Share of all normal payments that are reviewed or blocked. */
  readonly falsePositives: number
  /**
   * Share of false positives among the normal payments for which `isCounted` is true. This share makes the decisions
   * look better than they are, so it must not be reported alone.
   */
  readonly falsePositivesWithoutVictims: number
  /**
   * Shares of the payments and occurrences of each pattern that are found. A payment is found if it is reviewed or
   * blocked. An occurrence is found if at least one of its payments is found.
   */
  readonly patterns: Readonly<Record<Pattern, { readonly payments: number; readonly occurrences: number }>>
}

/**
 * Assumed share of frauds in real traffic. Generated traffic contains more frauds than this, so that each pattern can
 * be measured.
 */
export const FRAUD_SHARE = 0.005

/** How long after a fraud an analyst confirms it, ms. */
const CONFIRMED_AFTER_MS = 3 * 86_400_000
const TWO_TO_32 = 2 ** 32

/**
 * Folds payments into profiles and evaluates the seeded rules, as the pipeline and the API do. Analysts confirm only
 * some of the frauds, so that confirmed frauds are as rare as in real traffic. If they confirmed all frauds, most
 * merchants and many users would look fraudulent.
 */
export function* ruledTraffic(payments: readonly GeneratedPayment[]): Generator<RuledPayment> {
  const frauds = payments.filter(({ pattern }) => pattern !== undefined).length
  const confirmedShare = (FRAUD_SHARE * payments.length) / frauds
  const ruleSet = compileRuleSet(0, SEEDED_RULES)
  const tallies = new RuleTallies(ruleSet)
  const profiles = profileReplay()
  const unconfirmed: FraudRequest[] = []
  let confirmed = 0
  const victims = new Set<string>()
  for (const payment of payments) {
    const { request, ip } = payment
    for (; confirmed < unconfirmed.length; confirmed++) {
      const at = unconfirmed[confirmed].timestamp + CONFIRMED_AFTER_MS
      if (at > request.timestamp) break
      profiles.confirmFraud(unconfirmed[confirmed], at)
    }
    const input = profiles.next(request, ip)
    const { user_id } = request.payer
    if (payment.pattern !== undefined) {
      if (hash32(payment.occurrence) < confirmedShare * TWO_TO_32) unconfirmed.push(request)
      else victims.add(user_id)
    }
    const given = { facts: factsOfTransaction(input), lists: NO_LISTS, snoozes: NO_SNOOZES, at: request.timestamp }
    const { winner } = evaluateRules(ruleSet, given, tallies, () => 0)
    yield { payment, input, action: winner?.action, isCounted: payment.pattern !== undefined || !victims.has(user_id) }
  }
}

/**
 * Measures the quality of the decisions on payments.
 * @param scores the models' scores, in the order of the payments
 */
export function judge(ruled: readonly RuledPayment[], scores: readonly ModelScores[], policy: Policy): TrafficReport {
  const victims = { all: 0, found: 0 }
  const normal = { all: 0, found: 0, blocked: 0 }
  const fraud = { all: 0, found: 0, blocked: 0 }
  const payments = new Map<Pattern, { all: number; found: number }>()
  const occurrences = new Map<Pattern, Map<string, boolean>>()
  for (const [index, { payment, input, action, isCounted }] of ruled.entries()) {
    const { decision } = decide(policy, {
      isBlocklisted: false,
      action,
      scores: scores[index],
      isDefaultProfile: false,
      amountUsd: input.features.amount_usd,
    })
    const isFound = decision !== 'APPROVE'
    if (!isCounted) {
      victims.all++
      if (isFound) victims.found++
      continue
    }
    const counted = payment.pattern === undefined ? normal : fraud
    counted.all++
    if (isFound) counted.found++
    if (decision === 'BLOCK') counted.blocked++
    if (payment.pattern === undefined) continue
    const own = payments.get(payment.pattern) ?? { all: 0, found: 0 }
    payments.set(payment.pattern, { all: own.all + 1, found: own.found + Number(isFound) })
    const found = occurrences.get(payment.pattern) ?? new Map<string, boolean>()
    occurrences.set(payment.pattern, found.set(payment.occurrence, isFound || found.get(payment.occurrence) === true))
  }
  return {
    blocked: (1 - FRAUD_SHARE) * share(normal.blocked, normal.all) + FRAUD_SHARE * share(fraud.blocked, fraud.all),
    falsePositives: share(normal.found + victims.found, normal.all + victims.all),
    falsePositivesWithoutVictims: share(normal.found, normal.all),
    patterns: Object.fromEntries(
      PATTERNS.map((pattern) => {
        const { all, found } = payments.get(pattern) ?? { all: 0, found: 0 }
        const results = [...(occurrences.get(pattern)?.values() ?? [])]
        return [pattern, { payments: share(found, all), occurrences: share(results.filter(Boolean).length, results.length) }]
      }),
    ) as TrafficReport['patterns'],
  }
}

function share(part: number, all: number): number {
  return all === 0 ? 0 : part / all
}
