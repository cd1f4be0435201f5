import type { AnyValueTopic } from '../../../kafka/serdes.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { AvroSchema, ValueFormat } from '../../../schemas/topic.ts'

/**
 * Returns a function that creates the codec for a topic's values. All of these codecs share a set of local schema ids,
 * so that a topic may contain records of several schema versions.
 */
export function localCodecs(): (topic: AnyValueTopic) => Codec<unknown> {
  const schemas = new Map<number, AvroSchema>()
  const lookup = { get: (schemaId: number) => schemas.get(schemaId) }
  const byFormat = new WeakMap<ValueFormat<unknown>, Codec<unknown>>()
  /**
   * Schema ids, keyed by topic and schema. The same schema must always get the same id, because stores create a new
   * format for every task.
   */
  const ids = new Map<string, number>()

  function open(name: string, value: ValueFormat<unknown>): Codec<unknown> {
    if (value.schema === undefined) return value.open(0, lookup)
    const subject = `${name} ${JSON.stringify(value.schema)}`
    const id = ids.get(subject) ?? schemas.size + 1
    ids.set(subject, id)
    schemas.set(id, value.schema)
    return value.open(id, lookup)
  }

  return ({ name, value }) => {
    const codec = byFormat.get(value) ?? open(name, value)
    byFormat.set(value, codec)
    return codec
  }
}
