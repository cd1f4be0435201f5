import { createHash } from 'node:crypto'
import type { LimitedCaller } from '../../kit/limited-caller.ts'

/** Whom an API key belongs to. */
export interface ApiClient {
  readonly clientId: string
  readonly keyId: string
  readonly tier: string
}

export interface ApiClients {
  /** @returns undefined: unknown or revoked. Throws while the clients are not read yet. */
  find(keyHash: string): ApiClient | undefined
}

/** What a request shows of its caller. */
export interface ShownIdentity {
  readonly apiKey: string | undefined
  readonly userId: string | undefined
  /** As `limitedAddress` gives it. */
  readonly ip: string
}

export interface KnownCaller {
  readonly caller: LimitedCaller
  /** The key is unknown or was revoked. The caller is its address then: guessing must not be free. */
  readonly isKeyRefused: boolean
  /** A key was shown, and whose it is cannot be said yet. */
  readonly areKeysLoading: boolean
}

/** Of callers without a key. */
const FREE_TIER = 'free'
/** Longer ones are no keys of ours. */
const MAX_KEY_CHARACTERS = 256
const NOT_READY = Symbol('not ready')

/** The key before the user before the address. While the keys are not read yet, nobody is refused for his. */
export function callerOf({ apiKey, userId, ip }: ShownIdentity, clients: ApiClients): KnownCaller {
  const found = apiKey === undefined ? undefined : clientOf(apiKey, clients)
  const areKeysLoading = found === NOT_READY
  if (found !== undefined && found !== NOT_READY) {
    const { clientId, tier, keyId } = found
    return { caller: { clientId, tier, apiKeyId: keyId, userId, ip }, isKeyRefused: false, areKeysLoading }
  }
  const isKeyRefused = apiKey !== undefined && found === undefined
  if (userId === undefined || isKeyRefused) return { caller: { clientId: `ip:${ip}`, tier: FREE_TIER, ip }, isKeyRefused, areKeysLoading }
  return { caller: { clientId: `user:${userId}`, tier: FREE_TIER, userId, ip }, isKeyRefused, areKeysLoading }
}

function clientOf(apiKey: string, clients: ApiClients): ApiClient | undefined | typeof NOT_READY {
  if (apiKey.length > MAX_KEY_CHARACTERS) return undefined
  try {
    return clients.find(hashOfKey(apiKey))
  } catch {
    return NOT_READY
  }
}

/** Keys are kept as their SHA-256 alone. They are random, so that no salt or slow hash is needed. */
export function hashOfKey(apiKey: string): string {
  return createHash('sha256').update(apiKey).digest('hex')
}
