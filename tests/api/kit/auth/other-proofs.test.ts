import { describe, expect, test } from 'vitest'
import type { ShownCertificate } from '../../../../api/kit/auth/authorize.ts'
import { commandIdOf } from '../../../../api/kit/commands/idempotency.ts'
import type { IncomingRequest, RequestLimits } from '../../../../api/kit/rate-limits.ts'
import { echoService } from '../echo-service.ts'
import { type TokenClaims, testApp } from '../harness.ts'

const GOOD: ShownCertificate = { caller: { kind: 'certificate', subject: 'payments', scopes: new Set(), username: undefined } }
const BAD: ShownCertificate = { refused: 'it has expired' }
const INTERNAL = { sub: 'pipeline', scope: 'internal' }
const NOBODY = { sub: '42' }
const GATEWAY = '203.0.113.9'
const ELSEWHERE = '198.51.100.1'

interface Shown {
  readonly certificate?: ShownCertificate
  /** The claims of a valid token, or the text of an invalid one. */
  readonly token?: TokenClaims | string
  readonly remote?: string
  readonly headers?: Record<string, string>
}

async function proofApp(limits?: RequestLimits) {
  let shown: ShownCertificate | undefined
  const api = await testApp({ services: [echoService()], limits, certificateOf: () => shown })
  async function call(path: string, { certificate, token, remote = ELSEWHERE, headers = {} }: Shown) {
    shown = certificate
    const bearer = typeof token === 'string' ? { authorization: `Bearer ${token}` } : token && (await api.bearer(token))
    const env = { incoming: { socket: { remoteAddress: remote }, url: path } }
    const response = await api.app.request(path, { headers: { ...headers, ...bearer } }, env)
    return { status: response.status, body: (await response.json()) as Record<string, string | null> }
  }
  return { ...api, call }
}

describe('a route that accepts a scope or a certificate', () => {
  test.each<[string, Shown, number, string?]>([
    ['nothing', {}, 401],
    ['a certificate', { certificate: GOOD }, 200, 'certificate'],
    ['a refused certificate', { certificate: BAD }, 401],
    ['a token with the scope', { token: INTERNAL }, 200, 'token'],
    ['a token with the scope, and a certificate', { token: INTERNAL, certificate: GOOD }, 200, 'token'],
    ['a token with the scope, and a refused certificate', { token: INTERNAL, certificate: BAD }, 200, 'token'],
    ['a token without the scope', { token: NOBODY }, 403],
    ['a token without the scope, and a certificate', { token: NOBODY, certificate: GOOD }, 200, 'certificate'],
    ['a token without the scope, and a refused certificate', { token: NOBODY, certificate: BAD }, 403],
    ['a bad token', { token: 'garbage' }, 401],
    ['a bad token, and a certificate', { token: 'garbage', certificate: GOOD }, 401],
  ])('%s: %j gives %i', async (_what, shown, status, kind) => {
    const { call } = await proofApp()
    const answered = await call('/certified', shown)
    expect([answered.status, answered.body.kind]).toEqual([status, kind])
  })

  test('says why it refuses a certificate', async () => {
    const { call } = await proofApp()
    expect((await call('/certified', { certificate: BAD })).body.message).toContain(
      'The client certificate is not accepted: it has expired.',
    )
    expect((await call('/certified', {})).body.message).toBe('A valid bearer token or client certificate is required.')
  })

  test('names the certificate but no user in the log', async () => {
    const { call, lines } = await proofApp()
    await call('/certified', { certificate: GOOD })
    expect(lines.map(({ event, certificate }) => [event, certificate])).toEqual([
      ['echoed', 'payments'],
      ['request_completed', 'payments'],
    ])
    await call('/certified', { token: INTERNAL })
    expect(JSON.stringify(lines.slice(2))).not.toContain('pipeline')
  })
})

test.each(['/internal', '/either', '/user', '/optional', '/open'])('a certificate does not authenticate a caller on %s', async (path) => {
  const { call } = await proofApp()
  const answered = await call(path, { certificate: GOOD })
  expect(answered.status).toBe(path === '/optional' || path === '/open' ? 200 : 401)
  expect(answered.body.kind ?? null).toBeNull()
})

describe('a route with gateways', () => {
  test.each<[string, Shown, number, string?]>([
    ['from a gateway', { remote: GATEWAY }, 200, GATEWAY],
    ['from an IPv4 gateway on an IPv6 socket', { remote: `::ffff:${GATEWAY}` }, 200, `::ffff:${GATEWAY}`],
    ['from an IPv6 gateway', { remote: '2001:db8::7' }, 200, '2001:db8::7'],
    ['from elsewhere', { remote: ELSEWHERE }, 401],
    ['from elsewhere, with a forged X-Forwarded-For', { headers: { 'x-forwarded-for': GATEWAY, forwarded: `for=${GATEWAY}` } }, 401],
    // Loopback is a trusted proxy, so the header names the client for rate limits. It does not authenticate the caller.
    ['from a trusted proxy, for a gateway', { remote: '127.0.0.1', headers: { 'x-forwarded-for': GATEWAY } }, 401],
    ['from a gateway, for another client', { remote: GATEWAY, headers: { 'x-forwarded-for': ELSEWHERE } }, 200, GATEWAY],
    ['from a gateway, with a bad token', { remote: GATEWAY, token: 'garbage' }, 401],
    ['from a gateway, with a token without the scope', { remote: GATEWAY, token: NOBODY }, 200, GATEWAY],
    ['from a gateway, with a token', { remote: GATEWAY, token: INTERNAL }, 200, 'pipeline'],
    ['from a gateway, with a certificate', { remote: GATEWAY, certificate: GOOD }, 200, 'payments'],
  ])('%s: %j gives %i', async (_what, shown, status, subject) => {
    const { call } = await proofApp()
    const answered = await call('/gateway', shown)
    expect([answered.status, answered.body.subject]).toEqual([status, subject])
  })

  test('the address of a gateway is not accepted on a route without gateways', async () => {
    const { call } = await proofApp()
    expect((await call('/certified', { remote: GATEWAY })).status).toBe(401)
  })
})

test('a response to a caller with a certificate or from a gateway is never cached for others', async () => {
  const service = echoService()
  const routes = service.routes.map((route) => ({
    ...route,
    handler: async (input: Parameters<typeof route.handler>[0]) => ({
      ...(await route.handler(input)),
      reusableUntil: Number.POSITIVE_INFINITY,
    }),
  }))
  const { app, answers, clock } = await testApp({ services: [{ ...service, routes }], certificateOf: () => GOOD })
  const env = (url: string) => ({ incoming: { socket: { remoteAddress: GATEWAY }, url } })
  for (const path of ['/certified', '/gateway', '/open']) expect((await app.request(path, {}, env(path))).status).toBe(200)
  const isKept = (path: string) => answers.get(path, clock.now) !== undefined
  expect(['/certified', '/gateway', '/open'].map(isKept)).toEqual([false, false, true])
})

describe('rate limits', () => {
  function recorder() {
    const counted: IncomingRequest[] = []
    const limits: RequestLimits = {
      covers: () => true,
      async admit(request) {
        counted.push(request)
        return { caller: { clientId: 'c', tier: 'free', ip: '' }, headers: {}, refusal: undefined }
      },
    }
    return { counted, limits }
  }

  test('on an exempt route, admitted callers are not counted, and all other callers are', async () => {
    const { counted, limits } = recorder()
    const { call } = await proofApp(limits)
    for (const shown of [{ certificate: GOOD }, { token: INTERNAL }]) expect((await call('/certified', shown)).status).toBe(200)
    expect((await call('/gateway', { remote: GATEWAY })).status).toBe(200)
    expect(counted).toEqual([])
    expect((await call('/certified', { certificate: BAD })).status).toBe(401)
    expect((await call('/gateway', { remote: GATEWAY, token: 'garbage' })).status).toBe(401)
    expect(counted.map(({ path, userId, certificate }) => [path, userId, certificate])).toEqual([
      ['/certified', undefined, undefined],
      ['/gateway', undefined, undefined],
    ])
    await call('/internal', { token: INTERNAL })
    expect(counted).toHaveLength(3)
  })

  test('a certificate with the name of a user is not counted as that user', async () => {
    const { counted, limits } = recorder()
    const service = echoService()
    const routes = service.routes.map((route) => ({ ...route, definition: { ...route.definition, isExemptFromLimits: false } }))
    const certificate: ShownCertificate = { caller: { kind: 'certificate', subject: '42', scopes: new Set(), username: undefined } }
    const { app } = await testApp({ services: [{ ...service, routes }], limits, certificateOf: () => certificate })
    await app.request('/certified', {}, { incoming: { socket: { remoteAddress: ELSEWHERE }, url: '/certified' } })
    expect(counted.map(({ userId, certificate: name }) => [userId, name])).toEqual([[undefined, '42']])
  })
})

test('equal idempotency keys of a user, a certificate and a gateway with the same name give different command ids', () => {
  const shared = { subject: '42', scopes: new Set<string>(), username: undefined }
  const ids = (['token', 'certificate', 'gateway'] as const).map((kind) => commandIdOf({ kind, ...shared }, ELSEWHERE, 'key'))
  expect(new Set(ids).size).toBe(3)
})

test('OpenAPI documents the alternatives to a token', async () => {
  const { app } = await proofApp()
  const document = (await (await app.request('/openapi.json')).json()) as {
    paths: Record<string, { get: { security: unknown; description: string } }>
    components: { securitySchemes: Record<string, unknown> }
  }
  const { paths, components } = document
  expect(paths['/internal'].get.security).toEqual([{ bearer: ['internal'] }])
  expect(paths['/certified'].get.security).toEqual([{ bearer: ['internal'] }, { bearer: ['admin'] }, { mutualTLS: [] }])
  expect(components.securitySchemes.mutualTLS).toMatchObject({ type: 'mutualTLS' })
  expect(paths['/gateway'].get.description).toContain('addresses of gateways')
  expect(paths['/certified'].get.description).not.toContain('gateways')
})
