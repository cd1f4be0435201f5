import { isDecimalUserId } from '../kit/auth/authorize.ts'
import type { Caller } from '../kit/auth/verify.ts'
import { ApiError, errors, invalidRequest } from '../kit/errors.ts'

/**
 * Returns the user that a request is about: the subject of the token, or the user that a service names. Throws ApiError
 * `forbidden` if the caller may not name this user, and `invalid_request` if a service names no user.
 */
export function userOf(caller: Caller, named: bigint | undefined, place: string): bigint {
  const isService = caller.scopes.has('internal')
  const own = isDecimalUserId(caller.subject) ? BigInt(caller.subject) : undefined
  const userId = named ?? own
  if (userId === undefined) throw invalidRequest(place, 'is missing; a service must name the user')
  if (userId !== own && !isService) throw new ApiError(errors.forbidden, { message: 'The token belongs to another user.' })
  return userId
}
