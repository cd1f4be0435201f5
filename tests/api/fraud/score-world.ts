import type { ModelOutcome, ModelScorer } from '../../../api/fraud/in-force.ts'
import { entityProfiles } from '../../../api/fraud/profiles/entity-profiles.ts'
import type { ScoredActivity } from '../../../api/fraud/rule-stats/activity.ts'
import { keptAnswers } from '../../../api/fraud/score/kept-answers.ts'
import { rehearsal } from '../../../api/fraud/score/rehearsal.ts'
import { scoreLog } from '../../../api/fraud/score/score-log.ts'
import { scorer } from '../../../api/fraud/score/scorer.ts'
import type { Stage } from '../../../api/fraud/score/stages.ts'
import type { Published } from '../../../api/kit/spool/spooling-publisher.ts'
import { manualRuntime } from '../../../runtime/manual.ts'
import { DEFAULT_POLICY } from '../../../schemas/fraud/decision/policy.ts'
import { NO_LISTS } from '../../../schemas/fraud/rules/facts.ts'
import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../../schemas/fraud/rules/rule-set.ts'
import { SEEDED_RULES } from '../../../schemas/fraud/rules/seeded.ts'
import { NO_SNOOZES } from '../../../schemas/fraud/rules/snoozes.ts'
import { RuleTallies } from '../../../schemas/fraud/rules/tallies.ts'
import { fraudAudit } from '../../../schemas/fraud/topics.ts'
import type { FraudBlocklistType, FraudRequest, FraudSettingsChange, TxnScored } from '../../../schemas/fraud/types.ts'
import { ENRICH, WITHDRAW } from '../../../state/views/fraud/enrich.ts'
import { CLAIM_ANSWER, KEEP_ANSWER, READ_ANSWER } from '../../../state/views/fraud/kept-answers.ts'
import type { ViewScripts } from '../../../state/views/view.ts'
import { NO_IP_FACTS, NOON } from '../../schemas/fraud/payments.ts'

const NOTHING_TO_CLOSE = { probes: [], close: async () => undefined }
const DAY_MS = 86_400_000
const NEVER = new Promise<never>(() => undefined)
/** Number of Redis keys per entity. */
const ENTITY_KEYS = 3

type Presence = 'works' | 'fails' | 'hangs'

/**
 * Creates a scorer with fakes. Redis, the log and the models can be made to fail or hang. The fake Redis stores
 * answers. It has no profiles, unless a test sets `state.profile`.
 */
export function scoreWorld({ rules = SEEDED_RULES as readonly Rule[] } = {}) {
  const runtime = manualRuntime({ startAt: NOON })
  const held = new Map<string, Buffer>()
  const logged: TxnScored[] = []
  const audits: FraudSettingsChange[] = []
  const losses: string[] = []
  const stages: Stage[] = []
  const activities: ScoredActivity[] = []
  /** The time to live of each value that was written to Redis, in ms. */
  const keptMs: unknown[] = []
  const state = {
    redis: 'works' as Presence,
    log: 'works' as Presence,
    models: 'works' as Presence,
    /** The stored profile of every entity. */
    profile: null as Buffer | null,
    view: 'caught up' as 'caught up' | 'cleared',
    outcome: undefined as ModelOutcome | undefined,
    blocked: undefined as ((request: FraudRequest) => FraudBlocklistType | undefined) | undefined,
    isStale: { blocklist: false, settings: false },
    calls: [] as string[],
  }
  const ruleSet = compileRuleSet(7, rules)

  const scripts: ViewScripts = {
    run(script, keys, args, options) {
      state.calls.push(script.name)
      if (script === ENRICH) keptMs.push(args[2])
      if (script === CLAIM_ANSWER || script === KEEP_ANSWER) keptMs.push(args[1])
      if (state.redis === 'fails') return Promise.reject(new Error('Redis is unreachable'))
      if (state.redis === 'hangs') {
        const { promise, reject } = Promise.withResolvers<never>()
        runtime.setTimer(options?.timeoutMs ?? Number.POSITIVE_INFINITY, () => reject(new Error('late')))
        return promise
      }
      return Promise.resolve(answerOf(script, keys, args as Buffer[]))
    },
  }

  function answerOf(script: unknown, [key, ...others]: readonly string[], [value, , replaced]: readonly Buffer[]): unknown {
    const now = held.get(key) ?? null
    switch (script) {
      case ENRICH:
        return [
          state.view === 'cleared' ? null : Buffer.from('1'),
          ...Array.from({ length: (2 * others.length) / ENTITY_KEYS }, (_, index) => (index % 2 === 0 ? state.profile : null)),
          ...Array.from({ length: others.length / ENTITY_KEYS }, () => []),
        ]
      case READ_ANSWER:
        return now
      case CLAIM_ANSWER:
        if (now === null) held.set(key, value)
        return now
      case KEEP_ANSWER: {
        const isReplaced = Buffer.isBuffer(replaced) && now?.equals(replaced) === true
        if (now !== null && now[0] === 1 && !isReplaced) return now
        held.set(key, value)
        return null
      }
      case WITHDRAW:
        return null
      default:
        throw new Error('an unknown script')
    }
  }

  const models: ModelScorer = {
    score() {
      if (state.models === 'fails') return Promise.reject(new Error('the models crashed'))
      return state.models === 'hangs' ? NEVER : Promise.resolve(state.outcome)
    },
    ...NOTHING_TO_CLOSE,
  }

  function publishOrSpool(topic: unknown, key: unknown, value: unknown): Promise<Published> {
    if (state.log === 'fails') return Promise.reject(new Error('the spool is full'))
    if (state.log === 'hangs') return NEVER
    if (topic !== fraudAudit) logged.push(value as TxnScored)
    else if (key === (value as FraudSettingsChange).subject) audits.push(value as FraudSettingsChange)
    return Promise.resolve('spooled')
  }

  const onFailure = () => undefined
  const answers = keptAnswers({ scripts, keptMs: DAY_MS, onFailure })
  const tallies = new RuleTallies(ruleSet)
  const scoring = {
    ...runtime,
    settings: {
      ruleSet,
      tallies,
      lists: NO_LISTS,
      snoozes: NO_SNOOZES,
      policy: DEFAULT_POLICY,
      get isStale() {
        return state.isStale.settings
      },
      ...NOTHING_TO_CLOSE,
    },
    blocklist: {
      find: (request: FraudRequest) => state.blocked?.(request),
      get isStale() {
        return state.isStale.blocklist
      },
      ...NOTHING_TO_CLOSE,
    },
    models,
    profiles: entityProfiles({ scripts, partitionOf: () => 0, onFailure, now: runtime.now }),
    answers,
    log: scoreLog({ facts: { publishOrSpool }, onLoss: (reason: string) => void losses.push(reason), setTimer: runtime.setTimer }),
    ipFactsOf: () => NO_IP_FACTS,
    observer: { scored: (activity: ScoredActivity) => void activities.push(activity) },
    observe: (stage: Stage) => void stages.push(stage),
  }
  const score = scorer(scoring)
  const rehearsed = rehearsal({
    ...scoring,
    scripts,
    settings: { ...scoring.settings, models: { champion: {}, challenger: undefined } },
    rehearse: models.score,
    partitionOf: () => 0,
  })

  /** Scores a transaction while the clock advances by one ms per turn of the event loop, for at most `withinMs`. */
  async function scoreWithin(request: FraudRequest, withinMs: number) {
    let isDone = false
    const scoring = score(request, 'request-1').finally(() => {
      isDone = true
    })
    scoring.catch(() => undefined)
    await runtime.nextTurn()
    const start = runtime.monotonic()
    while (!isDone && runtime.monotonic() - start < withinMs) {
      runtime.advance(1)
      await runtime.nextTurn()
    }
    if (!isDone) throw new Error(`no answer within ${withinMs} ms`)
    return { ...(await scoring), tookMs: runtime.monotonic() - start }
  }

  return {
    runtime,
    state,
    held,
    logged,
    audits,
    losses,
    stages,
    activities,
    keptMs,
    /** Returns the number of rule evaluations that were counted. */
    tallied: () => tallies.read().reduce((sum, { evaluated }) => sum + evaluated, 0),
    rehearsed,
    answers,
    settings: scoring.settings,
    score: (request: FraudRequest) => score(request, 'request-1'),
    scoreWithin,
  }
}

/** The models' scores for an ordinary payment. */
export const LOW_RISK: ModelOutcome = {
  scores: { account_takeover: 0.001, payment_fraud: 0.001, money_laundering: 0 },
  versions: { account_takeover: '1', payment_fraud: '1', money_laundering: '1' },
  policy: DEFAULT_POLICY,
  challenger: undefined,
  factors: [{ factor: 'amount_zscore', contribution: 0.3 }],
}
