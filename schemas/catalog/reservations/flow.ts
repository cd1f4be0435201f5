import type { CommandFlow } from '../../commands/topics.ts'
import type { Cart, CartCommand } from '../types.ts'
import { reservationCommands, reservationDecisions } from './topics.ts'

/**
 * The answer to a command about a cart.
 * - `done`: the cart after it
 * - `not_found`: there is no such cart
 * - `ended`: the cart has ended before, or its time was over
 * - `extended_before`: the cart was extended before, which is possible only once
 * - `parts_ended`: the parts were reserved so long ago that they might end before the cart, which was not opened
 */
export type CartAnswer =
  | { readonly outcome: 'done' | 'ended' | 'extended_before'; readonly cart: Cart }
  | { readonly outcome: 'not_found' | 'parts_ended' }

export const reservationFlow: CommandFlow<CartCommand, Cart, CartAnswer> = {
  name: 'catalog-carts',
  commands: reservationCommands,
  decisions: reservationDecisions,
}
