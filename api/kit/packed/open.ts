import type { Topic } from '../../../schemas/topic.ts'
import { openValues, type SnapshotTablesOptions } from '../snapshots/open-values.ts'
import { diskFiles } from '../spool/files.ts'
import { packedTableMetrics } from './observe.ts'
import { type PackedTable, type Packing, packedTable } from './packed-table.ts'

/** Opens the table of a topic. */
export type OpenPackedTable = <K, V, P>(topic: Topic<K, V>, packing: Packing<V, P>) => Promise<PackedTable<K, P>>

/** Creates the function that the services of a process use to open their packed tables. */
export function packedTableOpener(options: SnapshotTablesOptions): OpenPackedTable {
  const { folder, metrics } = options
  const measure = packedTableMetrics(metrics)

  return async function openPackedTable(topic, packing) {
    const table = await packedTable({
      ...options,
      ...(await openValues(options, topic)),
      topic,
      packing,
      snapshots: { folder, files: diskFiles },
    })
    measure(topic.name, table)
    return table
  }
}
