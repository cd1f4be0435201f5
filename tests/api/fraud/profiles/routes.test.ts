import { expect, test } from 'vitest'
import { entityProfiles } from '../../../../api/fraud/profiles/entity-profiles.ts'
import { profilesPart } from '../../../../api/fraud/profiles/part.ts'
import { ApiError, errors } from '../../../../api/kit/errors.ts'
import type { ViewScripts } from '../../../../state/views/view.ts'
import { NO_IP_FACTS } from '../../../schemas/fraud/payments.ts'
import { START, testApp } from '../../kit/harness.ts'

const now = () => START

/** @param answer what Redis returns for the script */
async function statusWith(answer: ViewScripts['run']) {
  const profiles = entityProfiles({ scripts: { run: answer }, partitionOf: () => 0, onFailure: () => undefined, now })
  const { routes } = profilesPart({ profiles, ipFactsOf: () => NO_IP_FACTS, now })
  const { app, bearer } = await testApp({
    services: [{ name: 'fraud', description: '', isUserId: () => true, errors: [], probes: [], routes }],
  })
  const reply = await app.request('/api/v1/profiles/user/u1', { headers: await bearer({ sub: 'ann', scope: 'fraud:analyst' }) })
  const { error } = (await reply.json()) as { error: string }
  return { status: reply.status, error, retryAfter: reply.headers.get('retry-after') !== null }
}

test('a profile is not ready while the view is being built, and unavailable while Redis does not respond', async () => {
  expect(await statusWith(async () => [null, null, null, []])).toEqual({ status: 503, error: 'not_ready', retryAfter: true })
  const unreachable = () => Promise.reject(new ApiError(errors.unavailable))
  expect(await statusWith(unreachable)).toEqual({ status: 503, error: 'unavailable', retryAfter: true })
})

test('a request for a profile has the usual time limit for Redis scripts, not the shorter limit for payments', async () => {
  let given: unknown
  await statusWith(async (_script, _keys, _args, options) => {
    given = options
    return [null, null, null, []]
  })
  // Without options, the usual time limit applies.
  expect(given).toBeUndefined()
})
