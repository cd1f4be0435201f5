import { describe, expect, test } from 'vitest'
import { isDecimalUserId } from '../../../../api/kit/auth/authorize.ts'
import { echoService } from '../echo-service.ts'
import { AUDIENCE, ISSUER, START, signingKey, signToken, type TestApp, testApp } from '../harness.ts'

const HOUR_MS = 3_600_000

async function call(api: TestApp, path: string, authorization?: string) {
  const answered = await api.app.request(path, { headers: authorization === undefined ? {} : { authorization } })
  return {
    status: answered.status,
    challenge: answered.headers.get('www-authenticate'),
    body: (await answered.json()) as Record<string, unknown>,
  }
}

const echoApp = () => testApp({ services: [echoService()] })

describe('authorization', () => {
  const user = { sub: '42' }
  const internal = { sub: 'pipeline', scope: 'other internal' }
  const nobody = { sub: 'b7c5' }
  test.each([
    ['/open', undefined, 200],
    ['/open', 'garbage', 200],
    ['/optional', undefined, 200],
    ['/optional', user, 200],
    ['/optional', nobody, 403],
    ['/optional', 'garbage', 401],
    ['/optional-admin', undefined, 200],
    ['/optional-admin', nobody, 403],
    ['/optional-admin', { ...nobody, scope: 'admin' }, 200],
    ['/user', undefined, 401],
    ['/user', user, 200],
    ['/user', nobody, 403],
    ['/user', 'garbage', 401],
    ['/internal', undefined, 401],
    ['/internal', user, 403],
    ['/internal', internal, 200],
    ['/internal', 'garbage', 401],
    ['/either', undefined, 401],
    ['/either', user, 403],
    ['/either', internal, 200],
    ['/either', { sub: 'operator', scope: 'admin' }, 200],
    ['/either', 'garbage', 401],
  ])('%s with %j: %i', async (path, claims, status) => {
    const api = await echoApp()
    const authorization = typeof claims === 'object' ? `Bearer ${await signToken(api.key, claims)}` : claims && `Bearer ${claims}`
    const answered = await call(api, path, authorization)
    expect(answered.status).toBe(status)
    if (status === 401)
      expect([answered.body.error, answered.challenge?.startsWith('Bearer realm="millrace"')]).toEqual(['unauthorized', true])
    if (status === 403) expect(answered.body.error).toBe('forbidden')
    if (status === 200 && path !== '/open') expect(answered.body.subject).toBe(typeof claims === 'object' ? claims.sub : null)
  })

  test('the challenge says what is wrong with the token, and which scope is missing', async () => {
    const api = await echoApp()
    expect((await call(api, '/user')).challenge).toBe('Bearer realm="millrace"')
    expect((await call(api, '/user', 'Basic dXNlcjpwYXNz')).challenge).toContain('error="invalid_token"')
    expect((await call(api, '/internal', `Bearer ${await signToken(api.key, { sub: '1' })}`)).challenge).toContain(
      'error="insufficient_scope", scope="internal"',
    )
    const either = await call(api, '/either', `Bearer ${await signToken(api.key, { sub: '1' })}`)
    expect(either.challenge).toContain('scope="internal admin"')
    expect(either.body.message).toContain('one of the scopes internal, admin')
  })

  test('a subject may be a number if it is an integer up to 2^53 - 1, which no decoder rounds', async () => {
    const api = await echoApp()
    const answered = await call(api, '/user', `Bearer ${await signToken(api.key, { sub: 2 ** 53 - 1 })}`)
    expect([answered.status, answered.body.subject]).toEqual([200, '9007199254740991'])
  })

  test('the authorization scheme is case-insensitive', async () => {
    const api = await echoApp()
    expect((await call(api, '/user', `bearer ${await signToken(api.key, { sub: '1' })}`)).status).toBe(200)
  })
})

describe('refused tokens', () => {
  const cases: [string, (api: TestApp) => Promise<string>, string][] = [
    ['expired', (api) => signToken(api.key, { sub: '1', exp: START - 6_000 }), 'it has expired'],
    ['without an expiry', (api) => signToken(api.key, { sub: '1', exp: null }), 'claim exp'],
    ['without a subject', (api) => signToken(api.key, {}), 'claim sub'],
    ['for a numeric subject that may have been rounded', (api) => signToken(api.key, { sub: 2 ** 53 }), 'claim sub is neither'],
    ['for a subject that is a fraction', (api) => signToken(api.key, { sub: 1.5 }), 'claim sub is neither'],
    ['from another issuer', (api) => signToken(api.key, { sub: '1', iss: 'https://evil.example' }), 'claim iss'],
    ['for another audience', (api) => signToken(api.key, { sub: '1', aud: 'other' }), 'claim aud'],
    ['signed with another algorithm', async () => signToken(await signingKey('key-1', 'PS256'), { sub: '1' }), 'algorithm'],
    ['signed by another key with the same id', async () => signToken(await signingKey('key-1'), { sub: '1' }), 'signature'],
    ['signed by an unknown key', async () => signToken(await signingKey('key-x'), { sub: '1' }), 'key is not known'],
    [
      'unsigned',
      async () =>
        `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(`{"sub":"1","iss":"${ISSUER}","aud":"${AUDIENCE}"}`).toString('base64url')}.`,
      'Authorization header|malformed|algorithm',
    ],
    ['too long', async () => 'a'.repeat(9_000), 'too long'],
  ]
  test.each(cases)('a token is refused if it is %s', async (_what, make, reason) => {
    const api = await echoApp()
    const answered = await call(api, '/optional', `Bearer ${await make(api)}`)
    expect([answered.status, answered.body.error]).toEqual([401, 'unauthorized'])
    expect(answered.challenge).toMatch(new RegExp(reason))
  })

  test('a public key is never used as a shared secret', async () => {
    const api = await echoApp()
    const { SignJWT } = await import('jose')
    const secret = Buffer.from(JSON.stringify(api.key.publicJwk))
    const forged = await new SignJWT({ sub: '1', iss: ISSUER, aud: AUDIENCE, exp: START / 1000 + 60 })
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
      .sign(secret)
    expect((await call(api, '/user', `Bearer ${forged}`)).status).toBe(401)
  })

  test('a token is refused once it has expired, even if it was accepted a moment ago', async () => {
    const api = await echoApp()
    const token = `Bearer ${await signToken(api.key, { sub: '1', exp: START + HOUR_MS })}`
    expect((await call(api, '/user', token)).status).toBe(200)
    api.clock.now = START + HOUR_MS + 6_000
    expect((await call(api, '/user', token)).status).toBe(401)
  })

  test('a refused token is never logged', async () => {
    const api = await echoApp()
    const token = await signToken(api.key, { sub: '1', exp: START - HOUR_MS })
    await call(api, '/user', `Bearer ${token}`)
    api.log.info({ authorization: token, request: { headers: { authorization: token } } }, 'careless')
    expect(JSON.stringify(api.lines)).not.toContain(token)
  })
})

test.each(['RS256', 'ES256', 'EdDSA'] as const)('a token that is signed with %s is accepted', async (alg) => {
  const api = await echoApp()
  const key = await signingKey('other', alg)
  api.published.keys.push(key.publicJwk)
  expect((await call(api, '/user', `Bearer ${await signToken(key, { sub: '1' })}`)).status).toBe(200)
})

test.each([
  ['1', true],
  ['9223372036854775807', true],
  ['9223372036854775808', false],
  ['0', false],
  ['007', false],
  ['-1', false],
  ['1.0', false],
  ['', false],
  ['42 ', false],
  ['a8098c1a-f86e-11da-bd1a-00112444be1e', false],
])('the subject %j is a decimal user id: %s', (subject, expected) => {
  expect(isDecimalUserId(subject)).toBe(expected)
})
