import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { catalogErrors } from '../errors.ts'
import { CartBody, CartSchema } from './model.ts'

const INTERNAL = { kind: 'scope', scope: ['internal', 'admin'] } as const
const params = z.object({ reservation_id: z.string().openapi({ example: 'c-9mV0pXcA1bT4kQ7eR2sZyw' }) })
const answers = { 200: { description: 'The reservation.', schema: CartSchema } }

export const reserveCartRoute = defineRoute({
  method: 'post',
  path: '/api/v1/reservations',
  operationId: 'reserve',
  summary: 'Reserve several variants, all or none',
  description:
    'Such a reservation is called a cart. All its items end together, when the cart is checked out, is released or expires. By default, it expires after 15 minutes.',
  auth: INTERNAL,
  idempotent: true,
  body: CartBody,
  bodyExample: { items: [{ variant_id: 4_503_599_627_370_497, quantity: 2 }] },
  answers: { 201: { description: 'The open reservation.', schema: CartSchema } },
  errors: [catalogErrors.variant_not_found, catalogErrors.out_of_stock, errors.not_ready],
})

export const checkOutRoute = defineRoute({
  method: 'post',
  path: '/api/v1/reservations/{reservation_id}/checkout',
  operationId: 'checkOut',
  summary: 'Check out a reservation',
  description: 'Sells the reserved units. The stock is updated within a second.',
  auth: INTERNAL,
  idempotent: true,
  params,
  answers,
  errors: [catalogErrors.reservation_not_found, catalogErrors.reservation_ended],
})

export const releaseRoute = defineRoute({
  method: 'post',
  path: '/api/v1/reservations/{reservation_id}/release',
  operationId: 'release',
  summary: 'Release a reservation',
  description: 'Makes the reserved units available again. The stock is updated within a second.',
  auth: INTERNAL,
  idempotent: true,
  params,
  answers,
  errors: [catalogErrors.reservation_not_found, catalogErrors.reservation_ended],
})

export const extendRoute = defineRoute({
  method: 'post',
  path: '/api/v1/reservations/{reservation_id}/extend',
  operationId: 'extend',
  summary: 'Extend a reservation',
  description: 'The lifetime of the reservation, by default 15 minutes, begins again. A reservation can be extended once.',
  auth: INTERNAL,
  idempotent: true,
  params,
  answers,
  errors: [catalogErrors.reservation_not_found, catalogErrors.reservation_ended, catalogErrors.reservation_extended],
})

export const readCartRoute = defineRoute({
  method: 'get',
  path: '/api/v1/reservations/{reservation_id}',
  operationId: 'readReservation',
  summary: 'Read a reservation',
  description: 'A reservation can be read for one day after it ends.',
  auth: INTERNAL,
  params,
  answers,
  errors: [catalogErrors.reservation_not_found, errors.not_ready],
})
