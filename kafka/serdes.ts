import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/system.ts'
import { parseJson } from '../schemas/avro/json.ts'
import type { Codec } from '../schemas/codec.ts'
import type { AvroSchema, SchemaLookup, ValueFormat } from '../schemas/topic.ts'
import { SchemaNotFoundError, type SchemaRegistry } from './registry-interface.ts'

/** The name and the value format of a topic. */
export interface ValueTopic<V> {
  readonly name: string
  readonly value: ValueFormat<V>
}

// biome-ignore lint/suspicious/noExplicitAny: values are invariant, so no narrower type accepts every topic
export type AnyValueTopic = ValueTopic<any>

/** A cache of schemas, keyed by id. Decoders read it synchronously; asynchronous callers load missing schemas. */
export interface LoadedSchemas extends SchemaLookup {
  /**
   * Fetches a schema after an UnknownSchemaError. The caller can then decode the value again. `not-found` means that
   * the registry does not have the schema, or that the schema cannot be parsed, so the value is malformed. Rejects when
   * the registry does not answer or denies access; the caller must then retry, because the value may be valid.
   */
  load(schemaId: number): Promise<'loaded' | 'not-found'>
}

export interface Serdes {
  readonly schemas: LoadedSchemas
  /**
   * Returns the codec of a topic's values, bound to its registered schema. The topic must have been passed to
   * `openSerdes`.
   */
  codecFor<V>(topic: ValueTopic<V>): Codec<V>
}

export interface SerdesOptions {
  /** The runtime of the serdes. The default is the system's runtime, without a log. */
  readonly runtime?: Runtime
}

/**
 * How long an unknown schema id is cached. After this time, the registry is queried again, because the schema may have
 * been registered in the meantime.
 */
const NOT_FOUND_KEPT_MS = 30_000
/**
 * Number of unknown schema ids at which their cache is emptied. The limit keeps a producer of random ids from filling
 * the memory.
 */
const NOT_FOUND_KEPT = 10_000
/** Placeholder for the schema id of value formats without a schema. It is never read. */
const NO_SCHEMA = 0

/** Registers the value schema of each topic under `<topic>-value` and binds the codecs to the schema ids. */
export async function openSerdes(
  registry: SchemaRegistry,
  topics: readonly AnyValueTopic[],
  { runtime = systemRuntime() }: SerdesOptions = {},
): Promise<Serdes> {
  const schemas = loadedSchemas(registry, runtime)
  const codecs = new Map<string, Codec<unknown>>()
  await Promise.all(topics.map(openTopic))

  async function openTopic({ name, value }: AnyValueTopic): Promise<void> {
    const id = value.schema === undefined ? NO_SCHEMA : await registerValue(registry, name, value.schema)
    codecs.set(name, value.open(id, schemas))
  }

  function codecFor<V>(topic: ValueTopic<V>): Codec<V> {
    const codec = codecs.get(topic.name)
    if (!codec) throw new Error(`topic ${topic.name} was not passed to openSerdes`)
    return codec as Codec<V>
  }

  return { schemas, codecFor }
}

async function registerValue(registry: SchemaRegistry, topic: string, schema: AvroSchema): Promise<number> {
  const subject = `${topic}-value`
  try {
    return await registry.register(subject, JSON.stringify(schema))
  } catch (error) {
    throw new Error(`the value schema of topic ${topic} could not be registered as ${subject}: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function loadedSchemas(registry: SchemaRegistry, runtime: Runtime): LoadedSchemas {
  const loaded = new Map<number, AvroSchema>()
  const notFoundAt = new Map<number, number>()
  const underWay = new Map<number, Promise<'loaded' | 'not-found'>>()

  async function load(schemaId: number): Promise<'loaded' | 'not-found'> {
    if (loaded.has(schemaId)) return 'loaded'
    const missedAt = notFoundAt.get(schemaId)
    if (missedAt !== undefined && runtime.monotonic() - missedAt < NOT_FOUND_KEPT_MS) return 'not-found'
    const request = underWay.get(schemaId) ?? ask(schemaId).finally(() => underWay.delete(schemaId))
    underWay.set(schemaId, request)
    return request
  }

  async function ask(schemaId: number): Promise<'loaded' | 'not-found'> {
    try {
      loaded.set(schemaId, parsed(schemaId, await registry.schemaById(schemaId)))
      notFoundAt.delete(schemaId)
      return 'loaded'
    } catch (error) {
      if (!(error instanceof SchemaNotFoundError)) throw error
      if (notFoundAt.size >= NOT_FOUND_KEPT) notFoundAt.clear()
      notFoundAt.set(schemaId, runtime.monotonic())
      return 'not-found'
    }
  }

  return { get: (schemaId) => loaded.get(schemaId), load }
}

/**
 * @throws SchemaNotFoundError if the text cannot be parsed. A repeated request would not help, because the text of a
 * schema never changes
 */
function parsed(schemaId: number, text: string): AvroSchema {
  try {
    return parseJson(text) as AvroSchema
  } catch (error) {
    // For example, parsing JSON that is nested thousands of levels deep overflows the stack.
    throw new SchemaNotFoundError(schemaId, `schema ${schemaId} cannot be parsed: ${(error as Error).message}`)
  }
}
