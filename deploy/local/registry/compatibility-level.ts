import { parseSchemaText } from '../../../schemas/avro/parse.ts'
import type { AvroType } from '../../../schemas/avro/types.ts'
import { incompatibilities } from './compatibility.ts'
import { incompatibleMessages } from './errors.ts'
import type { CompatibilityLevel } from './records.ts'
import type { KnownSchema } from './state.ts'

/**
 * Why the schema may not follow the given versions; empty: it may. Compares with the last one, or with all where the level is transitive.
 * BACKWARD: the new schema reads what was written with the old ones. FORWARD: the old ones read what is written with the new one.
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
