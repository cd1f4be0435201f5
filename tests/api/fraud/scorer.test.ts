import { expect, test } from 'vitest'
import { ENRICHMENT_MS } from '../../../api/fraud/profiles/entity-profiles.ts'
import { ANSWER_MS } from '../../../api/fraud/score/kept-answers.ts'
import { LOG_MS } from '../../../api/fraud/score/score-log.ts'
import { MODELS_MS } from '../../../api/fraud/score/scorer.ts'
import { STAGES } from '../../../api/fraud/score/stages.ts'
import { ApiError } from '../../../api/kit/errors.ts'
import { DEFAULT_POLICY } from '../../../schemas/fraud/decision/policy.ts'
import { profileBytes } from '../../../schemas/fraud/profile/bytes.ts'
import { NEW_PROFILE } from '../../../schemas/fraud/profile/fold.ts'
import { SEEDED_RULES } from '../../../schemas/fraud/rules/seeded.ts'
import { answerBytes, answerFromBytes, answerKey } from '../../../state/views/fraud/kept-answers.ts'
import { HOUR, pay } from '../../schemas/fraud/payments.ts'
import { LOW_RISK, scoreWorld } from './score-world.ts'

function rule(rule_id: string, action: 'REVIEW' | 'BLOCK' | 'STEP_UP' | 'APPROVE', condition: string, mode: 'live' | 'shadow' = 'live') {
  return { ...SEEDED_RULES[0], rule_id, name: rule_id, action, condition, mode, priority: 1 }
}

function worldWithModels() {
  const world = scoreWorld()
  world.state.outcome = LOW_RISK
  return world
}

test('an ordinary payment is approved, its answer is stored and its event logged once, and every stage of the scorer is measured', async () => {
  const world = worldWithModels()
  const request = pay({ id: 't1', device: 'd1' })
  const { scored, isRepeat } = await world.score(request)
  expect(isRepeat).toBe(false)
  expect(scored).toMatchObject({ decision: 'APPROVE', degraded: [], ruleset_version: 7, request_id: 'request-1' })
  expect(scored.ml_scores).toEqual({ evaluated: true, ...LOW_RISK.scores })
  expect(scored.features).toMatchObject({ user_velocity_1h: 0, device_velocity_1h: 0, ip_velocity_1h: null })
  expect(world.logged).toEqual([scored])
  expect(await world.answers.find('t1')).toEqual(scored)
  // The scorer does not measure the stages `validation` and `total`, because the route measures them.
  expect(new Set(world.stages)).toEqual(new Set(STAGES.filter((stage) => stage !== 'validation' && stage !== 'total')))
})

test.each([
  ['Redis', 'redis', ['profiles', 'answers']],
  ['the models', 'models', ['models']],
  ['the log', 'log', ['log']],
] as const)('without %s, the answer names what is unavailable', async (_what, part, degraded) => {
  for (const presence of ['fails', 'hangs'] as const) {
    const world = worldWithModels()
    world.state[part] = presence
    const { scored } = await world.scoreWithin(pay(), 100)
    expect([presence, scored.decision, scored.degraded]).toEqual([presence, 'APPROVE', degraded])
  }
})

test.each([
  ['redis', ENRICHMENT_MS + ANSWER_MS],
  ['models', MODELS_MS],
  ['log', LOG_MS],
] as const)('if %s hangs, scoring takes the sum of the time limits of the stages that use it', async (part, limitMs) => {
  const world = worldWithModels()
  world.state[part] = 'hangs'
  expect((await world.scoreWithin(pay(), 200)).tookMs).toBe(limitMs)
})

test('rules still decide, in less than 100 ms, when everything else is unavailable at once', async () => {
  const world = scoreWorld({ rules: [rule('r1', 'REVIEW', 'txn.amount > 50')] })
  Object.assign(world.state, { redis: 'hangs', models: 'hangs', log: 'hangs', isStale: { blocklist: true, settings: true } })
  const { scored, tookMs } = await world.scoreWithin(pay({ amount: 60 }), 100)
  expect(tookMs).toBeLessThan(100)
  expect(scored).toMatchObject({ decision: 'REVIEW', triggered_rules: ['r1'] })
  expect(scored.degraded).toEqual(['profiles', 'answers', 'models', 'log', 'blocklist', 'rules'])
  expect(world.losses).toHaveLength(1)
})

test('without the profile of the user, amounts from 1,000 USD are reviewed, and smaller amounts are approved', async () => {
  const world = worldWithModels()
  world.state.view = 'cleared'
  const large = await world.score(pay({ amount: 1_000 }))
  expect(large.scored).toMatchObject({ decision: 'REVIEW', reason: 'default_profile', degraded: ['profiles'] })
  expect((await world.score(pay({ amount: 99 }))).scored).toMatchObject({ decision: 'APPROVE', degraded: ['profiles'] })
  world.state.view = 'caught up'
  expect((await world.score(pay({ amount: 1_000 }))).scored).toMatchObject({ decision: 'APPROVE', degraded: [] })
})

test('a damaged profile counts as unavailable, and the payment is scored', async () => {
  const world = worldWithModels()
  const bytes = profileBytes(NEW_PROFILE)
  world.state.profile = bytes
  expect((await world.score(pay({ id: 't1' }))).scored.degraded).toEqual([])
  world.state.profile = bytes.subarray(0, bytes.length - 3)
  const { scored } = await world.score(pay({ id: 't2', amount: 1_000 }))
  expect(scored).toMatchObject({ decision: 'REVIEW', reason: 'default_profile', degraded: ['profiles'] })
})

test('scores that are not probabilities count as missing', async () => {
  const world = worldWithModels()
  world.state.outcome = { ...LOW_RISK, scores: { ...LOW_RISK.scores, payment_fraud: Number.NaN } }
  const { scored } = await world.score(pay())
  expect(scored).toMatchObject({ degraded: ['models'], risk_score: 0, ml_scores: { evaluated: false, payment_fraud: 0 } })
})

test('the policy that was set together with the models decides', async () => {
  const world = worldWithModels()
  world.state.outcome = { ...LOW_RISK, policy: { ...DEFAULT_POLICY, version: 3, thresholds: { review: 0, block: 850 } } }
  expect((await world.score(pay())).scored).toMatchObject({ decision: 'REVIEW', policy_version: 3 })
  world.state.outcome = undefined
  expect((await world.score(pay())).scored).toMatchObject({ decision: 'APPROVE', policy_version: 0 })
})

test('a policy that is set while the models score a payment does not apply to the payment, because its rules were evaluated before the change', async () => {
  const world = scoreWorld()
  world.state.models = 'hangs'
  const scoring = world.score(pay())
  while (!world.stages.includes('rules')) await world.runtime.nextTurn()
  world.settings.policy = { ...DEFAULT_POLICY, version: 3 }
  world.runtime.advance(MODELS_MS)
  expect((await scoring).scored).toMatchObject({ policy_version: DEFAULT_POLICY.version, degraded: ['models'] })
})

test('a payment of an entity on the blocklist is blocked without profiles, rules and models', async () => {
  const world = worldWithModels()
  world.state.blocked = ({ device }) => (device.fingerprint_id === 'd1' ? 'DEVICE' : undefined)
  const { scored } = await world.score(pay({ id: 't1', device: 'd1', amount: 12 }))
  expect(scored).toMatchObject({ decision: 'BLOCK', risk_score: 1_000, reason: 'blocklist_hit', triggered_rules: [], degraded: [] })
  expect(scored.features).toMatchObject({ amount_usd: 12, user_velocity_1h: null })
  expect(scored.ml_scores.evaluated).toBe(false)
  expect(world.state.calls).toEqual(['keep-answer'])
  expect(world.logged).toEqual([scored])
  expect(world.activities).toMatchObject([{ winner: undefined, verdict: { decision: 'BLOCK', reason: 'blocklist_hit' } }])
})

test('a repeated request gets the first answer, and its event is logged again', async () => {
  const world = worldWithModels()
  const request = pay({ id: 't1', amount: 12.34, place: [52.5, 13.4] })
  const first = await world.score(request)
  world.state.outcome = undefined
  const again = await world.score(structuredClone(request))
  expect(again).toEqual({ scored: first.scored, isRepeat: true })
  expect(world.logged).toEqual([first.scored, first.scored])
  expect(world.activities).toMatchObject([{ verdict: { decision: first.scored.decision } }])
})

test('half a day after the first answer, a repeated request is no longer logged, because profiles might count it twice', async () => {
  const world = worldWithModels()
  const request = pay({ id: 't1', device: 'd1' })
  const first = await world.score(request)
  world.runtime.advance(12 * HOUR - 1)
  expect(await world.score(request)).toEqual({ scored: first.scored, isRepeat: true })
  expect([world.logged.length, world.state.calls.includes('withdraw')]).toEqual([2, false])
  world.runtime.advance(1)
  expect(await world.score(request)).toEqual({ scored: first.scored, isRepeat: true })
  // The scorer must withdraw the transaction, because it would otherwise stay in flight for a day.
  expect([world.logged.length, world.state.calls.includes('withdraw')]).toEqual([2, true])
})

test('a conflict that is found only when the answer is stored leaves no transaction in flight', async () => {
  const world = worldWithModels()
  await world.score(pay({ id: 't1', amount: 1 }))
  Object.assign(world.state, { redis: 'fails', models: 'hangs' })
  const second = world.score(pay({ id: 't1', amount: 2 })).catch((error: unknown) => error)
  await world.runtime.nextTurn()
  world.state.redis = 'works'
  world.runtime.advance(MODELS_MS)
  expect(await second).toMatchObject({ definition: { code: 'idempotency_conflict' } })
  expect(world.state.calls.at(-1)).toBe('withdraw')
})

test('a different request with the same transaction_id is a conflict, even while the first request is being scored', async () => {
  const world = worldWithModels()
  const first = world.score(pay({ id: 't1', amount: 1 }))
  const second = world.score(pay({ id: 't1', amount: 2 }))
  expect((await first).scored.request.amount).toBe(1)
  const refusal = await second.catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(ApiError)
  expect((refusal as ApiError).definition.code).toBe('idempotency_conflict')
  await expect(world.score(pay({ id: 't1', amount: 2 }))).rejects.toThrow('was used for a different request')
  expect(world.logged).toHaveLength(1)
  // The two refused requests are removed from the transactions in flight.
  expect(world.state.calls.filter((name) => name === 'withdraw')).toHaveLength(2)
})

test('if the same request is scored twice at the same time, both callers get the answer that was stored first', async () => {
  const world = worldWithModels()
  const request = pay({ id: 't1' })
  const [one, other] = await Promise.all([world.score(request), world.score(request)])
  expect(other.scored).toEqual(one.scored)
  expect(world.logged).toEqual([one.scored, one.scored])
})

test('if an entity was blocklisted after the first request, the repeated request and all later ones are blocked', async () => {
  const world = worldWithModels()
  const request = pay({ id: 't1' })
  expect((await world.score(request)).scored.decision).toBe('APPROVE')
  world.state.blocked = () => 'USER'
  const blocked = await world.score(request)
  expect(blocked.scored).toMatchObject({ decision: 'BLOCK', reason: 'blocklist_hit' })
  expect(await world.score(request)).toEqual({ scored: blocked.scored, isRepeat: true })
  expect(await world.answers.find('t1')).toEqual(blocked.scored)
  world.state.blocked = undefined
  expect((await world.score(request)).scored.decision).toBe('BLOCK')
})

test('a block that replaces the first answer to a repeated transaction is audited once, before it is stored', async () => {
  const world = worldWithModels()
  const request = pay({ id: 't1' })
  const first = await world.score(request)
  expect(world.audits).toEqual([])
  world.state.blocked = () => 'DEVICE'
  world.runtime.advance(1_000)
  // Simulates a process that was killed after it had written the audit record, but before it stored the block in Redis.
  const kept = world.held.get(answerKey('t1'))!
  const { scored } = await world.score(request)
  expect(world.audits).toMatchObject([
    { subject: 'transaction:t1', action: 'block_repeated_transaction', actor: 'fraud-scoring', at: scored.scored_at, version: null },
  ])
  expect(JSON.parse(world.audits[0].before!)).toMatchObject({
    decision: 'APPROVE',
    scored_at: new Date(first.scored.scored_at).toISOString(),
  })
  const after = { decision: 'BLOCK', risk_score: 1_000, reason: 'blocklist_hit', entity_type: 'DEVICE' }
  expect(JSON.parse(world.audits[0].after!)).toMatchObject(after)
  await world.score(request)
  expect(world.audits).toHaveLength(1)
  world.held.set(answerKey('t1'), kept)
  await world.score(request)
  expect(world.audits).toHaveLength(2)
})

test('no block is audited for a new transaction of a blocked entity, or for a transaction whose id belongs to another request', async () => {
  const world = worldWithModels()
  await world.score(pay({ id: 't1' }))
  world.state.blocked = () => 'USER'
  await world.score(pay({ id: 't1', amount: 99 }))
  await world.score(pay({ id: 't2' }))
  expect(world.audits).toEqual([])
})

test('if the audit record may be lost, the answer names the log as degraded', async () => {
  const world = worldWithModels()
  await world.score(pay({ id: 't1' }))
  Object.assign(world.state, { blocked: () => 'USER', log: 'fails' })
  expect((await world.score(pay({ id: 't1' }))).scored).toMatchObject({ decision: 'BLOCK', degraded: ['log'] })
  // The two lost records are the audit record and the event.
  expect(world.losses).toHaveLength(2)
})

test('an answer that was stored by another version of the service is replaced', async () => {
  const world = worldWithModels()
  const { scored } = await world.score(pay({ id: 't1' }))
  const bytes = answerBytes(scored)
  bytes[1] ^= 0xff
  world.held.set(answerKey('t1'), bytes)
  expect((await world.score(pay({ id: 't1' }))).isRepeat).toBe(false)
  expect(answerFromBytes(world.held.get(answerKey('t1'))!)).toBeDefined()
})

test('shadow rules do not affect the decision, and the answer names the strongest factors', async () => {
  const rules = [
    rule('stop', 'BLOCK', 'txn.amount > 1'),
    rule('look', 'REVIEW', 'txn.amount > 2'),
    rule('ask', 'STEP_UP', 'txn.amount > 3'),
    rule('trust', 'APPROVE', 'txn.amount > 4'),
    rule('draft', 'BLOCK', 'txn.amount > 5', 'shadow'),
  ]
  const world = scoreWorld({ rules })
  world.state.outcome = { ...LOW_RISK, factors: [0.7, 0.4, 0.2].map((contribution) => ({ factor: `f${contribution}`, contribution })) }
  const { scored } = await world.score(pay({ amount: 10 }))
  expect(scored).toMatchObject({
    decision: 'BLOCK',
    risk_score: 850,
    triggered_rules: ['stop', 'ask', 'look', 'trust'],
    shadow_rules: ['draft'],
  })
  expect(scored.risk_factors).toEqual([
    { factor: 'rule:stop', contribution: 0.85 },
    { factor: 'f0.7', contribution: 0.7 },
    { factor: 'rule:look', contribution: 0.6 },
    { factor: 'f0.4', contribution: 0.4 },
    { factor: 'rule:ask', contribution: 0.3 },
  ])
})
