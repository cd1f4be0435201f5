import { createHash } from 'node:crypto'
import type { Caller } from '../auth/verify.ts'
import { ApiError, errors } from '../errors.ts'

/**
 * Remembers which request an id belongs to. Bindings may get lost. The topology that decides the command also detects a
 * conflict, provided that the repetition goes to the same partition. A command's key must therefore follow from the
 * request and the id alone.
 */
export interface Bindings {
  /**
   * @returns the hash of the request that the id was bound to before, or undefined. Throws ApiError `unavailable`.
   */
  bind(commandId: string, requestHash: string): Promise<string | undefined>
}

/** Redis' SET with NX and GET. */
export interface SetIfAbsent {
  /** @returns the value that was there before; null if this call set it */
  setIfAbsent(key: string, value: string, seconds: number): Promise<string | null>
}

/** How long a binding is kept, which equals the time for which the deciding partition remembers a command. */
const BOUND_SECONDS = 24 * 3_600
/** Length of a hash in base64url. Its 132 bits rule out accidental collisions. */
const HASH_CHARACTERS = 22

export function redisBindings(redis: SetIfAbsent): Bindings {
  return {
    async bind(commandId, requestHash) {
      return (await redis.setIfAbsent(`idempotency:${commandId}`, requestHash, BOUND_SECONDS)) ?? undefined
    },
  }
}

/**
 * Ids are scoped to the caller, so equal keys of two callers give different ids. The address identifies anonymous
 * callers.
 */
export function commandIdOf(caller: Caller | undefined, address: string, key: string): string {
  return hashOf([namespaceOf(caller), caller?.subject ?? address, key])
}

/** A certificate may have the name of a user, who must not get the certificate's answers. */
function namespaceOf(caller: Caller | undefined): string {
  if (caller === undefined) return 'address'
  return caller.kind === 'token' ? 'user' : caller.kind
}

export function hashOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, HASH_CHARACTERS)
}

export function idempotencyConflict(): ApiError {
  return new ApiError(errors.idempotency_conflict)
}

export function isUnavailable(error: unknown): error is ApiError {
  return error instanceof ApiError && error.definition.status === errors.unavailable.status
}

/** Adds the id for repeating the request to an `unavailable` error. */
export async function answering<T>(shownId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isUnavailable(error)) throw error
    const { message, definition, options } = error
    throw new ApiError(definition, { ...options, message, cause: error.cause, fields: { ...options.fields, command_id: shownId } })
  }
}
