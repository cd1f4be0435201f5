import { errors as jose, jwtVerify } from 'jose'
import { ApiError, errors } from '../errors.ts'
import type { KeySet } from './key-set.ts'

/** The caller of a request, as identified by a token or another proof. */
export interface Caller {
  /**
   * The proof of the caller's identity: a token, a client certificate, or the address of a gateway that the operator
   * trusts. Certificates and addresses identify callers only on routes that accept such proofs.
   */
  readonly kind: 'token' | 'certificate' | 'gateway'
  /** The token's `sub`, the name in the certificate, or the address of the gateway. */
  readonly subject: string
  /** Only tokens have scopes. */
  readonly scopes: ReadonlySet<string>
  /**
   * `preferred_username` in NFC, without control characters, at most 128 characters; undefined if the token has none.
   */
  readonly username: string | undefined
}

export interface TokenVerifier {
  /** Verifies a token. Throws ApiError: `unauthorized` for a bad token, `unavailable` if the keys cannot be loaded. */
  verify(token: string): Promise<Caller>
}

export interface TokenVerifierOptions {
  readonly keys: KeySet
  readonly issuer: string
  readonly audience: string
  /** Epoch ms. */
  now(): number
}

/** Accepted algorithms. They are asymmetric, because a party that can verify a token must not be able to sign one. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']
/** Tolerated difference between the clocks of this machine and the issuer. */
const CLOCK_TOLERANCE_SECONDS = 5
/** Maximum length of a token. No legitimate token is longer, so a longer token is rejected before any parsing. */
const MAX_TOKEN_CHARACTERS = 8_192
/**
 * Matches a signed JWT without white space. The decoder would ignore white space, but the token may be stored in a
 * cookie, which must not contain line breaks.
 */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/
/** Maximum time for which a verified token is cached. Verifying a signature costs about 100 µs. */
const KNOWN_TOKEN_MS = 60_000
const MAX_KNOWN_TOKENS = 10_000
const MAX_USERNAME_CHARACTERS = 128
const MS_PER_SECOND = 1_000

interface KnownToken {
  readonly caller: Caller
  readonly until: number
  readonly generation: number
}

export function tokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const known = new Map<string, KnownToken>()

  function remember(token: string, caller: Caller, expiresAt: number, generation: number): void {
    known.set(token, { caller, until: Math.min(expiresAt, options.now() + KNOWN_TOKEN_MS, options.keys.expiresAt), generation })
    if (known.size > MAX_KNOWN_TOKENS) known.delete(known.keys().next().value!)
  }

  return {
    async verify(token) {
      const found = known.get(token)
      if (found !== undefined && found.until > options.now() && found.generation === options.keys.generation) return found.caller
      known.delete(token)
      if (token.length > MAX_TOKEN_CHARACTERS) throw badToken('the token is too long')
      if (!JWT.test(token)) throw badToken('it is malformed')
      // The generation is read before the verification, because the key set may be replaced in the meantime. In that
      // case, the decision counts as made with the older keys.
      const { generation } = options.keys
      try {
        const { payload } = await jwtVerify(token, (header, jws) => options.keys.keyFor(header, jws), {
          issuer: options.issuer,
          audience: options.audience,
          algorithms: ALGORITHMS,
          currentDate: new Date(options.now()),
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          requiredClaims: ['sub', 'exp'],
        })
        const caller: Caller = {
          kind: 'token',
          subject: subjectFrom(payload.sub),
          scopes: new Set(typeof payload.scope === 'string' ? payload.scope.split(' ').filter((scope) => scope !== '') : []),
          username: usernameFrom(payload.preferred_username),
        }
        remember(token, caller, payload.exp! * MS_PER_SECOND, generation)
        return caller
      } catch (error) {
        if (error instanceof ApiError) throw error
        throw badToken(reasonOf(error), error)
      }
    },
  }
}

/**
 * Reads the subject. RFC 7519 requires a string, but some issuers write numeric ids as numbers. Numbers from 2^53 are
 * refused, because decoding the token may have rounded them to the id of another user.
 */
function subjectFrom(claim: unknown): string {
  if (typeof claim === 'string') return claim
  if (Number.isSafeInteger(claim)) return String(claim)
  throw badToken('its claim sub is neither a string nor an integer below 2^53')
}

/** Reads a user name. Names are stored and displayed, so only plain text of bounded length is kept. */
function usernameFrom(claim: unknown): string | undefined {
  if (typeof claim !== 'string') return undefined
  const plain = claim
    .toWellFormed()
    .normalize('NFC')
    .replaceAll(/\p{Cc}/gu, '')
    .trim()
  return [...plain].slice(0, MAX_USERNAME_CHARACTERS).join('') || undefined
}

/** Creates a 401 error with the challenge that RFC 6750 defines. */
export function badToken(reason: string, cause?: unknown): ApiError {
  return new ApiError(errors.unauthorized, {
    message: `The bearer token is not valid: ${reason}.`,
    headers: { 'WWW-Authenticate': `Bearer realm="millrace", error="invalid_token", error_description="${reason}"` },
    cause,
  })
}

/**
 * Returns a reason that helps the owner of the token but not a forger. The reason contains no quotes, because the
 * WWW-Authenticate header quotes it.
 */
function reasonOf(error: unknown): string {
  if (error instanceof jose.JWTExpired) return 'it has expired'
  if (error instanceof jose.JWTClaimValidationFailed) return `its claim ${error.claim} is missing or not accepted here`
  if (error instanceof jose.JOSEAlgNotAllowed) return 'its algorithm is not accepted'
  if (error instanceof jose.JWKSNoMatchingKey) return 'its key is not known here'
  if (error instanceof jose.JWKSMultipleMatchingKeys) return 'its header does not say which of several keys signed it'
  if (error instanceof jose.JWSSignatureVerificationFailed) return 'its signature does not match'
  return 'it is malformed'
}
