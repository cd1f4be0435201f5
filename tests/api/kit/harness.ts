import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { answerCache } from '../../../api/kit/answer-cache.ts'
import { type AppOptions, createApp } from '../../../api/kit/app.ts'
import { keySet } from '../../../api/kit/auth/key-set.ts'
import { tokenVerifier } from '../../../api/kit/auth/verify.ts'
import type { DirectRoutes } from '../../../api/kit/direct-routes.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { httpMetrics } from '../../../api/kit/metrics.ts'
import type { RequestLimits } from '../../../api/kit/rate-limits.ts'
import { type ReadinessProbe, readiness } from '../../../api/kit/readiness.ts'
import type { ServiceRoutes } from '../../../api/kit/service-routes.ts'
import { checkDocumentation } from './documented.ts'

export const ISSUER = 'https://issuer.example'
export const AUDIENCE = 'millrace-test'
export const START = Date.UTC(2026, 0, 15, 12, 0, 0)

export interface SigningKey {
  readonly alg: string
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

export async function signingKey(kid: string, alg: 'ES256' | 'RS256' | 'EdDSA' | 'PS256' = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

export interface TokenClaims {
  /** Issuers should send a string, but the API also accepts some numbers. */
  sub?: string | number
  scope?: string
  preferred_username?: string
  iss?: string
  aud?: string
  /** Expiry, epoch ms; null leaves out the claim. Default: an hour after START. */
  exp?: number | null
}

export async function signToken(key: SigningKey, claims: TokenClaims = {}): Promise<string> {
  const payload: Record<string, unknown> = { iss: claims.iss ?? ISSUER, aud: claims.aud ?? AUDIENCE, iat: START / 1000 }
  if (claims.sub !== undefined) payload.sub = claims.sub
  if (claims.scope !== undefined) payload.scope = claims.scope
  if (claims.preferred_username !== undefined) payload.preferred_username = claims.preferred_username
  if (claims.exp !== null) payload.exp = (claims.exp ?? START + 3_600_000) / 1000
  return await new SignJWT(payload).setProtectedHeader({ alg: key.alg, kid: key.kid }).sign(key.privateKey)
}

/** Creates an app with a signing key and a manual clock, and captures its log lines. */
export async function testApp(
  options: {
    services?: ServiceRoutes[]
    probes?: ReadinessProbe[]
    bodyTimeoutMs?: number
    limits?: RequestLimits
    direct?: DirectRoutes
    certificateOf?: AppOptions['certificateOf']
    publicUrl?: string
  } = {},
) {
  const clock = { now: START }
  const key = await signingKey('key-1')
  const published = { keys: [key.publicJwk] }
  const lines: Record<string, unknown>[] = []
  const log = createLogger('debug', { write: (line: string) => void lines.push(JSON.parse(line)) })
  const metrics = httpMetrics({ process: false })
  const ready = readiness(options.probes ?? [], { timeoutMs: 50, maxAgeMs: 0 })
  const answers = answerCache()
  const verifier = tokenVerifier({
    keys: keySet({ load: async () => ({ keys: [...published.keys] }), now: () => clock.now }),
    issuer: ISSUER,
    audience: AUDIENCE,
    now: () => clock.now,
  })
  const app = createApp({
    services: options.services ?? [],
    verifier,
    log,
    metrics,
    readiness: ready,
    answers,
    publicUrl: options.publicUrl ?? 'http://localhost:8080',
    monotonic: () => clock.now,
    bodyTimeoutMs: options.bodyTimeoutMs,
    limits: options.limits,
    direct: options.direct,
    certificateOf: options.certificateOf,
  })
  checkDocumentation(app)
  return {
    app,
    clock,
    key,
    published,
    lines,
    log,
    metrics,
    readiness: ready,
    answers,
    verifier,
    bearer: async (claims: TokenClaims) => ({ authorization: `Bearer ${await signToken(key, claims)}` }),
  }
}

export type TestApp = Awaited<ReturnType<typeof testApp>>
