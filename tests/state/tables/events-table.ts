import type { Table } from '../../../state/tables/table.ts'
import { isoMonth } from '../../../state/tables/time.ts'

export interface Event {
  readonly id: string
  /** Epoch milliseconds. */
  readonly at: number
  /** How many rows the event produces. */
  readonly rows?: number
}

/** A table to which an event adds `rows` rows, numbered from 0. It has one table partition per month. */
export const eventsTable: Table<string, Event> = {
  name: 'events',
  columns: ['id String', 'number UInt32', "at DateTime64(3, 'UTC')"],
  orderBy: '(id, number)',
  partitionBy: 'toYYYYMM(at)',
  rowsOf: (_key, event) =>
    event === null ? [] : Array.from({ length: event.rows ?? 1 }, (_, number) => ({ id: event.id, number, at: event.at })),
  partitionOf: (_key, event) => isoMonth(event.at),
}
