import { compileDecoder } from '../../schemas/avro/decoder.ts'
import type { AvroSchema } from '../../schemas/topic.ts'
import { SchemaNotFoundError, type SchemaRegistry } from '../registry-interface.ts'

export interface MemoryRegistry extends SchemaRegistry {
  /** While true every request is rejected, as if the registry could not be reached. */
  unreachable: boolean
  /** Requests for schemas by id so far. */
  readonly requests: number
}

/** A schema registry inside the process, for tests: ids from 1, one per schema, new schemas must read what the subject's last one wrote. */
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
