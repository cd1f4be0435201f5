import { isDecimalUserId } from '../kit/auth/authorize.ts'
import type { Caller } from '../kit/auth/verify.ts'
import { ApiError, errors, invalidRequest } from '../kit/errors.ts'

/**
 * Returns the user that a request is about: the user that the request names, or else the subject of the token. Throws
 * ApiError `forbidden` if the caller may not name this user, and `invalid_request` if the request names no user and the
 * subject is not a user id.
 * @param place the path of the field that names the user, for the error
 */
export function userOf(caller: Caller, named: bigint | undefined, place: string): bigint {
  const isService = caller.scopes.has('internal')
  const own = isDecimalUserId(caller.subject) ? BigInt(caller.subject) : undefined
  const userId = named ?? own
  if (userId === undefined) throw invalidRequest(place, 'is missing; a service must name the user')
  if (userId !== own && !isService)
    throw new ApiError(errors.forbidden, {
      message: 'The request names a user other than the subject of the token. Only services may do this.',
    })
  return userId
}
