import type { InventoryChange } from '../../../schemas/catalog/types.ts'
import type { Table } from '../table.ts'
import { isoMonth, isoTime, isoTimeOrNull } from '../time.ts'

/**
 * Every movement of stock and the stock that resulted. The `version` orders the movements of each variant and
 * warehouse. Fed by `inventory.changed`. Read it with FINAL.
 */
export const stockMovementsTable: Table<string, InventoryChange> = {
  name: 'stock_movements',
  columns: [
    'variant_id UInt64',
    'product_id UInt64',
    'warehouse_id String',
    'kind LowCardinality(String)',
    'quantity Int32',
    'reservation_id Nullable(String)',
    'available Int32',
    'reserved Int32',
    'version UInt64',
    "ends_at Nullable(DateTime64(3, 'UTC'))",
    'command_id Nullable(String)',
    "at DateTime64(3, 'UTC')",
  ],
  orderBy: '(variant_id, warehouse_id, version, kafka_partition, kafka_offset)',
  partitionBy: 'toYYYYMM(at)',
  rowsOf(_productId, movement) {
    if (movement === null) return []
    const { at, ends_at, ...columns } = movement
    return [{ ...columns, at: isoTime(at), ends_at: isoTimeOrNull(ends_at) }]
  },
  partitionOf: (_productId, { at }) => isoMonth(at),
}
