import { expect, test } from 'vitest'
import { ApiError } from '../../../../api/kit/errors.ts'
import { DEFAULT_POLICY } from '../../../../schemas/fraud/decision/policy.ts'
import { settingsApi } from './harness.ts'

const policy = { ...DEFAULT_POLICY, thresholds: { review: 500, block: 800 } }
const versions = { payment_fraud: '2' }

function caller(scope: string) {
  return { caller: { subject: 'olga', scopes: new Set([scope]) }, address: '192.0.2.1', idempotencyKey: undefined, requestId: 'r' } as never
}
const OPERATOR = caller('fraud:ops')
const ADMIN = caller('admin')
const unforced = { force: false, check() {} }
const forced = { force: true, check() {} }

async function refusal(work: Promise<unknown>) {
  const error = await work.then(() => undefined, (reason: unknown) => reason) // biome-ignore format: short
  if (!(error instanceof ApiError)) throw new Error(`refused with ${error}`)
  return { code: error.definition.code, fields: error.options.fields }
}

test('the shipped models and the default policy are in force from the start', async () => {
  const { settings } = await settingsApi()
  expect([settings.policy, settings.models]).toEqual([DEFAULT_POLICY, { champion: {}, challenger: undefined }])
})

test('models and their policy change together, and can be rolled back', async () => {
  const { settings, models } = await settingsApi()
  await models.assign(OPERATOR, { versions, policy })
  expect([settings.policy, settings.models.champion]).toEqual([{ ...policy, version: 1 }, versions])
  await models.rollBack(OPERATOR)
  expect([settings.policy, settings.models.champion]).toEqual([{ ...DEFAULT_POLICY, version: 2 }, {}])
  expect(await refusal(models.rollBack(OPERATOR))).toMatchObject({ code: 'no_previous_models' })
})

test('a challenger that is younger than seven days can be promoted only by an administrator', async () => {
  const { settings, models } = await settingsApi()
  expect(await refusal(models.promote(OPERATOR, unforced))).toMatchObject({ code: 'no_challenger' })
  await models.setChallenger(OPERATOR, async () => ({ versions, policy }), versions)
  expect([settings.models, settings.policy]).toEqual([{ champion: {}, challenger: versions }, DEFAULT_POLICY])
  expect(await refusal(models.promote(OPERATOR, unforced))).toEqual({
    code: 'challenger_too_young',
    fields: { promotable_at: '2026-01-22T12:00:00.000Z' },
  })
  expect(await refusal(models.promote(OPERATOR, forced))).toMatchObject({ code: 'forbidden' })
  await models.promote(ADMIN, forced)
  expect([settings.models, settings.policy]).toEqual([
    { champion: versions, challenger: undefined },
    { ...policy, version: 1 },
  ])
})

test('a trial can be ended, and an invalid policy is refused', async () => {
  const { settings, models } = await settingsApi()
  await models.setChallenger(OPERATOR, async () => ({ versions, policy: undefined }), versions)
  await models.endChallenger(OPERATOR)
  expect(settings.models.challenger).toBeUndefined()
  const weights = { ...policy.weights, payment_fraud: 0.9 }
  await expect(models.assign(OPERATOR, { versions, policy: { ...policy, weights } })).rejects.toThrow('weights must sum to 1')
})
