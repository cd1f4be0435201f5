import { type AddressRanges, isFrom } from '../client-address.ts'
import { ApiError, errors } from '../errors.ts'
import type { AuthRule } from '../route.ts'
import type { ShownSession } from '../session/shown.ts'
import { badToken, type Caller, type TokenVerifier } from './verify.ts'

/** Returns whether a token's subject is a valid user id of the service. */
export type UserIdForm = (subject: string) => boolean

/** What a client certificate proves. */
export type ShownCertificate =
  | { readonly caller: Caller }
  /**
   * The certificate is not accepted. `refused` is the reason, worded as a clause. If `mayReconnect` is true, a new
   * connection may help.
   */
  | { readonly refused: string; readonly mayReconnect?: boolean }

/** The proofs of identity that a request contains. */
export interface Credentials {
  /** The Authorization header. */
  readonly authorization: string | null
  /** The session of the page that made the request. An Authorization header takes precedence over the session. */
  readonly session?: ShownSession
  /** Returns what the client certificate proves; undefined if the connection has no client certificate. */
  certificate(): ShownCertificate | undefined
  /** The address of the socket's peer. */
  readonly remote: string | undefined
}

/** What credentials are checked against. */
export interface Authority {
  readonly verifier: TokenVerifier
  readonly isUserId: UserIdForm
  /** Addresses that the route accepts without any other proof. */
  readonly gateways?: AddressRanges
}

type ScopeRule = Extract<AuthRule, { kind: 'scope' }>

const MAX_INT64 = 2n ** 63n - 1n
const NO_SCOPES: ReadonlySet<string> = new Set()

/** Accepts a positive integer below 2^63 in its shortest decimal form: docs/services/README.md#user-ids */
export function isDecimalUserId(subject: string): boolean {
  return /^[1-9]\d{0,18}$/.test(subject) && BigInt(subject) <= MAX_INT64
}

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i

/**
 * Checks a request's credentials against a route's rule. Unless the route is open, a bad token is refused even if
 * another proof would be enough, because the sender of a token expects to be identified by the token.
 * @returns undefined for an anonymous caller, and always if the route is open
 */
export async function authorize(rule: AuthRule, shown: Credentials, authority: Authority): Promise<Caller | undefined> {
  if (rule.kind === 'open') return undefined
  const byToken = await tokenCaller(shown, authority.verifier)
  if (rule.kind === 'scope') return scopeCaller(rule, byToken, shown, authority)
  if (byToken === undefined) {
    if (rule.kind === 'optional') return undefined
    throw unauthorized()
  }
  if (!authority.isUserId(byToken.subject) && !mayBeAnybody(rule, byToken)) {
    throw new ApiError(errors.forbidden, { message: 'The subject of this token is not a user id of this service.' })
  }
  return byToken
}

/** Returns whether a rule admits callers without any proof of identity. */
export function mayBeAnonymous({ kind }: AuthRule): boolean {
  return kind === 'optional' || kind === 'open'
}

/** Returns the scopes that a rule accepts. A token needs one of them. */
export function scopesOf({ scope }: ScopeRule): readonly string[] {
  return typeof scope === 'string' ? [scope] : scope
}

async function tokenCaller({ authorization, session }: Credentials, verifier: TokenVerifier): Promise<Caller | undefined> {
  if (authorization === null) return session === undefined ? undefined : await sessionCaller(session, verifier)
  const token = BEARER.exec(authorization)?.[1]
  if (token === undefined) throw badToken('the Authorization header contains no bearer token')
  return await verifier.verify(token)
}

/**
 * Returns the caller of a session. If the session's token is no longer valid, throws an error that also ends the
 * session, so that the browser is anonymous from then on. Throws the session's `refusal` if the cookie does not permit
 * this request.
 */
async function sessionCaller({ token, refusal, clear }: ShownSession, verifier: TokenVerifier): Promise<Caller> {
  const caller = await verifier.verify(token).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.definition !== errors.unauthorized) throw error
    throw unauthorized('The session has ended or is not valid. Sign in again.', { 'Set-Cookie': clear })
  })
  if (refusal !== undefined) throw refusal
  return caller
}

/**
 * Accepts a caller with any one of these proofs: a token with one of the scopes, a client certificate (if the rule
 * allows it), or the address of a gateway. Such a certificate or address is enough even if the request also has a token
 * without the scope.
 */
function scopeCaller(rule: ScopeRule, byToken: Caller | undefined, shown: Credentials, { gateways }: Authority): Caller {
  const scopes = scopesOf(rule)
  if (byToken !== undefined && scopes.some((scope) => byToken.scopes.has(scope))) return byToken
  const certificate = rule.orCertificate === true ? shown.certificate() : undefined
  if (certificate !== undefined && 'caller' in certificate) return certificate.caller
  if (gateways !== undefined && isFrom(shown.remote, gateways)) {
    return { kind: 'gateway', subject: shown.remote!, scopes: NO_SCOPES, username: undefined }
  }
  if (byToken !== undefined) throw missingScope(scopes)
  throw rule.orCertificate === true ? withoutCertificate(certificate) : unauthorized()
}

function withoutCertificate(refusal: Extract<ShownCertificate, { refused: string }> | undefined): ApiError {
  const message = 'A valid bearer token or client certificate is required.'
  if (refusal === undefined) return unauthorized(message)
  const headers: Record<string, string> = refusal.mayReconnect === true ? { Connection: 'close' } : {}
  return unauthorized(`${message} The client certificate is not accepted: ${refusal.refused}.`, headers)
}

function mayBeAnybody(rule: AuthRule, { scopes }: Caller): boolean {
  if (rule.kind === 'optional' && rule.anySubject === true) return true
  return (rule.kind === 'optional' || rule.kind === 'user') && rule.anySubjectOf !== undefined && scopes.has(rule.anySubjectOf)
}

/** Creates a 401 error with a WWW-Authenticate header, as RFC 9110 requires. */
export function unauthorized(message?: string, headers: Record<string, string> = {}): ApiError {
  return new ApiError(errors.unauthorized, { message, headers: { 'WWW-Authenticate': 'Bearer realm="millrace"', ...headers } })
}

function missingScope(scopes: readonly string[]): ApiError {
  const needed = scopes.length === 1 ? `the scope ${scopes[0]}` : `one of the scopes ${scopes.join(', ')}`
  return new ApiError(errors.forbidden, {
    message: `This request needs a token with ${needed}.`,
    headers: { 'WWW-Authenticate': `Bearer realm="millrace", error="insufficient_scope", scope="${scopes.join(' ')}"` },
  })
}
