import type { Cart } from '../../../schemas/catalog/types.ts'
import { NOT_CAUGHT_UP, type View, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * Carts. A cart is kept for a day after its end. Fed by `reservation-decisions` and partitioned like it. The partition
 * also contains results of commands; see ../results.ts.
 *
 * | key | value |
 * |---|---|
 * | `{catalog-carts:<p>}:cart:<reservation_id>` | JSON of a Cart |
 */
export const CARTS_VIEW = 'catalog-carts'

export const cartsView: View<string, Cart> = {
  name: CARTS_VIEW,
  operationsFor(partition, reservationId, cart) {
    const key = cartKey(partition, reservationId)
    return cart === null ? [{ op: 'del', key }] : [{ op: 'set', key, value: JSON.stringify(cart) }]
  },
}

export async function readCart(
  reader: ViewReader,
  partition: number,
  reservationId: string,
): Promise<Cart | undefined | typeof NOT_CAUGHT_UP> {
  const text = await withCaughtUp(reader, CARTS_VIEW, partition, reader.get(cartKey(partition, reservationId)))
  if (text === NOT_CAUGHT_UP) return text
  return text === null ? undefined : (JSON.parse(text) as Cart)
}

function cartKey(partition: number, reservationId: string): string {
  return `${viewTag(CARTS_VIEW, partition)}:cart:${reservationId}`
}
