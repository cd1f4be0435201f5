import type { Registry } from 'prom-client'
import { measuredTables, tableMetrics } from '../snapshots/observe.ts'
import type { PackedTable } from './packed-table.ts'

type Measured = Pick<PackedTable<unknown, unknown>, 'size' | 'bytes' | 'staleMs' | 'isFromSnapshot'>

/**
 * Creates the metrics for all packed tables in a process.
 * @returns a function that adds a topic's table to the metrics
 */
export function packedTableMetrics(registry: Registry): (topic: string, table: Measured) => void {
  const measure = tableMetrics(registry, 'packed_table')
  const measureBytes = measuredTables<Measured>(registry, [['packed_table_bytes', 'Memory of a packed table', ({ bytes }) => bytes]])
  return function add(topic, table) {
    measure(topic, table)
    measureBytes(topic, table)
  }
}
