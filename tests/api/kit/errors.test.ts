import { z } from '@hono/zod-openapi'
import { expect, test } from 'vitest'
import { isDecimalUserId } from '../../../api/kit/auth/authorize.ts'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { bind, defineRoute } from '../../../api/kit/route.ts'
import { trendsErrors } from '../../../api/trends/errors.ts'
import { testApp } from './harness.ts'

const statuses: Record<string, number> = {
  invalid_request: 400,
  invalid_encoding: 400,
  unauthorized: 401,
  invalid_api_key: 401,
  forbidden: 403,
  not_found: 404,
  unknown_location: 404,
  past_list_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  idempotency_conflict: 409,
  content_too_large: 413,
  unsupported_media_type: 415,
  query_too_large: 422,
  rate_limit_exceeded: 429,
  headers_too_large: 431,
  internal_error: 500,
  not_ready: 503,
  trends_stale: 503,
  too_many_readers: 503,
  unavailable: 503,
}
const catalogue = Object.values({ ...errors, ...trendsErrors })

test('the table in this file contains every code of the kit and of trends', () => {
  expect(catalogue.map(({ code }) => code).sort()).toEqual(Object.keys(statuses).sort())
})

test.each(catalogue)(
  'a route that throws the error $code responds with its status and message, and the error is counted and, if necessary, logged',
  async (definition) => {
    const route = defineRoute({
      method: 'get',
      path: '/fails',
      operationId: 'fails',
      summary: 's',
      description: 'd',
      auth: { kind: 'open' },
      answers: { 200: { description: 'never', schema: z.unknown() } },
      errors: [definition],
    })
    const fails = bind(route, () => {
      throw new ApiError(definition)
    })
    const { app, metrics, lines } = await testApp({
      services: [{ name: 't', description: 'd', routes: [fails], errors: [], probes: [], isUserId: isDecimalUserId }],
    })
    const answered = await app.request('/fails', { headers: { 'x-request-id': 'r' } })
    expect(answered.status).toBe(statuses[definition.code])
    expect(await answered.json()).toEqual({ error: definition.code, message: definition.message, request_id: 'r' })
    expect(answered.headers.has('retry-after')).toBe(definition.status === 429 || definition.status === 503)
    expect(lines.some(({ error }) => error === definition.code)).toBe(definition.status >= 500 || definition.code === 'query_too_large')
    expect(await metrics.text()).toContain(`http_errors_total{code="${definition.code}"} 1`)
  },
)
