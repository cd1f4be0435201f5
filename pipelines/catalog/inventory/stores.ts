import {
  type OpenKey,
  openKey,
  type ReservationKey,
  reservationKey,
  rowName,
  rowsOfVariant,
} from '../../../schemas/catalog/inventory/keys.ts'
import type { OpenQuantity, StockReservation, StockRow } from '../../../schemas/catalog/types.ts'
import { avro, type KeyedStore, keyedStore, type Rows, type TimerStore, timerStore, utf8 } from '../../engine/index.ts'
import { NOTHING_OPEN } from './ledger.ts'
import type { StockReader } from './stock.ts'

/** The stores of a partition of the inventory topology. */
export interface StockStores {
  /** The rows, keyed by `rowName`. */
  readonly stock: KeyedStore<string, StockRow>
  readonly reservations: KeyedStore<ReservationKey, StockReservation>
  /** The open reservations that are not parts of carts, keyed by row and end time. */
  readonly open: KeyedStore<OpenKey, OpenQuantity>
  /** The time at which each reservation expires. */
  readonly ends: TimerStore<ReservationKey>
}

export function stockStores(): StockStores {
  return {
    stock: keyedStore('stock', { key: utf8, value: avro('catalog/StockRow') }),
    reservations: keyedStore('reservations', { key: reservationKey, value: avro('catalog/StockReservation') }),
    open: keyedStore('open', { key: openKey, value: avro('catalog/OpenQuantity') }),
    ends: timerStore('ends', { key: reservationKey }),
  }
}

export function stockReader({ stock, reservations, open }: StockStores, rows: Rows, product_id: number): StockReader {
  return {
    row: (key) => rows.get(stock, rowName(key)),
    rowsOf: (variantId) => rows.scan(stock, { prefix: Buffer.from(rowsOfVariant(variantId)) }).map(([, row]) => row),
    reservation: (reservation_id) => rows.get(reservations, { product_id, reservation_id }),
    openFrom({ variant_id, warehouse_id }, from) {
      const row = { variant_id, warehouse_id, reservation_id: '' }
      const found = rows.scan(open, { gte: { ...row, ends_at: from }, lt: { ...row, ends_at: NOTHING_OPEN } })
      return found.map(([{ reservation_id, ends_at }, { quantity }]) => ({ reservation_id, ends_at, quantity }))
    },
  }
}

/** Returns the key of a reservation that is not part of a cart. Such a reservation has only one line. */
export function openKeyOf({ reservation_id, ends_at, lines: [{ variant_id, warehouse_id }] }: StockReservation): OpenKey {
  return { variant_id, warehouse_id, ends_at, reservation_id }
}
