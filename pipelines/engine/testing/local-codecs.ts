import type { AnyValueTopic } from '../../../kafka/serdes.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { AvroSchema, ValueFormat } from '../../../schemas/topic.ts'

/**
 * Creates codecs that share a set of local schema ids, so that a topic may contain records of several schema versions.
 */
export function localCodecs(): (topic: AnyValueTopic) => Codec<unknown> {
  const schemas = new Map<number, AvroSchema>()
  const lookup = { get: (schemaId: number) => schemas.get(schemaId) }
  const byFormat = new WeakMap<ValueFormat<unknown>, Codec<unknown>>()
  /**
   * The codecs by schema. The key is the schema and not the format, because stores create a new format with the same
   * schema for every task.
   */
  const bySchema = new Map<string, Codec<unknown>>()

  function open(name: string, value: ValueFormat<unknown>): Codec<unknown> {
    if (value.schema === undefined) return value.open(0, lookup)
    const subject = `${name} ${JSON.stringify(value.schema)}`
    const known = bySchema.get(subject)
    if (known !== undefined) return known
    const id = schemas.size + 1
    schemas.set(id, value.schema)
    const codec = value.open(id, lookup)
    bySchema.set(subject, codec)
    return codec
  }

  return ({ name, value }) => {
    const codec = byFormat.get(value) ?? open(name, value)
    byFormat.set(value, codec)
    return codec
  }
}
