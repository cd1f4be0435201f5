import { compositeKey, textPart, u64Part } from '../../composite.ts'

/** Identifies a row of stock. */
export interface StockKey {
  readonly variant_id: number
  readonly warehouse_id: string
}

/**
 * Returns the key of a row in `inventory-decisions`. A variant_id contains no colon; a warehouse_id may contain
 * several.
 */
export function rowName({ variant_id, warehouse_id }: StockKey): string {
  return `${rowsOfVariant(variant_id)}${warehouse_id}`
}

/** Returns the key prefix that all rows of a variant share. */
export function rowsOfVariant(variantId: number): string {
  return `${variantId}:`
}

/**
 * Identifies a reservation. A cart has one reservation for each of its products, and all these reservations have the
 * cart's id.
 */
export interface ReservationKey {
  readonly product_id: number
  readonly reservation_id: string
}

export const reservationKey = compositeKey<ReservationKey>({ product_id: u64Part, reservation_id: textPart })

/** Identifies an open reservation. Keys of the same variant and warehouse sort by the end of the reservation. */
export interface OpenKey extends StockKey {
  readonly ends_at: number
  readonly reservation_id: string
}

export const openKey = compositeKey<OpenKey>({ variant_id: u64Part, warehouse_id: textPart, ends_at: u64Part, reservation_id: textPart })
