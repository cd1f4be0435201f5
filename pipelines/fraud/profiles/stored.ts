import { CodecError } from '../../../schemas/codec.ts'
import { newPacked, type PackedProfile, packedFormat } from '../../../schemas/fraud/profile/packed.ts'
import type { EntityVerdict } from '../../../schemas/fraud/profile/verdicts.ts'
import { StateCorrupted } from '../../../state/stores/errors.ts'

/** A profile in the store, with the changes that the next commit will fold into it. */
export interface StoredProfile extends PackedProfile {
  /**
   * Byte offsets of the profile's transactions in the buffer of rows for the next commit; undefined if nothing has
   * changed since the last commit.
   */
  rows: number[] | undefined
  /** True if some of the rows belong to transactions that were counted before. */
  hasRepeated: boolean
  verdicts: EntityVerdict[] | undefined
}

function stored(bytes: Buffer, start: number, end: number): StoredProfile {
  return { bytes, start, end, rows: undefined, hasRepeated: false, verdicts: undefined }
}

export function newProfile(): StoredProfile {
  const { bytes, start, end } = newPacked()
  return stored(bytes, start, end)
}

/** The bytes are not checked here. The fold detects damaged bytes; see `readingState`. */
export const storedProfiles = packedFormat(stored)

/**
 * Runs code that reads stored profiles.
 * @throws StateCorrupted if a profile is damaged, so that the state is restored
 */
export function readingState<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (error instanceof CodecError) throw new StateCorrupted('a stored profile cannot be decoded', error)
    throw error
  }
}
