import type { CommandFlow } from '../../commands/topics.ts'
import type { InventoryCommand, StockLine, StockRow } from '../types.ts'
import { inventoryCommands, inventoryDecisions } from './topics.ts'

/** What a command did to one reservation. */
export interface AnsweredReservation {
  readonly reservation_id: string
  /**
   * Number of units that the command reserved, deducted or released. If a RESERVE is repeated after its first answer
   * has been forgotten, it is the number of units that are still reserved.
   */
  readonly quantity: number
  /** End of the reservation, epoch ms. */
  readonly ends_at: number
}

/**
 * The answer to a command about stock.
 * - `done`: the row after the command, and the reservations that the command concerned
 * - `out_of_stock`: there are too few available units
 * - `not_for_sale`: the command would reserve a variant that does not exist or is not active, or whose product is not
 *   active. For other commands: neither the variant nor its row of stock in the warehouse exists
 * - `version_conflict`: the row does not have the version that the command names
 * - `reservation_ended`: the row has no such open reservation, or the reservation has fewer units left than requested.
 *   Without a reservation_id: all open reservations of the row, apart from parts of carts, together have fewer units
 *   than requested
 * - `reservation_in_cart`: the reservation is part of a cart
 * - `too_many_reservations`: the command would end more reservations than one decision may
 * - `too_many_warehouses`: the variant has reached its limit of warehouses
 * - `too_much`: the row would exceed its limit of units
 * - `no_row`: the warehouse has never received the variant
 * - `reserved`: a part of a cart is reserved, in the chosen warehouses. `was_open` is true if an earlier command had
 *   reserved this part
 * - `released`: a part of a cart is released, or did not exist
 */
export type InventoryAnswer =
  | { readonly outcome: 'done'; readonly row: StockRow; readonly reservations: readonly AnsweredReservation[] }
  | OutOfStock
  | { readonly outcome: 'not_for_sale'; readonly variant_id: number }
  | { readonly outcome: InventoryRefusal; readonly row: StockRow }
  | { readonly outcome: 'reserved'; readonly lines: readonly StockLine[]; readonly ends_at: number; readonly was_open?: true }
  | { readonly outcome: 'released' }

export interface OutOfStock {
  readonly outcome: 'out_of_stock'
  readonly variant_id: number
  /** Null if the line of the command accepts any warehouse. */
  readonly warehouse_id: string | null
  /**
   * Available units in the requested warehouse or, if the line accepts any warehouse, in the warehouse that has the
   * most. Units that other lines of the command take are not counted.
   */
  readonly available: number
}

export type InventoryRefusal =
  | 'version_conflict'
  | 'reservation_ended'
  | 'reservation_in_cart'
  | 'too_many_reservations'
  | 'too_many_warehouses'
  | 'too_much'
  | 'no_row'

export const inventoryFlow: CommandFlow<InventoryCommand, StockRow, InventoryAnswer> = {
  name: 'catalog-stock',
  commands: inventoryCommands,
  decisions: inventoryDecisions,
}
