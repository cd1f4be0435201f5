import { createHash } from 'node:crypto'
import type { Caller } from '../auth/verify.ts'
import { ApiError, errors } from '../errors.ts'

/**
 * Which request an id belongs to. They may get lost: the deciding partition remembers it, too, as long as a repetition goes there. What a
 * command is about must therefore follow from the request and the id alone.
 */
export interface Bindings {
  /** @returns the hash of the request that had the id before, undefined: this one has it now. Throws ApiError `unavailable`. */
  bind(commandId: string, requestHash: string): Promise<string | undefined>
}

/** Redis' SET with NX and GET. */
export interface SetIfAbsent {
  /** @returns the value that was there before; null: this one was set */
  setIfAbsent(key: string, value: string, seconds: number): Promise<string | null>
}

/** As long as the deciding partition remembers a command. */
const BOUND_SECONDS = 24 * 3_600
/** 128 bits: no two by chance. */
const HASH_CHARACTERS = 22

export function redisBindings(redis: SetIfAbsent): Bindings {
  return {
    async bind(commandId, requestHash) {
      return (await redis.setIfAbsent(`idempotency:${commandId}`, requestHash, BOUND_SECONDS)) ?? undefined
    },
  }
}

/** Ids are a caller's own: a stranger's key is another id. Anonymous callers are told apart by address. */
export function commandIdOf(caller: Caller | undefined, address: string, key: string): string {
  return hashOf([caller === undefined ? 'address' : 'user', caller?.subject ?? address, key])
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

/** Whoever is sent away is told the id to come back with. */
export async function answering<T>(shownId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isUnavailable(error)) throw error
    const { message, definition, options } = error
    throw new ApiError(definition, { ...options, message, cause: error.cause, fields: { ...options.fields, command_id: shownId } })
  }
}
