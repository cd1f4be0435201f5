import { isDecimalUserId } from '../../kit/auth/authorize.ts'
import type { Caller } from '../../kit/auth/verify.ts'
import { ApiError, errors, invalidRequest } from '../../kit/errors.ts'

const ADMIN = 'admin'

/** Maximum length of a subject in a record. Only administrators can have a subject that is not a decimal id. */
const MOST_ACTOR = 200

/** What a caller may do with products. */
export interface Who {
  /** The subject of the token, shortened if necessary. */
  readonly actor: string
  /** The seller whose products the caller may change; null if the caller may change all products. */
  readonly owner: bigint | null
}

export function whoIs({ subject, scopes }: Caller): Who {
  return { actor: subject.slice(0, MOST_ACTOR).toWellFormed(), owner: scopes.has(ADMIN) ? null : ownId(subject) }
}

/**
 * Returns the seller of the product that a request concerns: the caller, or the seller whom an administrator names.
 * @param place path of the seller's id in the request, for errors
 */
export function sellerOf({ subject, scopes }: Caller, named: string | undefined, place: string): bigint {
  const isAdmin = scopes.has(ADMIN)
  if (named === undefined) {
    if (isAdmin && !isDecimalUserId(subject)) throw invalidRequest(place, 'is required, because the subject of the token is not a seller')
    return ownId(subject)
  }
  if (!isDecimalUserId(named)) throw invalidRequest(place, 'must be a positive 64-bit integer in decimal')
  if (!isAdmin && named !== subject) throw new ApiError(errors.forbidden, { message: 'Only administrators may act for another seller.' })
  return BigInt(named)
}

function ownId(subject: string): bigint {
  if (!isDecimalUserId(subject)) throw new ApiError(errors.forbidden, { message: 'The subject of this token is not the id of a seller.' })
  return BigInt(subject)
}

/**
 * Returns whether the request overrides the price guard, that is, whether `force` is set.
 * @throws ApiError `forbidden` if `force` is set, but the caller is not an administrator
 */
export function mayForce({ owner }: Who, force: boolean): boolean {
  if (force && owner !== null) throw new ApiError(errors.forbidden, { message: 'Only administrators may set force to true.' })
  return force
}
