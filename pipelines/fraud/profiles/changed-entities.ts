import { cursor } from '../../../schemas/avro/cursor.ts'
import { readString } from '../../../schemas/avro/read.ts'
import { CodecError } from '../../../schemas/codec.ts'
import { ENTITY_KINDS } from '../../../schemas/fraud/entity.ts'
import { kindsAt, ROW_BYTES } from '../../../schemas/fraud/profile/rows.ts'
import type { FraudChangedEntities } from '../../../schemas/fraud/types.ts'
import type { ValueFormat } from '../../../schemas/topic.ts'
import { avro } from '../../engine/index.ts'

/**
 * A record of changed entities. The keys of the entities are decoded, because the fold needs each key more than once.
 */
export interface ChangedEntities extends FraudChangedEntities {
  /**
   * The keys of the entities that belong to this partition, row by row. The keys of a row are in the order of their
   * kinds. Derived from the record.
   */
  readonly keys: readonly string[]
  /** The user's key for each row. Derived from the record. */
  readonly users: readonly string[]
}

const USER = 1
const format = avro('fraud/FraudChangedEntities')

export const changedEntities: ValueFormat<ChangedEntities> = {
  schema: format.schema,
  open(schemaId, schemas) {
    const { encode, decode } = format.open(schemaId, schemas)
    return {
      encode,
      decode(buffer, start, end) {
        const { rows, entities, judged } = decode(buffer, start, end)
        const keys: string[] = []
        const users: string[] = []
        cursor.at = 0
        const key = () => {
          const text = readString(entities, cursor.at, entities.length)
          if (cursor.at < 0) throw new CodecError(`a key of an entity cannot be decoded: ${cursor.why}`)
          return text
        }
        for (let at = 0; at < rows.length; at += ROW_BYTES) {
          const kinds = kindsAt(rows, at)
          const user = key()
          users.push(user)
          if ((kinds & USER) !== 0) keys.push(user)
          for (let kind = 1; kind < ENTITY_KINDS.length; kind++) if ((kinds & (1 << kind)) !== 0) keys.push(key())
        }
        return { rows, entities, judged, keys, users }
      },
    }
  },
}
