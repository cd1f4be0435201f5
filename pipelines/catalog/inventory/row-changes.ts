import { rowName } from '../../../schemas/catalog/inventory/keys.ts'
import { inventoryChanged, inventoryDecisions } from '../../../schemas/catalog/inventory/topics.ts'
import { EXPIRES_AFTER_MS } from '../../../schemas/catalog/reservations/times.ts'
import { emission, type RowChange, type RowChanges, row } from '../../engine/index.ts'
import type { ReservationChange, StockChanges } from './ledger.ts'
import { openKeyOf, type StockStores } from './stores.ts'

/**
 * Returns the rows that a decision changes, and the records to emit. The records are the movements and, for the view,
 * the rows whose stock has changed.
 */
export function rowChanges(stores: StockStores, { rows, reservations, movements }: StockChanges, partition: number): RowChanges {
  const moved = new Set(movements.map(rowName))
  return {
    puts: [
      ...rows.map((one) => row(stores.stock, rowName(one), one)),
      ...reservations.flatMap((change) => reservationRows(stores, change)),
    ],
    emits: [
      ...rows
        .filter((one) => moved.has(rowName(one)))
        .map((one) => emission(inventoryDecisions, rowName(one), { view: one, result: null }, { partition })),
      ...movements.map((movement) => emission(inventoryChanged, String(movement.product_id), movement, { partition })),
    ],
  }
}

function reservationRows({ reservations, open, ends }: StockStores, { before, after }: ReservationChange): RowChange[] {
  const { product_id, reservation_id } = (after ?? before)!
  const key = { product_id, reservation_id }
  const expiresAt = after === undefined ? null : after.ends_at + EXPIRES_AFTER_MS
  return [
    ...(before === undefined || before.is_part ? [] : [row(open, openKeyOf(before), null)]),
    ...(after === undefined || after.is_part ? [] : [row(open, openKeyOf(after), { quantity: after.lines[0].quantity })]),
    row(reservations, key, after ?? null),
    row(ends, key, expiresAt),
  ]
}
