import type { Topic } from '../../../schemas/topic.ts'
import { tableMetrics } from '../snapshots/observe.ts'
import { openValues, type SnapshotTablesOptions } from '../snapshots/open-values.ts'
import { diskFiles } from '../spool/files.ts'
import type { Holding } from './holding.ts'
import { type SmallTable, smallTable } from './small-table.ts'

/** Opens the table of a topic. */
export type OpenSmallTable = <V, H>(topic: Topic<string, V>, holding: Holding<V, H>) => Promise<SmallTable<H>>

/** Creates the function that the services of a process use to open their small tables. */
export function smallTableOpener(options: SnapshotTablesOptions): OpenSmallTable {
  const { folder, metrics } = options
  const measure = tableMetrics(metrics, 'small_table')

  return async function openSmallTable(topic, holding) {
    const table = await smallTable({
      ...options,
      ...(await openValues(options, topic)),
      topic,
      holding,
      snapshots: { folder, files: diskFiles },
    })
    measure(topic.name, table)
    return table
  }
}
