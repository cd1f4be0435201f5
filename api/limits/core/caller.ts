import { createHash } from 'node:crypto'
import type { LimitedCaller } from '../../kit/limited-caller.ts'

/** The owner of an API key. */
export interface ApiClient {
  readonly clientId: string
  readonly keyId: string
  readonly tier: string
}

export interface ApiClients {
  /**
   * Finds the client of a key. Throws if the keys have not been read yet.
   * @returns undefined if the key is unknown or revoked
   */
  find(keyHash: string): ApiClient | undefined
}

/** The credentials and the address of a request. */
export interface ShownIdentity {
  readonly apiKey: string | undefined
  readonly userId: string | undefined
  readonly certificate?: string
  /** The address as `limitedAddress` formats it. */
  readonly ip: string
}

export interface KnownCaller {
  readonly caller: LimitedCaller
  /**
   * Whether the key is unknown, revoked or too long. If so, the caller is counted by its address, so that attempts to
   * guess keys are limited.
   */
  readonly isKeyRefused: boolean
  /** Whether the request has a key that cannot be checked, because the keys have not been read yet. */
  readonly areKeysLoading: boolean
}

/** The tier of callers without a key. */
const FREE_TIER = 'free'
/** Maximum length of a key. This service issues only shorter keys. */
const MAX_KEY_CHARACTERS = 256
const NOT_READY = Symbol('not ready')

/**
 * Identifies a caller by the first of the following that the request has: known key, user, client certificate, address.
 * A caller with a refused key is identified by its address. Until the keys have been read, only keys that are too long
 * are refused.
 */
export function callerOf({ apiKey, userId, certificate, ip }: ShownIdentity, clients: ApiClients): KnownCaller {
  const found = apiKey === undefined ? undefined : clientOf(apiKey, clients)
  const areKeysLoading = found === NOT_READY
  if (found !== undefined && found !== NOT_READY) {
    const { clientId, tier, keyId } = found
    return { caller: { clientId, tier, apiKeyId: keyId, userId, certificate, ip }, isKeyRefused: false, areKeysLoading }
  }
  const isKeyRefused = apiKey !== undefined && found === undefined
  const caller = isKeyRefused ? byAddress(ip) : withoutKey({ userId, certificate, ip })
  return { caller, isKeyRefused, areKeysLoading }
}

function withoutKey({ userId, certificate, ip }: Omit<ShownIdentity, 'apiKey'>): LimitedCaller {
  if (userId !== undefined) return { clientId: `user:${userId}`, tier: FREE_TIER, userId, ip }
  if (certificate !== undefined) return { clientId: `certificate:${certificate}`, tier: FREE_TIER, certificate, ip }
  return byAddress(ip)
}

function byAddress(ip: string): LimitedCaller {
  return { clientId: `ip:${ip}`, tier: FREE_TIER, ip }
}

function clientOf(apiKey: string, clients: ApiClients): ApiClient | undefined | typeof NOT_READY {
  if (apiKey.length > MAX_KEY_CHARACTERS) return undefined
  try {
    return clients.find(hashOfKey(apiKey))
  } catch {
    return NOT_READY
  }
}

/**
 * Returns the SHA-256 of a key. Only this hash is stored. Keys are random, so they need neither salt nor a slow hash.
 */
export function hashOfKey(apiKey: string): string {
  return createHash('sha256').update(apiKey).digest('hex')
}
