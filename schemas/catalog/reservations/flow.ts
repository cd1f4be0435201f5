import type { CommandFlow } from '../../commands/topics.ts'
import type { Cart, CartCommand } from '../types.ts'
import { reservationCommands, reservationDecisions } from './topics.ts'

/**
 * The answer to a command about a cart.
 * - `done`: the cart after the command
 * - `not_found`: there is no such cart
 * - `ended`: the cart had already ended or expired
 * - `extended_before`: the cart had already been extended, which is possible only once
 * - `parts_ended`: the cart was not opened, because its parts were reserved so long ago that they might end before the
 *   cart
 */
export type CartAnswer =
  | { readonly outcome: 'done' | 'ended' | 'extended_before'; readonly cart: Cart }
  | { readonly outcome: 'not_found' | 'parts_ended' }

export const reservationFlow: CommandFlow<CartCommand, Cart, CartAnswer> = {
  name: 'catalog-carts',
  commands: reservationCommands,
  decisions: reservationDecisions,
}
