import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { catalogErrors } from '../errors.ts'
import { StockChangeBody, StockChangedSchema, StockSchema, variantId } from './model.ts'

const INTERNAL = { kind: 'scope', scope: ['internal', 'admin'] } as const
const params = z.object({ variant_id: variantId })

export const changeStockRoute = defineRoute({
  method: 'patch',
  path: '/api/v1/inventory/{variant_id}',
  operationId: 'changeStock',
  summary: 'Receive, reserve, sell or release stock',
  description:
    'RESERVE creates a reservation. DEDUCT sells reserved units, and RELEASE makes reserved units available again. A reservation expires if it is not ended in time. RECEIVE adds stock, and ADJUST corrects it. Stock is never below 0.',
  auth: INTERNAL,
  isDirect: true,
  idempotent: true,
  versioned: true,
  params,
  body: StockChangeBody,
  bodyExample: { warehouse_id: 'east', quantity_delta: -1, operation: 'RESERVE' },
  answers: { 200: { description: 'The stock of the variant in the warehouse after the change.', schema: StockChangedSchema } },
  errors: [
    catalogErrors.variant_not_found,
    catalogErrors.out_of_stock,
    catalogErrors.version_conflict,
    catalogErrors.reservation_ended,
    catalogErrors.reservation_in_cart,
    errors.not_ready,
  ],
})

export const readStockRoute = defineRoute({
  method: 'get',
  path: '/api/v1/inventory/{variant_id}',
  operationId: 'readStock',
  summary: 'Read the stock of a variant',
  description:
    'The result includes every change that `changeStock` acknowledged before the call. Checkouts and releases of reservations appear within a second.',
  auth: INTERNAL,
  params,
  answers: { 200: { description: 'The stock by warehouse.', schema: StockSchema } },
  errors: [catalogErrors.variant_not_found, errors.not_ready],
})
