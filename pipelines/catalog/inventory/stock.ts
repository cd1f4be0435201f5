import type { StockKey } from '../../../schemas/catalog/inventory/keys.ts'
import type { StockReservation, StockRow } from '../../../schemas/catalog/types.ts'

/** Gives a decision access to the stock of one product. */
export interface StockReader {
  row(key: StockKey): StockRow | undefined
  /** All rows of a variant, in order of their warehouses. */
  rowsOf(variantId: number): Iterable<StockRow>
  reservation(reservationId: string): StockReservation | undefined
  /**
   * The open reservations of a row that end at `from` or later, in the order in which they end. Parts of carts are not
   * included.
   */
  openFrom(key: StockKey, from: number): Iterable<OpenReservation>
}

export interface OpenReservation {
  readonly reservation_id: string
  readonly quantity: number
  /** Epoch ms. */
  readonly ends_at: number
}

/** The facts about a command that a decision needs in addition to the command's content. */
export interface InventoryFacts {
  readonly productId: number
  /** The append time by which the command is judged, epoch ms; see `DecidingOptions.judgedBy`. */
  readonly now: number
  readonly commandId: string
}
