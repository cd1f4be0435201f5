import { compileDecoder } from '../../schemas/avro/decoder.ts'
import type { AvroSchema } from '../../schemas/topic.ts'
import { SchemaNotFoundError, type SchemaRegistry } from '../registry-interface.ts'

export interface MemoryRegistry extends SchemaRegistry {
  /** While this is true, every request is rejected, as if the registry were unreachable. */
  unreachable: boolean
  /** Number of calls of `schemaById` so far. */
  readonly requests: number
}

/**
 * Creates a schema registry in memory, for tests. Ids start at 1, one per schema. A new schema must be able to read
 * data that was written with the subject's previous schema.
 */
export function memoryRegistry(): MemoryRegistry {
  const texts: string[] = []
  const latest = new Map<string, AvroSchema>()
  let requests = 0

  function answer(): void {
    if (registry.unreachable) throw new Error('the schema registry cannot be reached')
  }

  async function register(subject: string, schemaJsonText: string): Promise<number> {
    answer()
    const schema = JSON.parse(schemaJsonText) as AvroSchema
    const earlier = latest.get(subject)
    if (earlier !== undefined) compileDecoder(earlier, schema)
    latest.set(subject, schema)
    const known = texts.indexOf(schemaJsonText)
    return known >= 0 ? known + 1 : texts.push(schemaJsonText)
  }

  async function schemaById(schemaId: number): Promise<string> {
    requests++
    answer()
    const text = texts[schemaId - 1]
    if (text === undefined) throw new SchemaNotFoundError(schemaId)
    return text
  }

  const registry = {
    unreachable: false,
    get requests() {
      return requests
    },
    register,
    schemaById,
  }
  return registry
}
