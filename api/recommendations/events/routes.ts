import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { idField, idParameter } from '../parameters.ts'
import { batchBody, eventBody } from './model.ts'

const accepted = z.object({ status: z.literal('accepted') }).openapi('EventAccepted')
const USER = { kind: 'user', anySubjectOf: 'internal' } as const
const failures = [errors.invalid_request, errors.forbidden, errors.not_ready, errors.unavailable] as const

export const postEventRoute = defineRoute({
  method: 'post',
  path: '/api/v1/events',
  operationId: 'postEvent',
  summary: 'Report what a user did with an item',
  description:
    'A 202 means that every in-sync replica has stored the event. Recommendations take the event into account within two seconds. A repeated event is counted once.',
  auth: USER,
  derivesIds: true,
  body: eventBody,
  bodyExample: { item_id: '318', event_type: 'VIEW', context: { page: 'homepage', position: 3 }, metadata: { watch_pct: 0.9 } },
  answers: { 202: { description: 'The event is stored.', schema: accepted } },
  errors: failures,
})

export const postEventsRoute = defineRoute({
  method: 'post',
  path: '/api/v1/events/batch',
  operationId: 'postEvents',
  summary: 'Report up to 500 events',
  description:
    'A 202 means that all events are stored. After a 503, some of them may be stored, so send the same batch again, with the same Idempotency-Key if any event has neither an id nor a time. For rate limits, each event counts as one request.',
  auth: USER,
  derivesIds: true,
  countsAs: '/api/v1/events',
  units: ({ events }) => events.length,
  body: batchBody,
  bodyExample: { events: [{ item_id: '318', event_type: 'CLICK' }] },
  answers: { 202: { description: 'The events are stored.', schema: accepted.extend({ events: z.int() }).openapi('EventsAccepted') } },
  errors: failures,
})

export const hideRoute = defineRoute({
  method: 'post',
  path: '/api/v1/me/not-interested',
  operationId: 'hideItem',
  summary: 'Never recommend an item again',
  description: 'Only the 1,000 items that the user hid last are remembered. Hiding an item again is not an error.',
  auth: { kind: 'user' },
  body: z.strictObject({ item_id: idField('The item that must not be recommended.') }).openapi('NotInterested'),
  bodyExample: { item_id: '318' },
  answers: { 202: { description: 'The change is stored.', schema: accepted } },
  errors: [errors.invalid_request, errors.not_ready, errors.unavailable],
})

export const unhideRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/me/not-interested/{item_id}',
  countsAs: '/api/v1/me/not-interested',
  operationId: 'unhideItem',
  summary: 'Allow an item to be recommended again',
  description: 'Removes the item from the hidden items of the user. If the item is not hidden, the request still succeeds.',
  auth: { kind: 'user' },
  params: z.object({ item_id: idParameter('The item that may be recommended again.') }),
  answers: { 202: { description: 'The change is stored.', schema: accepted } },
  errors: [errors.invalid_request, errors.not_ready, errors.unavailable],
})
