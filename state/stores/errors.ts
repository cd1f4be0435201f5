import { type Codec, CodecError, UnknownSchemaError } from '../../schemas/codec.ts'

/** Thrown when another process has the state folder open. */
export class StateLocked extends Error {
  override readonly name = 'StateLocked'
  constructor(folder: string, cause: unknown) {
    super(`the state folder ${folder} is in use by another process: stop that process, or configure another folder for this one`, { cause })
  }
}

/**
 * Thrown when the state on disk is damaged or cannot be decoded. To recover, delete the database, which is then
 * restored from the changelogs. `withReplaceableState` does this.
 */
export class StateCorrupted extends Error {
  override readonly name = 'StateCorrupted'
  constructor(what: string, cause?: unknown) {
    super(`${what}; the database will be deleted and restored from the changelog topics`, { cause })
  }
}

/**
 * Thrown when the state could not be read or written, for example because the disk is full. Everything written earlier
 * is intact. After the cause is fixed, a restart continues from the last write.
 */
export class StateUnavailable extends Error {
  override readonly name = 'StateUnavailable'
  constructor(what: string, cause: unknown) {
    super(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/**
 * Returns the first StateCorrupted among an error and its causes; undefined if there is none. The causes are searched
 * because the engine wraps an error in another that names the failed processor.
 */
export function corruptionIn(error: unknown): StateCorrupted | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof StateCorrupted) return cause
  return undefined
}

/** Returns true if the state itself could not be used; false for mistakes in the code that uses the state. */
export function isStateFailure(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof StateCorrupted || cause instanceof StateUnavailable || cause instanceof UnknownSchemaError) return true
  return false
}

/**
 * Decodes a value that this store has written.
 * @throws StateCorrupted when the value cannot be decoded, and UnknownSchemaError when its schema is not loaded
 */
export function decodeStored<V>(codec: Pick<Codec<V>, 'decode'>, bytes: Buffer, store: string, start = 0, end = bytes.length): V {
  try {
    return codec.decode(bytes, start, end)
  } catch (error) {
    if (error instanceof CodecError) throw new StateCorrupted(`a value of store ${store} cannot be decoded`, error)
    throw error
  }
}
