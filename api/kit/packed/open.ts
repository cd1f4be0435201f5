import type { Registry } from 'prom-client'
import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import { openSerdes } from '../../../kafka/serdes.ts'
import type { Transport } from '../../../kafka/transport.ts'
import type { Topic } from '../../../schemas/topic.ts'
import type { Logger } from '../logging.ts'
import { diskFiles } from '../spool/files.ts'
import { packedTableMetrics } from './observe.ts'
import { type PackedTable, type Packing, packedTable } from './packed-table.ts'

/** Opens the table of a topic. */
export type OpenPackedTable = <K, V, P>(topic: Topic<K, V>, packing: Packing<V, P>) => Promise<PackedTable<K, P>>

export interface PackedTablesOptions {
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

/** An id that no schema has, so that each value is resolved from the schema with which it was written. */
const READ_ONLY_SCHEMA = -1

/** Creates the function with which the services of a process open their packed tables. */
export function packedTableOpener({ transport, registry, folder, metrics, log, now, monotonic }: PackedTablesOptions): OpenPackedTable {
  const measure = packedTableMetrics(metrics)

  return async function openPackedTable(topic, packing) {
    const { schemas } = await openSerdes(registry, [])
    const table = await packedTable({
      transport,
      topic,
      values: topic.value.open(READ_ONLY_SCHEMA, schemas),
      packing,
      loadSchema: schemas.load,
      log,
      now,
      monotonic,
      snapshots: { folder, files: diskFiles },
    })
    measure(topic.name, table)
    return table
  }
}
