import {
  type CryptoKey,
  createLocalJWKSet,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  errors as jose,
} from 'jose'
import { isWithin } from '../age.ts'
import { ApiError, errors } from '../errors.ts'

/** Finds the key that verifies a token's signature. */
export interface KeySet {
  /**
   * Throws a jose error if no key or more than one key matches. Throws ApiError `unavailable` if no valid keys are
   * loaded and they cannot be loaded now.
   */
  keyFor(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey>
  /**
   * Increases with every loaded key set, so that callers can discard decisions that they made with an older key set.
   */
  readonly generation: number
  /**
   * When the loaded keys expire, in epoch ms; -Infinity before the first load. Each successful load extends this time.
   */
  readonly expiresAt: number
}

export interface KeySetOptions {
  load(): Promise<JSONWebKeySet>
  /** Epoch ms. */
  now(): number
  /**
   * Minimum time between two attempts to load the key set. Without this pause, tokens with forged key ids would make
   * the API flood the identity provider with requests.
   */
  readonly cooldownMs?: number
  /** Age at which the key set is reloaded, so that tokens signed with a removed key are rejected. */
  readonly maxAgeMs?: number
  /**
   * Age at which keys are no longer used, even if no newer keys can be loaded. Without this limit, a withdrawn key
   * would stay valid while the identity provider is unreachable. An attacker who has stolen the key might be able to
   * keep the provider unreachable.
   */
  readonly expiryMs?: number
  /** Called after every failed load. `ageMs` is the age of the loaded keys; undefined if none have been loaded. */
  onFailure?(error: Error, ageMs: number | undefined): void
}

const COOLDOWN_MS = 10_000
const MAX_AGE_MS = 600_000
/** How long loaded keys stay valid. An hour is long enough to repair an identity provider. */
const EXPIRY_MS = 3_600_000

/**
 * Creates a key set from a JWKS. The JWKS is loaded on first use, when a token has an unknown key id (key rotation),
 * and when the loaded keys are too old.
 */
export function keySet(options: KeySetOptions): KeySet {
  const cooldownMs = options.cooldownMs ?? COOLDOWN_MS
  const maxAgeMs = options.maxAgeMs ?? MAX_AGE_MS
  const expiryMs = options.expiryMs ?? EXPIRY_MS
  let find: ReturnType<typeof createLocalJWKSet> | undefined
  let generation = 0
  let loadedAt = Number.NEGATIVE_INFINITY
  let triedAt = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined
  /** Whether the last completed attempt to load the key set has failed. */
  let hasFailed = false

  async function load(): Promise<void> {
    triedAt = options.now()
    try {
      find = createLocalJWKSet(await options.load())
    } catch (error) {
      hasFailed = true
      options.onFailure?.(error as Error, find === undefined ? undefined : options.now() - loadedAt)
      throw error
    }
    hasFailed = false
    loadedAt = options.now()
    generation++
  }

  /** Loads the key set. Concurrent callers share one load. */
  function reload(): Promise<void> {
    loading ??= load().finally(() => {
      loading = undefined
    })
    return loading
  }

  function coolingDown(): boolean {
    return loading === undefined && isWithin(triedAt, cooldownMs, options.now())
  }

  /**
   * Loads the key set for a verification that cannot continue without it. Throws ApiError `unavailable` if loading
   * fails, or if the cooldown after the last attempt has not ended.
   */
  async function requiredLoad(): Promise<void> {
    if (coolingDown())
      throw new ApiError(errors.unavailable, { message: 'The keys that verify tokens cannot be loaded. Try again shortly.' })
    try {
      await reload()
    } catch (cause) {
      throw new ApiError(errors.unavailable, { message: 'The keys that verify tokens cannot be loaded. Try again shortly.', cause })
    }
  }

  return {
    async keyFor(header, token) {
      if (find === undefined || !isWithin(loadedAt, expiryMs, options.now())) await requiredLoad()
      // If the reload fails, the old set stays in use until it expires. The next reload follows after the cooldown.
      // Callers do not wait for it, because a provider that does not answer would delay them again and again.
      else if (options.now() - loadedAt > maxAgeMs && !coolingDown()) {
        const mayHang = hasFailed
        const reloaded = reload().catch(() => undefined)
        if (!mayHang) await reloaded
      }
      try {
        return await find!(header, token)
      } catch (error) {
        if (!(error instanceof jose.JWKSNoMatchingKey) || coolingDown()) throw error
        await reload().catch(() => undefined)
        return await find!(header, token)
      }
    },
    get generation() {
      return generation
    },
    get expiresAt() {
      return loadedAt + expiryMs
    },
  }
}
