import type { Seller } from '../../../schemas/catalog/types.ts'
import { readableJson } from '../readable.ts'
import { type NOT_CAUGHT_UP, type View, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * Public data of sellers. Fed by `sellers` and partitioned like it.
 *
 * | key | value |
 * |---|---|
 * | `{sellers:<p>}:<seller_id>` | JSON of a SellerRecord |
 */
export const SELLERS_VIEW = 'sellers'

export interface SellerRecord {
  readonly name: string
  /** 1 to 5; null: nobody has rated the seller. */
  readonly rating: number | null
}

export const sellersView: View<string, Seller> = {
  name: SELLERS_VIEW,
  operationsFor(partition, id, seller) {
    const key = sellerKey(partition, id)
    if (seller === null) return [{ op: 'del', key }]
    const record: SellerRecord = { name: seller.name, rating: seller.rating_count === 0 ? null : seller.rating }
    return [{ op: 'set', key, value: JSON.stringify(record) }]
  },
}

/** @param id in decimal */
export function sellerKey(partition: number, id: string): string {
  return `${viewTag(SELLERS_VIEW, partition)}:${id}`
}

/**
 * Reads the value at a seller's key as text; null if no administrator has described the seller.
 * @param id in decimal
 */
export function readSellerText(
  reader: Pick<ViewReader, 'get'>,
  partition: number,
  id: string,
): Promise<string | null | typeof NOT_CAUGHT_UP> {
  return withCaughtUp(reader, SELLERS_VIEW, partition, reader.get(sellerKey(partition, id)))
}

/**
 * Returns the public data of a seller. A seller that no administrator has described, or whose value cannot be parsed,
 * gets a name derived from the id.
 * @param text the value at the seller's key
 */
export function sellerRecord(id: string, text: string | null): SellerRecord {
  return readableJson<SellerRecord>(text) ?? { name: `seller-${id}`, rating: null }
}
