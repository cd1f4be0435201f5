import type { StockKey } from '../../../schemas/catalog/inventory/keys.ts'
import type { StockReservation, StockRow } from '../../../schemas/catalog/types.ts'

/** The stock of one product as a decision reads it. */
export interface StockReader {
  row(key: StockKey): StockRow | undefined
  /** All rows of a variant, in order of their warehouses. */
  rowsOf(variantId: number): Iterable<StockRow>
  reservation(reservationId: string): StockReservation | undefined
  /**
   * The open reservations of a row that are not parts of carts and end at `from` or later, in order of their end.
   * @param from epoch ms
   */
  openFrom(key: StockKey, from: number): Iterable<OpenReservation>
}

export interface OpenReservation {
  readonly reservation_id: string
  readonly quantity: number
  /** Epoch ms. */
  readonly ends_at: number
}

/** The facts of a command about stock. */
export interface InventoryFacts {
  readonly productId: number
  /** When the broker appended the command, epoch ms. */
  readonly now: number
  readonly commandId: string
}
