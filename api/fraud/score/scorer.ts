import type { CancelTimer } from '../../../runtime/runtime.ts'
import { areProbabilities, type DecisionInput, decide } from '../../../schemas/fraud/decision/decide.ts'
import type { ModelScores, Policy } from '../../../schemas/fraud/decision/policy.ts'
import { type Enrichments, featuresOf } from '../../../schemas/fraud/features/features.ts'
import type { ModelInput } from '../../../schemas/fraud/models/inputs.ts'
import { unitsOf, usdOf } from '../../../schemas/fraud/money.ts'
import { evaluateRules } from '../../../schemas/fraud/rules/evaluate.ts'
import { factsOfTransaction } from '../../../schemas/fraud/rules/read-facts.ts'
import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import type { RuleTallies } from '../../../schemas/fraud/rules/tallies.ts'
import type {
  FraudBlocklistType,
  FraudFeatures,
  FraudIpFacts,
  FraudMlScores,
  FraudRequest,
  TxnScored,
} from '../../../schemas/fraud/types.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import type { BlocklistInForce, ModelOutcome, ModelScorer, SettingsInForce } from '../in-force.ts'
import type { EntityProfiles } from '../profiles/entity-profiles.ts'
import type { ScoringObserver } from '../rule-stats/activity.ts'
import { blockedAgain } from './blocked-again.ts'
import { riskFactors } from './factors.ts'
import type { Claimed, KeptAnswers } from './kept-answers.ts'
import { NO_FEATURES } from './no-features.ts'
import type { ScoreLog } from './score-log.ts'
import type { ObserveStage, Stage } from './stages.ts'

/**
 * Time limit of the models. The model scorer has the same limit. The transaction scorer enforces it as well, in case
 * the model scorer fails to do so.
 */
export const MODELS_MS = 30
/**
 * Maximum age of an answer whose event a repeated request logs again. Profiles recognise a repeated transaction for 24
 * hours. The limit is shorter, because the event may wait in the spool for some of these hours.
 */
const LOGGED_AGAIN_FOR_MS = 12 * 3_600_000

/** Parts that may be unavailable, in the order in which `degraded` lists them. */
const PARTS = ['profiles', 'answers', 'models', 'log', 'blocklist', 'rules'] as const
export type DegradedPart = (typeof PARTS)[number]

const NOT_EVALUATED: FraudMlScores = { evaluated: false, account_takeover: 0, payment_fraud: 0, money_laundering: 0 }
/**
 * `withdraw` for a transaction that the blocklist blocks. The profiles of its entities are not looked up, so it is
 * never in flight.
 */
const NOTHING_IN_FLIGHT = async () => undefined
const NO_IP_FACTS: FraudIpFacts = { geo_country: null, is_vpn: null, is_tor: null, is_datacenter: null }

export interface ScorerDeps {
  readonly settings: Pick<SettingsInForce, 'ruleSet' | 'tallies' | 'lists' | 'snoozes' | 'policy' | 'isStale'>
  readonly blocklist: Pick<BlocklistInForce, 'find' | 'isStale'>
  readonly models: Pick<ModelScorer, 'score'>
  readonly profiles: EntityProfiles
  readonly answers: KeptAnswers
  readonly log: ScoreLog
  ipFactsOf(address: string | null): FraudIpFacts
  readonly observe: ObserveStage
  /** Receives each new answer. Repeated requests that get an earlier answer are left out. */
  readonly observer: ScoringObserver
  /** Epoch ms. */
  now(): number
  monotonic(): number
  setTimer(ms: number, callback: () => void): CancelTimer
}

/** A new answer, with the winning rule and the tallies of the evaluation. */
interface Evaluated {
  /** Removes the transaction from the transactions in flight. */
  readonly withdraw: () => Promise<void>
  readonly scored: TxnScored
  /** The rule that had precedence; undefined if no rule matched, or if the blocklist decided. */
  readonly winner: Rule | undefined
  readonly tallies: RuleTallies
  /** The type of the entity on the blocklist; undefined if the blocklist did not decide. */
  readonly hit: FraudBlocklistType | undefined
}

export interface Scored {
  readonly scored: TxnScored
  /** Whether `scored` is the earlier answer to a repeated request. */
  readonly isRepeat: boolean
}

/**
 * Scores a transaction, even if other parts of the service are unavailable. Throws ApiError `idempotency_conflict` if
 * the id of the transaction belongs to a different request, unless the blocklist blocks the transaction. Throws
 * `not_ready` before the settings and the blocklist have been read.
 */
export type Scorer = (request: FraudRequest, requestId: string) => Promise<Scored>

export function scorer(deps: ScorerDeps): Scorer {
  const { settings, blocklist, models, profiles, answers, log, ipFactsOf, observe, observer, now, monotonic, setTimer } = deps

  /** Runs a stage and measures how long it takes. */
  async function timed<T>(stage: Stage, work: () => T | Promise<T>): Promise<T> {
    const start = monotonic()
    const result = await work()
    observe(stage, monotonic() - start)
    return result
  }

  async function score(request: FraudRequest, requestId: string): Promise<Scored> {
    const start = monotonic()
    const hit = blocklist.find(request)
    observe('blocklist', monotonic() - start)
    if (hit !== undefined) return await record(blocked(request, requestId, hit), new Set())
    // The claim and the lookups are sent to Redis in one write. Waiting for the claim would rarely save the lookups,
    // because very few requests repeat an id.
    const at = now()
    const withdraw = () => profiles.withdraw(request, at)
    const [claimed, enrichments] = await Promise.all([
      timed('claim', () => answers.claim(request)),
      timed('enrichment', () => profiles.enrich(request, at)),
    ])
    if (claimed.state === 'conflict') return await refused(withdraw)
    if (claimed.state === 'answered') return await repeated(claimed.scored, withdraw)
    const away = new Set<DegradedPart>()
    if (claimed.state === 'away') away.add('answers')
    return await record({ ...(await evaluate(request, requestId, enrichments, away)), withdraw }, away)
  }

  async function refused(withdraw: Evaluated['withdraw']): Promise<never> {
    await withdraw()
    throw conflict()
  }

  /**
   * Logs the event of a repeated request again, because the first process may have been killed before it logged the
   * event. An event that consumers might no longer recognise as a duplicate is not logged. In this case, no profile
   * will include the transaction again, so this function removes it from the transactions in flight.
   */
  async function repeated(scored: TxnScored, withdraw: Evaluated['withdraw']): Promise<Scored> {
    if (now() - scored.scored_at < LOGGED_AGAIN_FOR_MS) return { scored: await logged(scored), isRepeat: true }
    await withdraw()
    return { scored, isRepeat: true }
  }

  async function evaluate(request: FraudRequest, requestId: string, enrichments: Enrichments, away: Set<DegradedPart>) {
    // These settings are read together before the first `await`, because they may change while this function waits.
    const { ruleSet, tallies, lists, snoozes, policy } = settings
    const ip = ipFactsOf(request.device.ip_address)
    const { features, failed } = featuresOf(request, ip, enrichments)
    const modelsStart = monotonic()
    const modelling = modelsInTime({ request, ip, features })
    const at = now()
    const rulesStart = monotonic()
    const { winner, matched, shadow } = evaluateRules(
      ruleSet,
      { facts: factsOfTransaction({ request, ip, features }), lists, snoozes, at },
      tallies,
      monotonic,
    )
    observe('rules', monotonic() - rulesStart)
    const outcome = await modelling
    observe('models', monotonic() - modelsStart)
    const decisionStart = monotonic()
    if (failed.length > 0) away.add('profiles')
    if (outcome === undefined) away.add('models')
    const scored = scoredOf({
      request,
      requestId,
      at,
      ip,
      features,
      // The thresholds of this policy were calibrated for the models that scored the transaction.
      policy: outcome?.policy ?? policy,
      rulesetVersion: ruleSet.version,
      decisionInput: {
        isBlocklisted: false,
        action: winner?.action,
        scores: outcome?.scores,
        isDefaultProfile: failed.includes('user'),
        amountUsd: features.amount_usd,
      },
      matched,
      shadow,
      outcome,
    })
    observe('decision', monotonic() - decisionStart)
    return { scored, winner, tallies, hit: undefined }
  }

  function blocked(request: FraudRequest, requestId: string, hit: FraudBlocklistType): Evaluated {
    const { ruleSet, tallies, policy } = settings
    const amountUsd = usdOf(unitsOf(request.amount, request.currency))
    const scored = scoredOf({
      request,
      requestId,
      at: now(),
      ip: NO_IP_FACTS,
      features: { ...NO_FEATURES, amount_usd: amountUsd },
      policy,
      rulesetVersion: ruleSet.version,
      decisionInput: { isBlocklisted: true, action: undefined, scores: undefined, isDefaultProfile: false, amountUsd },
      matched: [],
      shadow: [],
      outcome: undefined,
    })
    return { scored, winner: undefined, tallies, hit, withdraw: NOTHING_IN_FLIGHT }
  }

  /** Returns the outcome of the models; undefined if it is missing or late, or if a score is not a probability. */
  function modelsInTime(input: ModelInput): Promise<ModelOutcome | undefined> {
    const { promise, resolve } = Promise.withResolvers<ModelOutcome | undefined>()
    const cancel = setTimer(MODELS_MS, () => resolve(undefined))
    models.score(input).then(
      (outcome) => resolve(outcome !== undefined && areProbabilities(outcome.scores) ? outcome : undefined),
      () => resolve(undefined),
    )
    return promise.finally(cancel)
  }

  /** Keeps the answer, then logs the event. */
  async function record({ scored, winner, tallies, hit, withdraw }: Evaluated, away: Set<DegradedPart>): Promise<Scored> {
    if (blocklist.isStale) away.add('blocklist')
    if (settings.isStale) away.add('rules')
    const named = { ...scored, degraded: inOrder(away) }

    async function audit(first: TxnScored): Promise<void> {
      if (hit !== undefined && !(await log.audit(blockedAgain(first, scored, hit)))) away.add('log')
    }

    const kept: Claimed = await timed('persist', () => answers.keep(named, audit))
    if (kept.state === 'answered') return await repeated(kept.scored, withdraw)
    // A transaction of a blocked entity is blocked, even if its id belongs to another request.
    if (kept.state === 'conflict' && scored.reason !== 'blocklist_hit') return await refused(withdraw)
    if (kept.state === 'away') away.add('answers')
    observer.scored({ tallies, winner, verdict: scored })
    return { scored: await logged({ ...scored, degraded: inOrder(away) }), isRepeat: false }
  }

  async function logged(scored: TxnScored): Promise<TxnScored> {
    if (await timed('log', () => log.record(scored))) return scored
    return { ...scored, degraded: inOrder(new Set([...(scored.degraded as DegradedPart[]), 'log'])) }
  }

  return score
}

interface ScoredParts {
  readonly request: FraudRequest
  readonly requestId: string
  /** Epoch ms. */
  readonly at: number
  readonly ip: FraudIpFacts
  readonly features: FraudFeatures
  readonly policy: Policy
  readonly rulesetVersion: number
  readonly decisionInput: DecisionInput
  readonly matched: readonly Rule[]
  readonly shadow: readonly Rule[]
  readonly outcome: ModelOutcome | undefined
}

function scoredOf({ request, requestId, at, ip, features, policy, outcome, matched, ...parts }: ScoredParts): TxnScored {
  const { decision, risk_score, risk_level, reason, requires_3ds } = decide(policy, parts.decisionInput)
  return {
    request,
    ip,
    features,
    decision,
    risk_score,
    risk_level,
    reason,
    requires_3ds,
    triggered_rules: matched.map(({ rule_id }) => rule_id),
    shadow_rules: parts.shadow.map(({ rule_id }) => rule_id),
    ml_scores: outcome === undefined ? NOT_EVALUATED : evaluated(outcome.scores),
    challenger_scores: outcome?.challenger === undefined ? null : evaluated(outcome.challenger),
    risk_factors: riskFactors(policy, matched, outcome?.factors ?? []),
    degraded: [],
    ruleset_version: parts.rulesetVersion,
    policy_version: policy.version,
    model_versions: (outcome?.versions ?? {}) as Record<string, string>,
    request_id: requestId,
    scored_at: at,
  }
}

function evaluated({ account_takeover, payment_fraud, money_laundering }: ModelScores): FraudMlScores {
  return { evaluated: true, account_takeover, payment_fraud, money_laundering }
}

function inOrder(parts: ReadonlySet<DegradedPart>): DegradedPart[] {
  return PARTS.filter((part) => parts.has(part))
}

function conflict(): ApiError {
  return new ApiError(errors.idempotency_conflict, {
    message: 'This transaction_id was used for a different request. Use a new transaction_id.',
  })
}
