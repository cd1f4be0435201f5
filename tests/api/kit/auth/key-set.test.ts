import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocalJWKSet, errors, type JSONWebKeySet, SignJWT } from 'jose'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { type KeySet, keySet } from '../../../../api/kit/auth/key-set.ts'
import { keySetFor } from '../../../../api/kit/auth/key-source.ts'
import type { AuthSettings } from '../../../../api/kit/auth/settings.ts'
import { tokenVerifier } from '../../../../api/kit/auth/verify.ts'
import type { Logger } from '../../../../api/kit/logging.ts'
import { AUDIENCE, ISSUER, type SigningKey, START, signingKey, signToken } from '../harness.ts'

const COOLDOWN_MS = 10_000
const MAX_AGE_MS = 600_000
const EXPIRY_MS = 3_600_000

/** Creates an identity provider whose keys and availability the test controls. */
function provider(...keys: SigningKey[]) {
  const state = { keys, loads: 0, down: false, silent: false, now: START }
  async function load(): Promise<JSONWebKeySet> {
    state.loads++
    if (state.silent) return await new Promise(() => undefined)
    if (state.down) throw new Error('connection refused')
    return { keys: state.keys.map((key) => key.publicJwk) }
  }
  const failures: string[] = []
  const onFailure = (error: Error) => void failures.push(error.message)
  const set = keySet({ load, now: () => state.now, cooldownMs: COOLDOWN_MS, maxAgeMs: MAX_AGE_MS, expiryMs: EXPIRY_MS, onFailure })
  const verifier = tokenVerifier({ keys: set, issuer: ISSUER, audience: AUDIENCE, now: () => state.now })
  async function verify(key: SigningKey): Promise<string> {
    try {
      return (await verifier.verify(await signToken(key, { sub: '1', exp: START + 24 * 3_600_000 }))).subject
    } catch (error) {
      return (error as { definition: { code: string } }).definition.code
    }
  }
  return { state, verify, failures }
}

test('a new key is accepted when a token first names it, and an old key is refused once it is removed', async () => {
  const [old, fresh] = [await signingKey('old'), await signingKey('fresh')]
  const { state, verify } = provider(old)
  expect(await verify(old)).toBe('1')
  state.keys = [fresh]
  state.now += COOLDOWN_MS
  expect(await verify(fresh)).toBe('1')
  expect(state.loads).toBe(2)
  expect(await verify(old)).toBe('unauthorized')
})

test('tokens with unknown key ids make the API load the key set at most once per cooldown', async () => {
  const known = await signingKey('known')
  const { state, verify } = provider(known)
  await verify(known)
  const forged = await Promise.all(Array.from({ length: 5 }, (_, i) => signingKey(`forged-${i}`)))
  for (const key of forged) expect(await verify(key)).toBe('unauthorized')
  expect(state.loads).toBe(1)
  state.now += COOLDOWN_MS
  for (const key of forged) expect(await verify(key)).toBe('unauthorized')
  expect(state.loads).toBe(2)
})

test('concurrent first tokens make the API load the key set only once', async () => {
  const key = await signingKey('k')
  const { state, verify } = provider(key)
  expect(await Promise.all([verify(key), verify(key), verify(key)])).toEqual(['1', '1', '1'])
  expect(state.loads).toBe(1)
})

test('without any keys, verification is unavailable until the key set is loaded again after the cooldown', async () => {
  const key = await signingKey('k')
  const { state, verify } = provider(key)
  state.down = true
  expect(await verify(key)).toBe('unavailable')
  expect(await verify(key)).toBe('unavailable')
  expect(state.loads).toBe(1)
  state.down = false
  state.now += COOLDOWN_MS
  expect(await verify(key)).toBe('1')
})

test('a clock that is set back does not delay new keys', async () => {
  const [old, fresh] = [await signingKey('old'), await signingKey('fresh')]
  const { state, verify } = provider(old)
  await verify(old)
  state.keys = [fresh]
  state.now -= EXPIRY_MS
  expect(await verify(fresh)).toBe('1')
})

test('known keys still work while the provider is down', async () => {
  const [known, unknown] = [await signingKey('known'), await signingKey('unknown')]
  const { state, verify } = provider(known)
  await verify(known)
  state.down = true
  state.now += MAX_AGE_MS + 1
  expect(await verify(known)).toBe('1')
  expect(await verify(unknown)).toBe('unauthorized')
})

test('after a failed load, known keys work without delay while the provider does not respond', async () => {
  const known = await signingKey('known')
  const { state, verify } = provider(known)
  await verify(known)
  state.down = true
  state.now += MAX_AGE_MS + 1
  await verify(known)
  state.silent = true
  state.now += 60_000
  expect(await verify(known)).toBe('1')
  expect(state.loads).toBe(3)
})

test('keys expire when the provider stays down, even for tokens that were verified earlier', async () => {
  const key = await signingKey('withdrawn')
  const { state, verify, failures } = provider(key)
  expect(await verify(key)).toBe('1')
  state.down = true
  state.now += EXPIRY_MS - 1
  expect(await verify(key)).toBe('1')
  state.now += 1
  expect(await verify(key)).toBe('unavailable')
  expect(failures.at(-1)).toBe('connection refused')
  state.down = false
  state.keys = []
  state.now += COOLDOWN_MS
  expect(await verify(key)).toBe('unauthorized')
})

test('a key that is removed while a token is being verified does not stay valid for this token', async () => {
  const key = await signingKey('old')
  const token = await signToken(key, { sub: '1', exp: START + EXPIRY_MS })
  const find = createLocalJWKSet({ keys: [key.publicJwk] })
  let generation = 1
  const keys: KeySet = {
    async keyFor(header, jws) {
      if (generation > 1) throw new errors.JWKSNoMatchingKey()
      const found = await find(header, jws)
      // Meanwhile, another request has loaded the key set, which no longer contains the key.
      generation++
      return found
    },
    get generation() {
      return generation
    },
    expiresAt: START + EXPIRY_MS,
  }
  const verifier = tokenVerifier({ keys, issuer: ISSUER, audience: AUDIENCE, now: () => START })
  expect((await verifier.verify(token)).subject).toBe('1')
  await expect(verifier.verify(token)).rejects.toThrow('its key is not known here')
})

test('a token without a key id is refused if several keys may have signed it, and the error gives this reason', async () => {
  const { privateKey, ...key } = await signingKey('a')
  const other = await signingKey('b')
  const keys = keySet({ load: async () => ({ keys: [key.publicJwk, other.publicJwk] }), now: () => START })
  const verifier = tokenVerifier({ keys, issuer: ISSUER, audience: AUDIENCE, now: () => START })
  const token = await new SignJWT({ sub: '1' }).setProtectedHeader({ alg: key.alg }).sign(privateKey)
  await expect(verifier.verify(token)).rejects.toThrow('not valid: its header does not say which of several keys signed it')
})

test('a redirect from the address of the keys is not followed', async () => {
  const server = createServer((_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/jwks' }).end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const lines: unknown[] = []
  const log = { warn: (fields: unknown) => lines.push(fields) } as unknown as Logger
  const registry = new Registry()
  const set = await keySetFor({ issuer: ISSUER, audience: AUDIENCE, keys: { kind: 'url', url } }, () => START, { log, registry })
  const token = await signToken(await signingKey('k'), { sub: '7' })
  await expect(tokenVerifier({ keys: set, issuer: ISSUER, audience: AUDIENCE, now: () => START }).verify(token)).rejects.toThrow()
  expect(lines).toEqual([{ reason: expect.stringContaining('redirect'), age_seconds: undefined }])
  expect(await registry.metrics()).toContain('auth_keys_load_failures_total 1')
})

test.each([
  ['is missing', undefined],
  ['is cut off', '{"keys":'],
  ['contains no keys', '{}'],
])('a key file that %s is reported at the start, before the first token', async (_what, content) => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-keys-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'jwks.json')
  if (content !== undefined) await writeFile(path, content)
  const events: unknown[] = []
  const log = { warn: (_fields: unknown, event: unknown) => events.push(event) } as unknown as Logger
  const registry = new Registry()
  const key = await signingKey('k')
  const set = await keySetFor({ issuer: ISSUER, audience: AUDIENCE, keys: { kind: 'file', path } }, () => START, { log, registry })
  expect(events).toEqual(['auth_keys_not_loaded'])
  expect(await registry.metrics()).toContain('auth_keys_load_failures_total 1')
  // A file that appears later is used at once.
  await writeFile(path, JSON.stringify({ keys: [key.publicJwk] }))
  const verifier = tokenVerifier({ keys: set, issuer: ISSUER, audience: AUDIENCE, now: () => START })
  expect((await verifier.verify(await signToken(key, { sub: '7' }))).subject).toBe('7')
})

test('a revoked key is dropped after the maximum age', async () => {
  const [kept, revoked] = [await signingKey('kept'), await signingKey('revoked')]
  const { state, verify } = provider(kept, revoked)
  expect(await verify(revoked)).toBe('1')
  state.keys = [kept]
  state.now += MAX_AGE_MS + 1
  expect(await verify(revoked)).toBe('unauthorized')
})

test('keys are read from an address or a file', async () => {
  const key = await signingKey('k')
  const jwks = JSON.stringify({ keys: [key.publicJwk] })
  const server = createServer((request, response) => response.writeHead(request.url === '/jwks' ? 200 : 500).end(jwks))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const folder = await mkdtemp(join(tmpdir(), 'millrace-keys-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'jwks.json'), jwks)
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const token = await signToken(key, { sub: '7' })
  const verify = async (keys: AuthSettings['keys']) => {
    const set = await keySetFor({ issuer: ISSUER, audience: AUDIENCE, keys }, () => START)
    return (await tokenVerifier({ keys: set, issuer: ISSUER, audience: AUDIENCE, now: () => START }).verify(token)).subject
  }
  expect(await verify({ kind: 'url', url: `${base}/jwks` })).toBe('7')
  expect(await verify({ kind: 'file', path: join(folder, 'jwks.json') })).toBe('7')
  await expect(verify({ kind: 'url', url: `${base}/broken` })).rejects.toThrow(/cannot be loaded/)
})
