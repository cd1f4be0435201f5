import type { Registry } from 'prom-client'
import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import { openSerdes } from '../../../kafka/serdes.ts'
import type { Transport } from '../../../kafka/transport.ts'
import { NO_SCHEMA_ID } from '../../../schemas/avro/value.ts'
import type { Topic } from '../../../schemas/topic.ts'
import type { Logger } from '../logging.ts'

/** The options that all tables with snapshots in a process share. */
export interface SnapshotTablesOptions {
  /** The transport of the process. Kafka need not be reachable yet. */
  readonly transport: Transport
  readonly registry: SchemaRegistry
  /** The folder of the snapshots. */
  readonly folder: string
  readonly metrics: Registry
  readonly log: Logger
  /** Epoch ms. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
}

/**
 * Returns a codec for a topic's values and a function that loads their schemas. Kafka and the registry need not be
 * reachable.
 */
export async function openValues<K, V>({ registry }: Pick<SnapshotTablesOptions, 'registry'>, topic: Topic<K, V>) {
  const { schemas } = await openSerdes(registry, [])
  return { values: topic.value.open(NO_SCHEMA_ID, schemas), loadSchema: schemas.load }
}
