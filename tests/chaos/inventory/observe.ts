import * as inventory from '../../../schemas/catalog/inventory/topics.ts'
import { inventoryTopics } from '../../../schemas/catalog/inventory/topics.ts'
import { reservationCommands, reservationDecisions, reservationTopics } from '../../../schemas/catalog/reservations/topics.ts'
import type { Topic } from '../../../schemas/topic.ts'
import type { InventorySystem } from '../../api/catalog/inventory-system.ts'
import { openLogs } from '../open-logs.ts'
import type { Logged, StockLog } from './log.ts'

/** A row of `stock_movements` with its partition and offset in the log. */
export interface TableRow {
  readonly offset: number
  readonly partition: number
  readonly shown: string
}

/** Reads what the service has written. */
export interface Observer {
  log(): Promise<StockLog>
  tableRows(): Promise<TableRow[]>
  close(): Promise<void>
}

export async function observer({ env, rowsOf }: InventorySystem): Promise<Observer> {
  const reader = await openLogs(env, [...inventoryTopics, ...reservationTopics] as Topic<string, unknown>[])
  const all = <V>(topic: Topic<string, V>): Logged<V>[] =>
    reader.of(topic).flatMap((records, partition) => records.map((record) => ({ ...record, partition })))
  return {
    async log() {
      await reader.catchUp()
      return {
        inventoryCommands: all(inventory.inventoryCommands),
        inventoryDecisions: all(inventory.inventoryDecisions),
        inventoryChanged: all(inventory.inventoryChanged),
        reservationOutcomes: all(inventory.reservationOutcomes),
        reservationCommands: all(reservationCommands),
        reservationDecisions: all(reservationDecisions),
      }
    },
    async tableRows() {
      const rows = await rowsOf(
        'SELECT toString(variant_id) AS variant_id, warehouse_id, kind, quantity, available, reserved, toString(version) AS version, reservation_id, toUnixTimestamp64Milli(at) AS at, kafka_partition, toString(kafka_offset) AS kafka_offset FROM stock_movements FINAL ORDER BY kafka_partition, stock_movements.kafka_offset',
      )
      return rows.map(({ kafka_partition, kafka_offset, ...row }) => ({
        offset: Number(kafka_offset),
        partition: Number(kafka_partition),
        shown: shownRow(row),
      }))
    },
    close: () => reader.close(),
  }
}

/** Formats a movement, so that rows and records can be compared. */
export function shownRow(row: Readonly<Record<string, unknown>>): string {
  const { variant_id, warehouse_id, kind, quantity, available, reserved, version, reservation_id, at } = row
  return [variant_id, warehouse_id, kind, quantity, available, reserved, version, reservation_id, at].join(' ')
}
