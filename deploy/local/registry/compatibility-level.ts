import { parseSchemaText } from '../../../schemas/avro/parse.ts'
import type { AvroType } from '../../../schemas/avro/types.ts'
import { incompatibilities } from './compatibility.ts'
import { incompatibleMessages } from './errors.ts'
import type { CompatibilityLevel } from './records.ts'
import type { KnownSchema } from './state.ts'

/**
 * Returns the reasons why the schema is not compatible with the given versions; empty when it is, or when the level is
 * NONE. Compares with the last version, or with all versions if the level is transitive. BACKWARD: the new schema can
 * read data of the old schemas. FORWARD: the old schemas can read data of the new schema. FULL: both.
 */
export function compatibilityMessages(
  subject: string,
  next: AvroType,
  versions: readonly KnownSchema[],
  level: CompatibilityLevel,
): string[] {
  if (level === 'NONE') return []
  const [direction, transitive] = level.split('_')
  const compared = transitive ? versions : versions.slice(-1)
  return compared.flatMap((stored) => {
    const earlier = parseSchemaText(stored.schema)
    const name = `${subject} version ${stored.version}`
    const backward = direction === 'FORWARD' ? [] : incompatibleMessages(incompatibilities(next, earlier), 'the new schema', name)
    const forward = direction === 'BACKWARD' ? [] : incompatibleMessages(incompatibilities(earlier, next), name, 'the new schema')
    return [...backward, ...forward]
  })
}
