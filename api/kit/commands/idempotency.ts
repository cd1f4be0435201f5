import { createHash } from 'node:crypto'
import type { Caller } from '../auth/verify.ts'
import { ApiError, errors } from '../errors.ts'

/** What is kept about an id: which request it belongs to, and what that was decided to be about. */
export interface Binding {
  readonly requestHash: string
  /** Empty: the request itself says it. */
  readonly key: string
}

export interface Bindings {
  /** @returns the binding that was there before, undefined: this one is kept now. Throws ApiError `unavailable`. */
  bind(commandId: string, binding: Binding): Promise<Binding | undefined>
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
    async bind(commandId, { requestHash, key }) {
      const before = await redis.setIfAbsent(`idempotency:${commandId}`, `${requestHash} ${key}`, BOUND_SECONDS)
      if (before === null) return undefined
      const space = before.indexOf(' ')
      return { requestHash: before.slice(0, space), key: before.slice(space + 1) }
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
