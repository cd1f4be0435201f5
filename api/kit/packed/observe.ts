import { Gauge, type Registry } from 'prom-client'
import type { PackedTable } from './packed-table.ts'

type Measured = Pick<PackedTable<unknown, unknown>, 'size' | 'bytes' | 'staleMs' | 'isFromSnapshot'>

const MS_PER_SECOND = 1_000

/** Creates the metrics of all packed tables of a process. @returns a function that adds the table of a topic */
export function packedTableMetrics(registry: Registry): (topic: string, table: Measured) => void {
  const tables = new Map<string, Measured>()

  function measure(name: string, help: string, read: (table: Measured) => number): void {
    new Gauge({
      name,
      help,
      labelNames: ['topic'],
      registers: [registry],
      collect() {
        for (const [topic, table] of tables) this.set({ topic }, read(table))
      },
    })
  }

  const stale = 'For how long a packed table may lack changes; a few seconds while Kafka answers, infinite before it is ready'
  measure('packed_table_stale_seconds', stale, ({ staleMs }) => staleMs / MS_PER_SECOND)
  const fromSnapshot = '1 while a packed table answers from its snapshot, because Kafka has been away since the start'
  measure('packed_table_from_snapshot', fromSnapshot, ({ isFromSnapshot }) => Number(isFromSnapshot))
  measure('packed_table_entries', 'Entries of a packed table, including expired ones that are still stored', ({ size }) => size)
  measure('packed_table_bytes', 'Memory of a packed table', ({ bytes }) => bytes)

  return (topic, table) => void tables.set(topic, table)
}
