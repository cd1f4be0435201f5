import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JSONWebKeySet, type JWK, SignJWT } from 'jose'
import { createOnce } from '../../../runtime/create-once.ts'

const ALGORITHM = 'ES256'

interface DevelopmentKeyPaths {
  /** The file with the private key, which never leaves this machine. */
  readonly key: string
  /** The file with the public key as a JWKS, the format in which identity providers publish their keys. */
  readonly jwks: string
}

export function developmentKeyPaths(home: string): DevelopmentKeyPaths {
  return { key: join(home, 'auth', 'development-key.json'), jwks: join(home, 'auth', 'development-jwks.json') }
}

/**
 * Creates the development key on first use, and writes its public key as a JWKS. If several processes start at once,
 * all use the key that was written first. Must never be called in production.
 * @returns the private key
 */
export async function ensureDevelopmentKey(home: string): Promise<JWK> {
  const paths = developmentKeyPaths(home)
  const key = JSON.parse(createOnce(paths.key, newKey)) as JWK
  await replaceFile(paths.jwks, JSON.stringify(publicSet(key)))
  return key
}

function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return JSON.stringify({ ...privateKey.export({ format: 'jwk' }), alg: ALGORITHM, use: 'sig', kid: `development-${randomUUID()}` })
}

async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, text)
  await rename(draft, path)
}

function publicSet(key: JWK): JSONWebKeySet {
  const { d: _private, ...publicKey } = key
  return { keys: [publicKey] }
}

export interface TokenRequest {
  readonly subject: string
  /** Scopes, separated by spaces. */
  readonly scope?: string
  readonly username?: string
  readonly issuer: string
  readonly audience: string
  readonly lifetimeSeconds: number
  /** Epoch ms. */
  readonly now: number
}

const MS_PER_SECOND = 1_000

/** Signs a token with the development key. */
export async function mintToken(key: JWK, request: TokenRequest): Promise<string> {
  const issuedAt = Math.floor(request.now / MS_PER_SECOND)
  const claims: Record<string, string> = {}
  if (request.scope !== undefined) claims.scope = request.scope
  if (request.username !== undefined) claims.preferred_username = request.username
  return await new SignJWT(claims)
    .setProtectedHeader({ alg: ALGORITHM, kid: key.kid, typ: 'JWT' })
    .setSubject(request.subject)
    .setIssuer(request.issuer)
    .setAudience(request.audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + request.lifetimeSeconds)
    .sign(key)
}
