import { ApiError, errors } from '../errors.ts'
import type { AuthRule } from '../route.ts'
import { badToken, type Caller, type TokenVerifier } from './verify.ts'

/** Returns whether a token's subject has the form of the service's user ids. */
export type UserIdForm = (subject: string) => boolean

const MAX_INT64 = 2n ** 63n - 1n

/** Accepts a positive 64-bit integer in its shortest decimal form: docs/services/README.md#user-ids */
export function isDecimalUserId(subject: string): boolean {
  return /^[1-9]\d{0,18}$/.test(subject) && BigInt(subject) <= MAX_INT64
}

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i

/**
 * Checks the Authorization header against a route's rule.
 * @returns undefined for an anonymous caller
 */
export async function authorize(
  rule: AuthRule,
  authorization: string | null,
  verifier: TokenVerifier,
  isUserId: UserIdForm,
): Promise<Caller | undefined> {
  if (rule.kind === 'open') return undefined
  if (authorization === null) {
    if (rule.kind === 'optional') return undefined
    throw new ApiError(errors.unauthorized, { headers: { 'WWW-Authenticate': 'Bearer realm="millrace"' } })
  }
  const token = BEARER.exec(authorization)?.[1]
  if (token === undefined) throw badToken('the Authorization header contains no bearer token')
  const caller = await verifier.verify(token)
  if (rule.kind === 'scope') assertScope(caller, rule.scope)
  else if (!isUserId(caller.subject) && !mayBeAnybody(rule, caller)) {
    throw new ApiError(errors.forbidden, { message: 'The subject of this token is not a user id of this service.' })
  }
  return caller
}

function mayBeAnybody(rule: AuthRule, { scopes }: Caller): boolean {
  return rule.kind === 'optional' && rule.anySubjectOf !== undefined && scopes.has(rule.anySubjectOf)
}

function assertScope(caller: Caller, scope: string): void {
  if (caller.scopes.has(scope)) return
  throw new ApiError(errors.forbidden, {
    message: `This request needs a token with the scope ${scope}.`,
    headers: { 'WWW-Authenticate': `Bearer realm="millrace", error="insufficient_scope", scope="${scope}"` },
  })
}
