import { createHash } from 'node:crypto'
import type { Caller } from '../auth/verify.ts'
import { ApiError, errors } from '../errors.ts'

/**
 * Remembers which request each command id belongs to. Bindings may get lost. In that case, the topology that decides
 * the command still detects a conflict, provided that the repetition goes to the same partition. The record key of a
 * command must therefore be derived from only the request and the id.
 */
export interface Bindings {
  /**
   * Binds an id to a value, such as the hash of its request. Throws ApiError `unavailable`.
   * @returns the value that the id was already bound to; undefined if it was not bound
   */
  bind(commandId: string, value: string): Promise<string | undefined>
  /** Returns the value that an id is bound to; undefined if it is not bound. Throws ApiError `unavailable`. */
  boundTo(commandId: string): Promise<string | undefined>
  /** Removes the binding of an id. Throws ApiError `unavailable`. */
  release(commandId: string): Promise<void>
}

/** The Redis commands that bindings use. */
export interface BindingsRedis {
  /** Returns null if the key has no value. */
  get(key: string): Promise<string | null>
  /**
   * Sets a value if the key has no value yet.
   * @returns the previous value; null if this call has set the value
   */
  setIfAbsent(key: string, value: string, seconds: number): Promise<string | null>
  delete(key: string): Promise<unknown>
}

/** How long a binding is kept. The deciding partition remembers a command for the same time. */
const BOUND_SECONDS = 24 * 3_600
/** Length of a hash in base64url. Its 132 bits rule out accidental collisions. */
const HASH_CHARACTERS = 22

export function redisBindings(redis: BindingsRedis): Bindings {
  const keyOf = (commandId: string) => `idempotency:${commandId}`
  return {
    async bind(commandId, requestHash) {
      return (await redis.setIfAbsent(keyOf(commandId), requestHash, BOUND_SECONDS)) ?? undefined
    },
    async boundTo(commandId) {
      return (await redis.get(keyOf(commandId))) ?? undefined
    },
    async release(commandId) {
      await redis.delete(keyOf(commandId))
    },
  }
}

/**
 * Returns the id of a command. Ids are scoped to the caller, so equal keys of two callers give different ids.
 * @param address identifies an anonymous caller: its address, or the `keyScope` of the request
 */
export function commandIdOf(caller: Caller | undefined, address: string, key: string): string {
  return hashOf([namespaceOf(caller), caller?.subject ?? address, key])
}

/**
 * Returns the kind of caller. It is part of a command's id, because a user may have the same name as a certificate and
 * must not get the answers to the certificate's requests.
 */
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

/**
 * Runs `work` and returns its result. If `work` fails with a 503 error, adds the field `command_id` to the error. The
 * caller can retry the request with this id as Idempotency-Key. Errors with `needsNewKey` do not get the field.
 */
export async function answering<T>(shownId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isUnavailable(error) || error.options.needsNewKey === true) throw error
    const { message, definition, options } = error
    throw new ApiError(definition, { ...options, message, cause: error.cause, fields: { ...options.fields, command_id: shownId } })
  }
}
