import type { StockChanges } from '../../../../pipelines/catalog/inventory/ledger.ts'
import type { StockReader } from '../../../../pipelines/catalog/inventory/stock.ts'
import type { StockReservation, StockRow } from '../../../../schemas/catalog/types.ts'

/** Creates the in-memory stock of one product, for decisions without an engine. */
export function memoryStock() {
  const rows = new Map<string, StockRow>()
  const reservations = new Map<string, StockReservation>()

  const read: StockReader = {
    row: ({ variant_id, warehouse_id }) => rows.get(`${variant_id}/${warehouse_id}`),
    rowsOf: (variantId) =>
      [...rows.values()].filter((row) => row.variant_id === variantId).sort((a, b) => (a.warehouse_id < b.warehouse_id ? -1 : 1)),
    reservation: (id) => reservations.get(id),
    openFrom: ({ variant_id, warehouse_id }, from) =>
      [...reservations.values()]
        .filter(({ is_part, ends_at, lines: [line] }) => {
          return !is_part && ends_at >= from && line.variant_id === variant_id && line.warehouse_id === warehouse_id
        })
        .map(({ reservation_id, ends_at, lines: [{ quantity }] }) => ({ reservation_id, ends_at, quantity }))
        .sort((a, b) => a.ends_at - b.ends_at || (a.reservation_id < b.reservation_id ? -1 : 1)),
  }

  return {
    read,
    apply(changes: StockChanges): void {
      for (const row of changes.rows) rows.set(`${row.variant_id}/${row.warehouse_id}`, row)
      for (const { before, after } of changes.reservations) {
        if (after === undefined) reservations.delete(before!.reservation_id)
        else reservations.set(after.reservation_id, after)
      }
    },
    /** Returns the reservations that ended before a time, epoch ms. */
    endedBefore: (time: number) => [...reservations.values()].filter(({ ends_at }) => ends_at < time),
  }
}
