import { beforeEach, expect, test } from 'vitest'
import { modelAssignments } from '../../../../api/fraud/models/assignment.ts'
import { modelsPart } from '../../../../api/fraud/models/part.ts'
import { DEFAULT_POLICY } from '../../../../schemas/fraud/decision/policy.ts'
import { fraudAudit } from '../../../../schemas/fraud/topics.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'
import { testApp } from '../../kit/harness.ts'
import { ALONE_OF_NEXT, settingsApi } from '../settings/harness.ts'

const DAY_MS = 86_400_000
const ADMIN = { sub: 'root', scope: 'admin' }
const SHIPPED = { account_takeover: '1', payment_fraud: '1', money_laundering: '1' }
const NEXT = { payment_fraud: '2' }
const POLICY_OF_NEXT = { alone: { ...DEFAULT_POLICY.alone, payment_fraud: ALONE_OF_NEXT } }

let api: Awaited<ReturnType<typeof settingsApi>>
beforeEach(async () => {
  api = await settingsApi()
})

const post = (path: string, body?: object, as?: { sub: string; scope: string }) =>
  api.send('POST', `models/${path}`, { body, ...(as && { as }) })

test('the models in force are shown together with the models that could be used', async () => {
  const { status, body } = await api.send('GET', 'models')
  expect(status).toBe(200)
  expect(body).toMatchObject({ champion: SHIPPED, challenger: null, scoring: null, policy: { version: 0 } })
  expect(body.available).toHaveLength(6)
  expect(body.available).toContainEqual({
    name: 'payment_fraud',
    version: '1',
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    trained_on: expect.stringContaining('generated payments'),
    shipped: true,
  })
})

test('a challenger does not affect decisions, and can be promoted with its thresholds after seven days', async () => {
  expect((await post('challenger', { versions: NEXT })).body).toMatchObject({
    champion: SHIPPED,
    challenger: { versions: NEXT, since: '2026-01-15T12:00:00.000Z', days: 0 },
    policy: { version: 0, alone: DEFAULT_POLICY.alone },
  })
  expect(api.settings.policy).toEqual(DEFAULT_POLICY)
  api.advance(7 * DAY_MS - 1)
  expect(await post('promote', {})).toMatchObject({
    status: 409,
    body: { error: 'challenger_too_young', promotable_at: '2026-01-22T12:00:00.000Z' },
  })
  expect(api.settings.models).toEqual({ champion: {}, challenger: NEXT })
  api.advance(1)
  expect((await api.send('GET', 'models')).body.challenger.days).toBe(7)
  expect(await post('promote', {})).toMatchObject({
    status: 200,
    body: { champion: { ...SHIPPED, ...NEXT }, challenger: null, policy: { version: 1, ...POLICY_OF_NEXT } },
  })
  expect(api.settings.policy).toMatchObject({ version: 1, ...POLICY_OF_NEXT })
  expect(actions()).toEqual(['set_challenger by olga', 'promote_challenger by olga'])
})

test('a repeated request for a trial gets the first answer, even after the champion has changed', async () => {
  const ask = (versions: object) => api.send('POST', 'models/challenger', { body: { versions }, headers: { 'idempotency-key': 'trial-1' } })
  const first = await ask(NEXT)
  await post('promote', { force: true }, ADMIN)
  expect(await ask(NEXT)).toEqual(first)
  expect(await ask({ account_takeover: '2' })).toMatchObject({ status: 409, body: { error: 'idempotency_conflict' } })
  expect(api.settings.models).toEqual({ champion: NEXT, challenger: undefined })
})

test('a repeated request for a trial gets the first answer, even if the models are no longer in their folder', async () => {
  const ask = () => api.send('POST', 'models/challenger', { body: { versions: NEXT }, headers: { 'idempotency-key': 'trial-1' } })
  const first = await ask()
  expect(first.status).toBe(200)
  api.operator.hasModels = false
  expect(await ask()).toEqual(first)
})

test('only an administrator may force a promotion, and the audit says that it was forced', async () => {
  await post('challenger', { versions: NEXT })
  expect(await post('promote', { force: true })).toMatchObject({ status: 403, body: { error: 'forbidden' } })
  expect(api.settings.models.challenger).toEqual(NEXT)
  expect(await post('promote', { force: false }, ADMIN)).toMatchObject({ status: 409, body: { error: 'challenger_too_young' } })
  expect(await post('promote', { force: true }, ADMIN)).toMatchObject({ status: 200, body: { champion: NEXT, challenger: null } })
  expect(actions()).toEqual(['set_challenger by olga', 'force_promote_challenger by root'])
})

test('a promotion with an unknown field is refused, because the field may be a misspelt `force`', async () => {
  await post('challenger', { versions: NEXT })
  expect(await post('promote', { forced: true })).toMatchObject({ status: 400, body: { details: [{ path: 'body' }] } })
})

test('a challenger that the model process has refused can be promoted only with force', async () => {
  const refused = { versions: NEXT, reason: 'payment_fraud 2: The model is too slow.' }
  const scoring = { versions: SHIPPED, champion: [0, 1, 2], challenger: undefined, policy: DEFAULT_POLICY }
  await post('challenger', { versions: NEXT })
  api.advance(7 * DAY_MS)
  api.modelProcess.active = { ...scoring, refusedChallenger: refused }
  expect(await post('promote', {})).toMatchObject({
    status: 409,
    body: { error: 'challenger_refused', message: 'The models of the challenger cannot be used: payment_fraud 2: The model is too slow.' },
  })
  expect(api.settings.models).toEqual({ champion: {}, challenger: NEXT })
  expect(await post('promote', { force: true }, ADMIN)).toMatchObject({ status: 200, body: { champion: NEXT, challenger: null } })
})

test('an earlier challenger that was refused does not prevent the promotion of the next one', async () => {
  const refusedChallenger = { versions: { payment_fraud: '3' }, reason: 'there is no model payment_fraud 3' }
  await post('challenger', { versions: NEXT })
  api.advance(7 * DAY_MS)
  api.modelProcess.active = { versions: SHIPPED, champion: [0, 1, 2], challenger: undefined, policy: DEFAULT_POLICY, refusedChallenger }
  expect(await post('promote', {})).toMatchObject({ status: 200, body: { champion: NEXT, challenger: null } })
})

test('a roll-back restores the previous models together with their policy, as a new version', async () => {
  expect(await post('rollback')).toMatchObject({ status: 409, body: { error: 'no_previous_models' } })
  await post('challenger', { versions: NEXT })
  await post('promote', { force: true }, ADMIN)
  expect(await post('rollback')).toMatchObject({
    status: 200,
    body: { champion: SHIPPED, challenger: null, policy: { version: 2, alone: DEFAULT_POLICY.alone } },
  })
  expect([api.settings.models.champion, api.settings.policy]).toEqual([{}, { ...DEFAULT_POLICY, version: 2 }])
  expect(await post('rollback')).toMatchObject({ status: 409, body: { error: 'no_previous_models' } })
})

test('models that do not exist are not put on trial, and a trial that is not running cannot be ended', async () => {
  expect(await post('challenger', { versions: { payment_fraud: '3' } })).toMatchObject({
    status: 404,
    body: { error: 'model_not_found', message: expect.stringContaining('payment_fraud 3') },
  })
  expect(await post('challenger', { versions: null })).toMatchObject({ status: 409, body: { error: 'no_challenger' } })
  expect(await post('promote', {})).toMatchObject({ status: 409, body: { error: 'no_challenger' } })
  await post('challenger', { versions: NEXT })
  expect(await post('challenger', { versions: null })).toMatchObject({ status: 200, body: { challenger: null } })
  expect(api.settings.models).toEqual({ champion: {}, challenger: undefined })
})

test.each([
  [{ versions: { other: '1' } }, 'body.versions'],
  [{ versions: { payment_fraud: '' } }, 'body.versions.payment_fraud'],
  [{ versions: { payment_fraud: 2 } }, 'body.versions.payment_fraud'],
  [{}, 'body.versions'],
  [{ versions: null, version: '2' }, 'body'],
])('the challenger %j is refused', async (body, path) => {
  const { status, body: answer } = await post('challenger', body)
  expect([status, answer.error, answer.details[0].path]).toEqual([400, 'invalid_request', path])
})

test.each([
  ['GET', 'models', undefined],
  ['GET', 'models/report', undefined],
  ['POST', 'models/challenger', { versions: NEXT }],
  ['POST', 'models/promote', {}],
  ['POST', 'models/rollback', undefined],
])('%s %s is for operators and administrators only', async (method, path, body) => {
  expect((await api.send(method, path, { as: null, body })).status).toBe(401)
  expect((await api.send(method, path, { as: { sub: 'ann', scope: 'fraud:analyst internal' }, body })).status).toBe(403)
})

test('while Kafka is unreachable, the models stay in force, and a change gets 503', async () => {
  api.faults.kafkaDown = true
  expect(await post('challenger', { versions: NEXT })).toMatchObject({ status: 503, body: { command_id: expect.any(String) } })
  expect((await api.send('GET', 'models')).body.challenger).toBeNull()
})

test('the report has the quality of each model and the drift of the features', async () => {
  const watched = 16
  const answers = [
    [[30]],
    [
      ['payment_fraud', 0.1, 1, 20],
      ['payment_fraud', 0.9, 8, 1],
    ],
    [Array.from({ length: watched }, () => [1, 2, 3, 4, 5, 6, 7, 8, 9])],
    [
      ['amount_usd', 0, 0, 10],
      ['amount_usd', 0, 5, 10],
      ['amount_usd', 1, 5, 10],
    ],
  ]
  const tables: TableReader = { query: async () => ({ json: async () => answers.shift() as never }) }
  const models = { active: undefined, folders: async () => ({ available: [], broken: [] }) }
  const { changeSettings, settings } = api
  const part = modelsPart({ models, assignments: modelAssignments(changeSettings), settings, tables, now: () => 0 })
  const fields = { name: 'fraud', description: '', isUserId: () => true, probes: [], errors: [] }
  const { app, bearer } = await testApp({ services: [{ ...fields, routes: part.routes }] })
  const response = await app.request('/api/v1/models/report', { headers: await bearer({ sub: 'olga', scope: 'fraud:ops' }) })
  expect(response.status).toBe(200)
  const { models: reports } = (await response.json()) as { models: Record<string, unknown>[] }
  expect(reports.map(({ name, version, transactions, auc }) => [name, version, transactions, auc])).toEqual([
    ['account_takeover', '1', 0, null],
    ['payment_fraud', '1', 30, expect.closeTo((20 * 8 + 20 / 2 + 8 / 2) / (21 * 9), 9)],
    ['money_laundering', '1', 0, null],
  ])
  const drift = reports[1].drift as { feature: string; psi: number | null }[]
  expect(drift).toHaveLength(watched)
  expect(drift[0].psi).toBeGreaterThan(0.2)
  expect(drift[1].psi).toBeNull()
})

function actions(): string[] {
  return api.driver.read(fraudAudit).map(({ value }) => `${value!.action} by ${value!.actor}`)
}
