import {
  type CryptoKey,
  createLocalJWKSet,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  errors as jose,
} from 'jose'
import { ApiError, errors } from '../errors.ts'

/** Finds the key that a token was signed with. */
export interface KeySet {
  /** Throws jose's JWKSNoMatchingKey when there is none. */
  keyFor(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey>
  /** Grows with every new set of keys: what was decided with an older one is decided again. */
  readonly generation: number
}

export interface KeySetOptions {
  load(): Promise<JSONWebKeySet>
  /** Epoch ms. */
  now(): number
  /** An unknown key id loads the set again, but no sooner than this after the last try: forged ids must not become a flood. */
  readonly cooldownMs?: number
  /** A key that was taken out of the set stops being believed after this. */
  readonly maxAgeMs?: number
}

const COOLDOWN_MS = 10_000
const MAX_AGE_MS = 600_000

/** A JWKS that is loaded when first needed, again for an unknown key id (rotation), and again when it is old. */
export function keySet(options: KeySetOptions): KeySet {
  const cooldownMs = options.cooldownMs ?? COOLDOWN_MS
  const maxAgeMs = options.maxAgeMs ?? MAX_AGE_MS
  let find: ReturnType<typeof createLocalJWKSet> | undefined
  let generation = 0
  let loadedAt = Number.NEGATIVE_INFINITY
  let triedAt = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined

  async function load(): Promise<void> {
    triedAt = options.now()
    find = createLocalJWKSet(await options.load())
    loadedAt = options.now()
    generation++
  }

  /** One load at a time; everybody who needs it waits for the same one. */
  function reload(): Promise<void> {
    loading ??= load().finally(() => {
      loading = undefined
    })
    return loading
  }

  function coolingDown(): boolean {
    return loading === undefined && options.now() - triedAt < cooldownMs
  }

  async function firstLoad(): Promise<void> {
    if (coolingDown()) throw new ApiError(errors.unavailable, { message: 'The keys that tokens are checked with cannot be read.' })
    try {
      await reload()
    } catch (cause) {
      throw new ApiError(errors.unavailable, { message: 'The keys that tokens are checked with cannot be read.', cause })
    }
  }

  return {
    async keyFor(header, token) {
      if (find === undefined) await firstLoad()
      // An old set is still good for what it knows; a failed refresh is tried again after the cooldown.
      else if (options.now() - loadedAt > maxAgeMs && !coolingDown()) await reload().catch(() => undefined)
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
  }
}
