import { NEW_PACKED, type PackedProfile, packedProfiles } from '../../../schemas/fraud/profile/packed.ts'
import type { EntityVerdict } from '../../../schemas/fraud/profile/verdicts.ts'
import type { ValueFormat } from '../../../schemas/topic.ts'

/** A profile in the store. Its changes are folded once per commit. */
export interface StoredProfile {
  packed: PackedProfile
  /** What the next commit folds; undefined if nothing has changed since the last one. */
  changes: ProfileChanges | undefined
}

export interface ProfileChanges {
  /** Positions of transactions in the rows of the commit. */
  readonly rows: number[]
  /** Some of the rows were counted before. */
  hasRepeated: boolean
  readonly verdicts: EntityVerdict[]
}

export function newProfile(): StoredProfile {
  return { packed: NEW_PACKED, changes: undefined }
}

export const storedProfiles: ValueFormat<StoredProfile> = {
  schema: packedProfiles.schema,
  open(schemaId, schemas) {
    const { encode, decode } = packedProfiles.open(schemaId, schemas)
    return {
      encode: ({ packed }, out) => encode(packed, out),
      decode: (buffer, start, end) => ({ packed: decode(buffer, start, end), changes: undefined }),
    }
  },
}
