import { z } from '@hono/zod-openapi'
import type { AnsweredReservation } from '../../../schemas/catalog/inventory/flow.ts'
import type { ShownStock } from '../../../state/views/catalog/stock.ts'
import { isoTime } from '../../kit/times.ts'

/** Maximum length of a warehouse_id, in code points: docs/services/catalog.md#stock */
const MAX_WAREHOUSE_ID = 50
const MAX_RESERVATION_ID = 100
/** Maximum number of units in a stock row. Rows store units as Avro ints. */
export const MAX_UNITS = 2 ** 31 - 1

export const warehouseId = z
  .string()
  .refine((value) => value !== '' && [...value].length <= MAX_WAREHOUSE_ID, `must have 1 to ${MAX_WAREHOUSE_ID} characters`)
  .openapi({ minLength: 1, maxLength: MAX_WAREHOUSE_ID, description: 'Id of a warehouse. The first RECEIVE creates it.', example: 'east' })

export const variantId = z.string().openapi({ description: 'A variant_id in decimal.', example: '4503599627370497' })

const OPERATIONS = ['RESERVE', 'DEDUCT', 'RELEASE', 'RECEIVE', 'ADJUST'] as const
/** The operations that take units out of reservations. */
const ENDING: readonly string[] = ['DEDUCT', 'RELEASE']

export const StockChangeBody = z
  .strictObject({
    warehouse_id: warehouseId,
    quantity_delta: z
      .int()
      .min(-MAX_UNITS)
      .max(MAX_UNITS)
      .refine((value) => value !== 0, 'must not be 0')
      .openapi({
        description: 'Number of units. For ADJUST, a negative number removes units. The other operations ignore the sign.',
        example: -1,
      }),
    operation: z.enum(OPERATIONS),
    reservation_id: z.string().min(1).max(MAX_RESERVATION_ID).optional().openapi({
      description:
        'The reservation for DEDUCT or RELEASE. Default: the open reservations of the variant in the warehouse, except carts, beginning with the reservation that expires first.',
    }),
    version: z.int().min(0).optional().openapi({
      description:
        'If set, the change is refused unless the stock has this version. 0 means that the variant has no stock record in the warehouse yet.',
    }),
  })
  .refine(({ operation, reservation_id }) => reservation_id === undefined || ENDING.includes(operation), {
    path: ['reservation_id'],
    message: 'is only for DEDUCT and RELEASE',
  })
  .openapi('StockChange')

const time = z.string().openapi({ example: '2026-01-15T12:15:00.000Z' })
const available = z.int().openapi({ description: 'Number of units that can be reserved.' })
const reserved = z.int().openapi({ description: 'Number of units in open reservations.' })
const version = z.int().openapi({ description: 'The version of the stock, which every movement increases by 1.' })

const ReservationSchema = z.object({ reservation_id: z.string(), quantity: z.int(), expires_at: time })

export const StockChangedSchema = z
  .object({
    variant_id: z.int(),
    warehouse_id: z.string(),
    operation: z.enum(OPERATIONS),
    available,
    reserved,
    version,
    reservation_id: z
      .string()
      .nullable()
      .openapi({ description: 'The reservation that the call affected; null if the call affected no reservation, or several.' }),
    expires_at: time.nullable().openapi({ description: 'The time at which the reservation in `reservation_id` expires.' }),
    reservations: z
      .array(ReservationSchema)
      .openapi({ description: 'The units that the call reserved, deducted or released, listed by reservation.' }),
  })
  .openapi('StockChanged')

export const StockSchema = z
  .object({
    variant_id: z.int(),
    available: available.openapi({ description: 'Number of units that can be reserved, in all warehouses together.' }),
    reserved: reserved.openapi({ description: 'Number of units in open reservations, in all warehouses together.' }),
    warehouses: z.array(z.object({ warehouse_id: z.string(), available, reserved, version })),
  })
  .openapi('Stock')

export function changedJson(
  operation: (typeof OPERATIONS)[number],
  { variant_id, warehouse_id, available, reserved, version }: ShownStock,
  concerned: readonly AnsweredReservation[],
): z.output<typeof StockChangedSchema> {
  const reservations = concerned.map(({ reservation_id, quantity, ends_at }) => ({
    reservation_id,
    quantity,
    expires_at: isoTime(ends_at),
  }))
  const [only, ...others] = reservations
  const single = others.length === 0 ? only : undefined
  const { reservation_id = null, expires_at = null } = single ?? {}
  return { variant_id, warehouse_id, operation, available, reserved, version, reservation_id, expires_at, reservations }
}

export function stockJson(variant_id: number, rows: readonly ShownStock[]): z.output<typeof StockSchema> {
  const total = (field: 'available' | 'reserved') => rows.reduce((sum, row) => sum + row[field], 0)
  const warehouses = rows.map(({ warehouse_id, available, reserved, version }) => ({ warehouse_id, available, reserved, version }))
  return { variant_id, available: total('available'), reserved: total('reserved'), warehouses }
}
