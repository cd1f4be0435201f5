import { expect, test } from 'vitest'
import { replay } from '../../../api/fraud/backtest/replay.ts'
import { answerOf } from '../../../api/fraud/score/answer.ts'
import { DEFAULT_POLICY } from '../../../schemas/fraud/decision/policy.ts'
import { featuresOf } from '../../../schemas/fraud/features/features.ts'
import { NO_LISTS } from '../../../schemas/fraud/rules/facts.ts'
import { compileRuleSet } from '../../../schemas/fraud/rules/rule-set.ts'
import { NO_SNOOZES } from '../../../schemas/fraud/rules/snoozes.ts'
import { RuleTallies } from '../../../schemas/fraud/rules/tallies.ts'
import { initialRuleSet } from '../../../schemas/fraud/settings/initial.ts'
import type { FraudCase, FraudFeedback, FraudSetting, TxnScored } from '../../../schemas/fraud/types.ts'
import { scored } from '../../pipelines/fraud/scored.ts'
import { lookedUp, NO_IP_FACTS, NOON, type Payment, pay } from '../../schemas/fraud/payments.ts'
import type { Logged } from '../log-reader.ts'
import type { Evidence, Logs, Tables } from './evidence.ts'
import { inTime } from './in-time.ts'
import type { PlannedPayment } from './plan.ts'
import { type BlockCall, type Calls, type FeedbackCall, RULE_ID, type ScoreCall } from './requests.ts'
import { expectedProfiles } from './stored.ts'
import { faultsOf } from './verdict.ts'

const LIMITS = { p99Ms: 100, mostMs: 1_000 }
const PROBLEM = { from: NOON - 100, to: NOON + 60_000 }
let offset = 0

function logged<V>(key: string, value: V): Logged<V> {
  return { key, value, offset: offset++, timestamp: 0 }
}

/** Returns the event that scoring would write for a payment. */
function event(payment: Payment, more: Partial<TxnScored> = {}): TxnScored {
  const request = pay(payment)
  const { features } = featuresOf(request, NO_IP_FACTS, lookedUp(request, []))
  const draft = {
    ...scored(request),
    features,
    degraded: ['models'],
    ruleset_version: 0,
    policy_version: DEFAULT_POLICY.version,
    request_id: `r-${payment.id}`,
    ...more,
  }
  const ruleSet = compileRuleSet(0, initialRuleSet().rules)
  const basis = { ruleSet, lists: NO_LISTS, snoozes: NO_SNOOZES, policy: DEFAULT_POLICY }
  const { verdict, outcome } = replay(basis, { ...draft, verdict: null }, new RuleTallies(ruleSet))
  return { ...draft, ...verdict, triggered_rules: (outcome?.matched ?? []).map(({ rule_id }) => rule_id) }
}

function planned({ id = '', user = 'u1', device }: Payment): PlannedPayment {
  const rest = { ip: undefined, card: undefined, email: undefined, merchant: 'm', currency: 'USD', accountAgeDays: 1 }
  return { kind: 'once', atMs: 0, againMs: 0, apis: [0, 1], id, user, device: device ?? undefined, amount: 10, ...rest }
}

function call(payment: Payment, from: number, answer: TxnScored | undefined, more: Partial<ScoreCall> = {}): ScoreCall {
  const found = { status: answer === undefined ? 409 : 200, body: answer && answerOf(answer) }
  return { payment: planned(payment), amount: payment.amount ?? 10, api: 0, from, to: from + 10, ...found, ...more }
}

const FIRST: Payment = { id: 't1', user: 'u1', device: 'd1' }
/** A payment with a high amount. In the evidence, the profile of its user could not be read. */
const SECOND: Payment = { id: 't2', user: 'u2', amount: 2_000 }
const BLOCKED: Payment = { id: 't3', user: 'bad' }

function setting(version: number, name: string): FraudSetting {
  const { rules } = initialRuleSet()
  const mine = { ...rules[0], rule_id: RULE_ID, name, condition: 'txn.amount < 0' }
  return { rules: { version, rules: [...rules, mine], history: [] }, list: null, snooze: null, models: null, counts: null }
}

/**
 * Returns the evidence of a correct round: a payment that is repeated, a payment that is reviewed, a payment by a
 * blocked user, a verdict, and a rule change.
 */
function goodEvidence(): Evidence {
  const unread = { ...event(SECOND).features, user_txn_count: null }
  const [first, second, third] = [
    event(FIRST),
    event(SECOND, { features: unread, degraded: ['profiles', 'models'] }),
    event(BLOCKED, { reason: 'blocklist_hit' }),
  ]
  const events = [first, second, third]
  const feedback: FraudFeedback = {
    transaction_id: 't2',
    case_id: '7',
    verdict: 'CONFIRMED_FRAUD',
    previous_verdict: null,
    previous_at: null,
    fraud_type: null,
    notes: '',
    evidence: [],
    reporter: 'r',
    at: NOON + 2_000,
    user_id: 'u2',
    device: null,
    ip: null,
    card: null,
    merchant: null,
  }
  const opened = { case_id: '7', status: 'OPEN', verdict: null, transaction: { transaction_id: 't2' } } as FraudCase
  const closed: FraudCase = { ...opened, status: 'CONFIRMED_FRAUD', verdict: 'CONFIRMED_FRAUD' }
  const block = { type: 'USER', value: 'bad', api: 0, from: NOON + 100, to: NOON + 200, status: 201, body: {} } as const
  const calls: Calls = {
    scores: [
      call(FIRST, NOON, first),
      call(FIRST, NOON + 500, first, { api: 1 }),
      call({ ...FIRST, amount: 11 }, NOON + 600, undefined),
      call(SECOND, NOON, second),
      call(BLOCKED, NOON + 1_200, third),
    ],
    blocks: [block],
    feedback: [
      {
        id: 't2',
        verdict: 'CONFIRMED_FRAUD',
        reporter: 'r',
        api: 0,
        from: NOON + 1_900,
        to: NOON + 2_100,
        status: 200,
        body: { case_id: '7' },
      },
    ],
    rules: [{ name: 'change', api: 0, from: NOON, to: NOON + 100, status: 200, body: {} }],
  }
  const logs = {
    scored: [first, second, third, first].map((value) => logged(value.request.payer.user_id, value)),
    feedback: [logged('t2', feedback)],
    cases: [logged('t2', { view: opened, result: null }), logged('t2', { view: closed, result: null })],
    settings: [logged('rules', setting(1, 'change'))],
  }
  const profiles = expectedProfiles(logs)
  return {
    calls,
    inflicted: { apis: [], redis: [], kafka: [] },
    logs: { ...logs, profiles },
    tables: {
      transactions: events.map(({ request, request_id, decision, risk_score }) => ({
        transaction_id: request.transaction_id,
        request_id,
        decision,
        risk_score,
      })),
      features: ['t1', 't2', 't3'],
      feedback: [{ transaction_id: 't2', verdict: 'CONFIRMED_FRAUD', reporter: 'r' }],
      cases: [{ transaction_id: 't2', case_id: '7', status: 'CONFIRMED_FRAUD' }],
    },
    shown: profiles,
    listed: ['t2'],
  }
}

const faults = (evidence: Evidence) => [...inTime(evidence, LIMITS), ...faultsOf(evidence)]
const withLogs = (evidence: Evidence, logs: Partial<Logs>): Evidence => ({ ...evidence, logs: { ...evidence.logs, ...logs } })
const withTables = (evidence: Evidence, tables: Partial<Tables>): Evidence => ({ ...evidence, tables: { ...evidence.tables, ...tables } })
const withCalls = (evidence: Evidence, calls: Partial<Calls>): Evidence => ({ ...evidence, calls: { ...evidence.calls, ...calls } })
const withScores = (evidence: Evidence, ...more: ScoreCall[]) => withCalls(evidence, { scores: [...evidence.calls.scores, ...more] })

/** Returns the evidence with the calls of one payment changed. */
function changed(evidence: Evidence, id: string, change: (found: ScoreCall) => ScoreCall): Evidence {
  const scores = evidence.calls.scores.map((found) => (found.payment.id === id ? change(found) : found))
  return withCalls(evidence, { scores })
}

test('a correct round has no faults', () => {
  const evidence = goodEvidence()
  expect(faults(evidence)).toEqual([])
  expect(evidence.calls.scores.map(({ body }) => body?.decision)).toEqual(['APPROVE', 'APPROVE', undefined, 'REVIEW', 'BLOCK'])
})

test('a call without an answer is reported, unless its API was killed in the meantime', () => {
  const failed = call(FIRST, NOON, undefined, { status: 0, body: 'fetch failed' })
  const evidence = withScores(goodEvidence(), failed)
  expect(faults(evidence)).toHaveLength(1)
  const hurt = (api: number, isKilled: boolean): Evidence => ({
    ...evidence,
    inflicted: { apis: [{ api, isKilled, ...PROBLEM }], redis: [], kafka: [] },
  })
  expect(faults(hurt(0, true))).toEqual([])
  expect(faults(hurt(0, false))).toHaveLength(1)
  expect(faults(hurt(1, true))).toHaveLength(1)
})

test.each([400, 401, 429, 500, 503])('an answer with the status %i is reported', (status) => {
  expect(faults(withScores(goodEvidence(), call(FIRST, NOON, undefined, { status })))).toHaveLength(1)
})

test('a 409 is reported if all requests for the payment had the same amount', () => {
  expect(faults(withScores(goodEvidence(), call(BLOCKED, NOON, undefined)))).toHaveLength(1)
})

test('a payment is reported if all requests for it got a 409', () => {
  const lost: Payment = { id: 't9', user: 'u9' }
  const both = [call(lost, NOON, undefined), call({ ...lost, amount: 11 }, NOON, undefined)]
  expect(faults(withScores(goodEvidence(), ...both))).toHaveLength(1)
})

test('answers that take too long are reported, unless their API was stopped', () => {
  const evidence = goodEvidence()
  const slow = changed(evidence, 't2', (found) => ({ ...found, to: found.from + 1_001 }))
  expect(faults(slow)).toHaveLength(2)
  expect(faults(changed(evidence, 't2', (found) => ({ ...found, to: found.from + 150 })))).toHaveLength(1)
  const stop = { api: 0, isKilled: false, ...PROBLEM }
  expect(faults({ ...slow, inflicted: { apis: [stop], redis: [], kafka: [] } })).toEqual([])
})

test('a different answer to a repeated payment is reported, unless Redis was down or the degraded field contains answers', () => {
  const evidence = goodEvidence()
  const other = event(FIRST, { request_id: 'other' })
  const again = (answer: TxnScored) =>
    withLogs(withScores(evidence, call(FIRST, NOON + 700, answer)), { scored: [...evidence.logs.scored, logged('u1', answer)] })
  expect(faults(again(other))).not.toEqual([])
  expect(faults({ ...again(other), inflicted: { apis: [], redis: [PROBLEM], kafka: [] } })).toEqual([])
  expect(faults(again({ ...other, degraded: ['answers', 'models'] }))).toEqual([])
})

test('a payment is reported if it was accepted with two different amounts', () => {
  const evidence = goodEvidence()
  const [first] = evidence.calls.scores
  expect(faults(withScores(evidence, { ...first, amount: 12 }))).not.toEqual([])
})

test('an answer that is not in the log is reported, unless its degraded field contains log', () => {
  const evidence = goodEvidence()
  const changedAnswer = (degraded: string[]) =>
    changed(evidence, 't2', (found) => ({ ...found, body: { ...found.body, risk_score: 999, degraded } }))
  expect(faults(changedAnswer([]))).toHaveLength(1)
  expect(faults(changedAnswer(['log']))).toEqual([])
})

test('a payment that is approved more than a second after its user was blocked is reported, unless Kafka was down and the degraded field contains blocklist', () => {
  const evidence = goodEvidence()
  const approved = event(BLOCKED)
  const answered = (degraded: string[], from: number): Evidence => {
    const answer = { ...approved, degraded: ['models', ...degraded] }
    const good = changed(evidence, 't3', () => call(BLOCKED, from, answer))
    const scoredLog = evidence.logs.scored.map((each) => (each.key === 'bad' ? logged('bad', answer) : each))
    const rows = evidence.tables.transactions.map((row) =>
      row.transaction_id === 't3' ? { ...row, decision: approved.decision, risk_score: approved.risk_score } : row,
    )
    return withTables(withLogs(good, { scored: scoredLog }), { transactions: rows })
  }
  const withoutKafka = (given: Evidence): Evidence => ({ ...given, inflicted: { apis: [], redis: [], kafka: [PROBLEM] } })
  expect(faults(answered([], NOON + 1_100))).toEqual([])
  expect(faults(answered([], NOON + 1_300))).toHaveLength(1)
  expect(faults(withoutKafka(answered([], NOON + 1_300)))).toHaveLength(1)
  expect(faults(answered(['blocklist'], NOON + 1_300))).toHaveLength(1)
  expect(faults(withoutKafka(answered(['blocklist'], NOON + 1_300)))).toEqual([])
})

test('a payment that is blocked although nobody requested a block is reported', () => {
  const evidence = goodEvidence()
  const [block] = evidence.calls.blocks
  for (const blocks of [[], [{ ...block, value: 'other' }], [{ ...block, from: NOON + 5_000, to: NOON + 5_100 }]] as BlockCall[][])
    expect(faults(withCalls(evidence, { blocks }))).toHaveLength(1)
})

test('a block or rule change that fails with a status that no outage explains is reported, and so are 20 rule changes that were all refused', () => {
  const evidence = goodEvidence()
  const [block] = evidence.calls.blocks
  const [rule] = evidence.calls.rules
  for (const [status, found] of [
    [0, 0],
    [503, 0],
    [400, 1],
    [500, 1],
  ]) {
    const refused = { value: 'other', status }
    expect(faults(withCalls(evidence, { blocks: [block, { ...block, ...refused }] }))).toHaveLength(found)
    expect(faults(withCalls(evidence, { rules: [rule, { ...rule, status }] }))).toHaveLength(found)
  }
  const refusedRules = Array.from({ length: 20 }, () => ({ ...rule, status: 503 }))
  expect(faults(withCalls(evidence, { rules: refusedRules }))).toEqual(['none of 20 requests of the kind rule change succeeded'])
})

test.each(['blocklist', 'rules'])('an answer whose degraded field contains %s is reported, unless Kafka was down', (part) => {
  const answer = event({ id: 't4', user: 'u4' }, { degraded: ['models', part] })
  const evidence = withScores(goodEvidence(), call({ id: 't4', user: 'u4' }, NOON, answer))
  const unreasonable = (given: Evidence) => faults(given).filter((fault) => fault.includes('neither Kafka nor the API was down'))
  expect(unreasonable(evidence)).toHaveLength(1)
  expect(unreasonable({ ...evidence, inflicted: { apis: [], redis: [], kafka: [PROBLEM] } })).toEqual([])
})

test('a lost rule change is reported, and so is an answer that uses outdated rules, unless its degraded field contains rules', () => {
  const evidence = goodEvidence()
  expect(faults(withLogs(evidence, { settings: [] }))).toHaveLength(1)
  const late = (degraded: string[]) => {
    const answer = event({ id: 't4', user: 'u4' }, { degraded: ['models', ...degraded] })
    const more = withScores(evidence, call({ id: 't4', user: 'u4' }, NOON + 10_200, answer))
    return faults(more).filter((fault) => fault.includes('the rules had version'))
  }
  expect(late([])).toHaveLength(1)
  expect(late(['rules'])).toEqual([])
})

test.each(['decision', 'risk_score', 'risk_level', 'requires_3ds', 'reason', 'triggered_rules', 'shadow_rules'] as const)(
  'a decision whose %s does not follow from the logged inputs is reported',
  (name) => {
    const wrong = {
      decision: 'REVIEW',
      risk_score: 321,
      risk_level: 'HIGH',
      requires_3ds: true,
      reason: 'rule',
      triggered_rules: ['seed-tor'],
      shadow_rules: ['seed-tor'],
    }[name]
    const evidence = goodEvidence()
    const scoredLog = [...evidence.logs.scored, logged('u1', { ...event(FIRST), scored_at: NOON + 1, [name]: wrong } as TxnScored)]
    expect(faults(withLogs(evidence, { scored: scoredLog })).filter((fault) => fault.includes('evaluates to'))).toHaveLength(1)
  },
)

test.each(['models', 'profiles'])(
  'a payment that was scored without %s is reported if its degraded field does not contain them',
  (part) => {
    const evidence = goodEvidence()
    const silent = evidence.logs.scored.map((each) => ({
      ...each,
      value: { ...each.value, degraded: each.value.degraded.filter((one) => one !== part) },
    }))
    expect(faults(withLogs(evidence, { scored: silent })).some((fault) => fault.includes(`without ${part}`))).toBe(true)
  },
)

test.each(['ruleset_version', 'policy_version'] as const)('a decision by an unknown %s is reported', (name) => {
  const evidence = goodEvidence()
  const scoredLog = [...evidence.logs.scored, logged('u1', { ...event(FIRST), scored_at: NOON + 1, [name]: 99 })]
  expect(faults(withLogs(evidence, { scored: scoredLog }))).toHaveLength(1)
})

test.each(['transactions', 'features', 'feedback', 'cases'] as const)('a lost or repeated row of the table of %s is reported', (name) => {
  const evidence = goodEvidence()
  const rows: readonly unknown[] = evidence.tables[name]
  for (const wrong of [rows.slice(1), [...rows, rows[0]]]) expect(faults(withTables(evidence, { [name]: wrong }))).not.toEqual([])
})

test('a row of the table of transactions is reported if it contains a later answer than the first', () => {
  const evidence = goodEvidence()
  const later = event(FIRST, { request_id: 'later', scored_at: NOON + 1 })
  const both = withLogs(evidence, { scored: [...evidence.logs.scored, logged('u1', later)] })
  expect(faults(both)).toEqual([])
  const rows = evidence.tables.transactions.map((row) => (row.transaction_id === 't1' ? { ...row, request_id: 'later' } : row))
  expect(faults(withTables(both, { transactions: rows }))).toHaveLength(1)
})

test('a logged payment that nobody sent is reported', () => {
  const evidence = goodEvidence()
  const scores = evidence.calls.scores.filter(({ payment }) => payment.id !== 't3')
  expect(faults(withCalls(evidence, { scores }))).toEqual(['the log has transaction t3, which nobody sent'])
})

test.each(['topic', 'Redis'] as const)('a missing or wrong profile in %s is reported', (place) => {
  const evidence = goodEvidence()
  const right = evidence.shown
  const user = right.get('user:u2')!
  const changes = [
    { txn_count: 2 },
    { mean_usd: user.mean_usd + 0.01 },
    { tier: 'NORMAL' as const },
    { fraud_count: 0 },
    { events: Buffer.alloc(user.events.length) },
    { merchants: Buffer.alloc(16) },
  ]
  const wrong = changes.map((change) => new Map(right).set('user:u2', { ...user, ...change }))
  const without = new Map(right)
  without.delete('user:u2')
  for (const profiles of [...wrong, without]) {
    const given = place === 'topic' ? withLogs(evidence, { profiles }) : { ...evidence, shown: profiles }
    expect(faults(given)).toHaveLength(1)
  }
})

test('a verdict is reported if it was lost, if nobody sent it, if it was logged twice, or if its response names a wrong case', () => {
  const evidence = goodEvidence()
  const [{ value }] = evidence.logs.feedback
  expect(faults(withLogs(evidence, { feedback: [] }))).not.toEqual([])
  expect(faults(withCalls(evidence, { feedback: [] }))).toHaveLength(1)
  expect(faults(withLogs(evidence, { feedback: [logged('t2', value), logged('t2', value)] }))).not.toEqual([])
  const [sent] = evidence.calls.feedback
  expect(faults(withCalls(evidence, { feedback: [{ ...sent, body: { case_id: '8' } }] }))).toHaveLength(1)
})

test('a verdict that is refused with a status that no outage explains is reported', () => {
  const evidence = goodEvidence()
  const answered = (status: number): FeedbackCall => ({ ...evidence.calls.feedback[0], id: 't1', reporter: 'x', status })
  const statuses = [0, 404, 503, 400, 500].map(
    (status) => faults(withCalls(evidence, { feedback: [...evidence.calls.feedback, answered(status)] })).length,
  )
  expect(statuses).toEqual([0, 0, 0, 1, 1])
})

test('a case is reported if it is missing, repeated, without a review, not closed, or not listed', () => {
  const evidence = goodEvidence()
  const [opened, closed] = evidence.logs.cases
  const view = closed.value.view as FraudCase
  expect(faults(withLogs(evidence, { cases: [] }))).not.toEqual([])
  expect(faults(withLogs(evidence, { cases: [opened] }))).not.toEqual([])
  const second = logged('t2', { view: { ...view, case_id: '8' }, result: null })
  expect(faults(withLogs(evidence, { cases: [opened, second] })).some((fault) => fault.includes('has the cases 7, 8'))).toBe(true)
  const stray = { ...view, case_id: '9', transaction: { ...view.transaction, transaction_id: 't1' } }
  expect(faults(withLogs(evidence, { cases: [opened, closed, logged('t1', { view: stray, result: null })] }))).not.toEqual([])
  expect(faults({ ...evidence, listed: [] })).toHaveLength(1)
})
