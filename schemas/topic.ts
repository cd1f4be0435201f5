import type { Codec } from './codec.ts'

/** An Avro schema as parsed JSON. */
export type AvroSchema = string | readonly AvroSchema[] | { readonly [property: string]: unknown }

/** Loaded schemas by id; filled by whoever may wait for the registry, read synchronously by decoders. */
export interface SchemaLookup {
  /** The schema's JSON, undefined when it is not loaded. */
  get(schemaId: number): AvroSchema | undefined
}

/**
 * How values of a topic or store become bytes.
 * Formats with a `schema` are Avro in the Confluent wire format (byte 0, schema id as 4 bytes, Avro binary) and need the schema to be registered;
 * those without one are raw bytes that need no registry.
 */
export interface ValueFormat<V> {
  readonly schema: AvroSchema | undefined
  /**
   * @param schemaId the id under which `schema` is registered (ignored by raw formats)
   * @param schemas for values that were written with other ids: the decoder resolves them to `schema`
   */
  open(schemaId: number, schemas: SchemaLookup): Codec<V>
}

/** A topic and what its keys and values are. schemas/topics.ts lists the services' topics; the engine makes internal ones. */
export interface Topic<K, V> {
  readonly name: string
  readonly key: Codec<K>
  readonly value: ValueFormat<V>
  /** Where nobody has created it with another count. */
  readonly partitions: number
  /** What provisioning for production creates it with (PARTITIONS=production); absent: the same. docs/operations.md has the arithmetic. */
  readonly productionPartitions?: number
  /** Broker configuration, e.g. `cleanup.policy`, `retention.ms`. */
  readonly config?: Readonly<Record<string, string>>
}

const MIB = 1_048_576

/** What a broker takes as one record batch where neither the topic nor the broker says otherwise (`message.max.bytes`): 1 MiB and a batch's overhead. */
export const DEFAULT_MAX_BATCH_BYTES = MIB + 12
/**
 * Of topics whose records are made of what others send: state, parts of lists, records that were refused. Producers outside stay within the broker's
 * own 1 MiB; a record that holds the most of everything that a pipeline keeps is a few times as large. A topic's own limit is what counts,
 * also above the broker's `message.max.bytes`.
 */
export const LARGE_MAX_BATCH_BYTES = 4 * MIB
/** The topic configuration for it. */
export const LARGE_RECORDS: Readonly<Record<string, string>> = { 'max.message.bytes': String(LARGE_MAX_BATCH_BYTES) }

/** Any topic, where only its name and shape matter. */
// biome-ignore lint/suspicious/noExplicitAny: keys and values are invariant, so no narrower type accepts every topic
export type AnyTopic = Topic<any, any>
