import { type Codec, CodecError } from '../../schemas/codec.ts'

/** Another process has the state folder open. */
export class StateLocked extends Error {
  override readonly name = 'StateLocked'
  constructor(folder: string, cause: unknown) {
    super(`the state folder ${folder} is in use by another process: stop that worker, or give this one a folder of its own`, { cause })
  }
}

/** The state on disk cannot be read as it was written. Cure: delete the database (`withReplaceableState` does); it is restored from the changelogs. */
export class StateCorrupted extends Error {
  override readonly name = 'StateCorrupted'
  constructor(what: string, cause?: unknown) {
    super(`${what}: it is deleted and restored from the changelog topics`, { cause })
  }
}

/** The state could not be read or written (disk full, I/O error). What was written before is there: once the cause is cured, a restart continues. */
export class StateUnavailable extends Error {
  override readonly name = 'StateUnavailable'
  constructor(what: string, cause: unknown) {
    super(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/** Decodes a value that was written by this store. @throws StateCorrupted */
export function decodeStored<V>(codec: Codec<V>, bytes: Buffer, store: string): V {
  try {
    return codec.decode(bytes, 0, bytes.length)
  } catch (error) {
    if (error instanceof CodecError) throw new StateCorrupted(`a value of store ${store} cannot be decoded`, error)
    throw error
  }
}
