import { Gauge, type Registry } from 'prom-client'
import type { TableState } from './snapshot-table.ts'

type Measured = Pick<TableState, 'staleMs' | 'isFromSnapshot'> & { readonly size: number }

const MS_PER_SECOND = 1_000

/**
 * Creates gauges that have one value for each table. Tables are added after the gauges are created.
 * @returns a function that adds the table of a topic
 */
export function measuredTables<T>(
  registry: Registry,
  gauges: readonly (readonly [name: string, help: string, read: (table: T) => number])[],
): (topic: string, table: T) => void {
  const tables = new Map<string, T>()
  for (const [name, help, read] of gauges) {
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
  return (topic, table) => void tables.set(topic, table)
}

/**
 * Creates the metrics for all tables of one kind in a process.
 * @param kind prefix of the metric names
 * @returns a function that adds the table of a topic
 */
export function tableMetrics(registry: Registry, kind: string): (topic: string, table: Measured) => void {
  return measuredTables<Measured>(registry, [
    [
      `${kind}_stale_seconds`,
      'How far a table may be behind its topic; a few seconds while Kafka responds, infinite before the table is ready',
      ({ staleMs }) => staleMs / MS_PER_SECOND,
    ],
    [
      `${kind}_from_snapshot`,
      '1 while a table answers from its snapshot, because its topic could not be read completely yet',
      ({ isFromSnapshot }) => Number(isFromSnapshot),
    ],
    [`${kind}_entries`, 'Entries of a table, including expired ones that are still stored', ({ size }) => size],
  ])
}
