import { z } from '@hono/zod-openapi'
import { placeOfVariant } from '../../../schemas/catalog/ids.ts'
import type { Cart } from '../../../schemas/catalog/types.ts'
import { isoTime } from '../../kit/times.ts'
import { MAX_UNITS, warehouseId } from '../inventory/model.ts'

/** Maximum number of items in a cart: docs/services/catalog.md#carts */
const MAX_ITEMS = 100

const variantNumber = z
  .int()
  .refine((id) => placeOfVariant(id) !== undefined, 'is not a variant_id')
  .openapi({ example: 4_503_599_627_370_497 })

export const CartBody = z
  .strictObject({
    items: z
      .array(
        z.strictObject({
          variant_id: variantNumber,
          quantity: z.int().min(1).max(MAX_UNITS),
          warehouse_id: warehouseId.optional().openapi({ description: 'Default: the warehouse with the most available units.' }),
        }),
      )
      .min(1)
      .max(MAX_ITEMS)
      .openapi({ description: 'The quantities of items with the same variant and warehouse are added up.' }),
  })
  .openapi('NewReservation')

export type NewCart = z.output<typeof CartBody>

const time = z.string().openapi({ example: '2026-01-15T12:15:00.000Z' })

export const CartSchema = z
  .object({
    reservation_id: z.string(),
    status: z.enum(['OPEN', 'CHECKED_OUT', 'RELEASED', 'EXPIRED']),
    created_at: time,
    expires_at: time.openapi({ description: 'The time at which the reservation expires.' }),
    ended_at: time.nullable(),
    is_extended: z.boolean(),
    items: z.array(z.object({ variant_id: z.int(), warehouse_id: z.string(), quantity: z.int() })),
  })
  .openapi('Reservation')

export function cartJson({ reservation_id, status, parts, created_at, ends_at, is_extended, ended_at }: Cart): z.output<typeof CartSchema> {
  return {
    reservation_id,
    status,
    created_at: isoTime(created_at),
    expires_at: isoTime(ends_at),
    ended_at: ended_at === null ? null : isoTime(ended_at),
    is_extended,
    items: parts.flatMap(({ lines }) => lines.map(({ variant_id, warehouse_id, quantity }) => ({ variant_id, warehouse_id, quantity }))),
  }
}
