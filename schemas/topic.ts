import type { Codec } from './codec.ts'

/** An Avro schema as parsed JSON. */
export type AvroSchema = string | readonly AvroSchema[] | { readonly [property: string]: unknown }

/** Loaded schemas by id. Asynchronous code adds schemas from the registry; decoders read them synchronously. */
export interface SchemaLookup {
  /** Returns the schema as JSON; undefined when it is not loaded. */
  get(schemaId: number): AvroSchema | undefined
}

/**
 * Converts values of a topic or store to and from bytes. Formats with a `schema` are Avro in the Confluent wire format
 * (byte 0, schema id as 4 bytes, Avro binary) and require the schema to be registered. Formats without a `schema` are
 * raw bytes and need no registry.
 */
export interface ValueFormat<V> {
  readonly schema: AvroSchema | undefined
  /**
   * Opens the codec of the values.
   * @param schemaId the id under which `schema` is registered; raw formats ignore it
   * @param schemas the schemas of values with other ids; the decoder resolves them to `schema`
   */
  open(schemaId: number, schemas: SchemaLookup): Codec<V>
}

/**
 * A topic with the formats of its keys and values. schemas/topics.ts lists the services' topics; the engine creates
 * internal topics.
 */
export interface Topic<K, V> {
  readonly name: string
  readonly key: Codec<K>
  readonly value: ValueFormat<V>
  /** Number of partitions, unless the topic already exists with a different number. */
  readonly partitions: number
  /**
   * Number of partitions in production (PARTITIONS=production); defaults to `partitions`. docs/operations.md explains
   * the numbers.
   */
  readonly productionPartitions?: number
  /** Broker configuration, such as `cleanup.policy` or `retention.ms`. */
  readonly config?: Readonly<Record<string, string>>
  /**
   * True if the configuration keeps a promise to erase records. Provisioning then also applies the configuration to
   * existing topics.
   */
  readonly erases?: boolean
  /** True if the promise includes the keys, because they contain more than ids. */
  readonly erasesKeys?: boolean
}

const MIB = 1_048_576

/**
 * Size of the largest record batch that a broker accepts by default (`message.max.bytes`): 1 MiB plus the overhead of a
 * batch.
 */
export const DEFAULT_MAX_BATCH_BYTES = MIB + 12
/**
 * Maximum size of a record batch in topics whose records combine data from other records: state, partial lists and
 * rejected records. Records of external producers have at most the broker's 1 MiB, and the largest record that a
 * pipeline can build from its state is a few times as large. A topic's limit overrides the broker's
 * `message.max.bytes`.
 */
export const LARGE_MAX_BATCH_BYTES = 4 * MIB
/** Topic configuration that allows record batches of up to `LARGE_MAX_BATCH_BYTES`. */
export const LARGE_RECORDS: Readonly<Record<string, string>> = { 'max.message.bytes': String(LARGE_MAX_BATCH_BYTES) }

/** Any topic, for code that only needs its name and shape. */
// biome-ignore lint/suspicious/noExplicitAny: keys and values are invariant, so no narrower type accepts every topic
export type AnyTopic = Topic<any, any>
