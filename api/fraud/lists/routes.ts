import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import { OPERATORS } from '../operators.ts'
import { ListBody, ListSchema, ListSummarySchema, ListsSchema, NewListBody } from './model.ts'

/** Maximum size of a body. It has room for 1 MiB of values and the JSON syntax around them. */
const MAX_BODY_BYTES = 4 * 1_024 * 1_024
const params = z.object({ name: z.string().openapi({ example: 'mule-accounts' }) })

export const createListRoute = defineRoute({
  method: 'post',
  path: '/api/v1/lists',
  operationId: 'createFraudList',
  summary: 'Create a list',
  description: 'Creates a list of values that rules can read with `inList`. At most 100 lists can exist.',
  auth: OPERATORS,
  idempotent: true,
  maxBodyBytes: MAX_BODY_BYTES,
  body: NewListBody,
  bodyExample: { name: 'mule-accounts', values: ['m1', 'm2'] },
  answers: { 201: { description: 'The list, without its values.', schema: ListSummarySchema } },
  errors: [fraudErrors.list_exists, fraudErrors.settings_limit_reached, errors.not_ready],
})

export const listListsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/lists',
  operationId: 'listFraudLists',
  summary: 'Show all lists, sorted by name',
  description: 'Returns the lists without their values.',
  auth: OPERATORS,
  answers: { 200: { description: 'The lists.', schema: ListsSchema } },
  errors: [errors.not_ready],
})

export const readListRoute = defineRoute({
  method: 'get',
  path: '/api/v1/lists/{name}',
  operationId: 'readFraudList',
  summary: 'Get a list',
  description: 'Returns a list with all of its values.',
  auth: OPERATORS,
  params,
  answers: { 200: { description: 'The list.', schema: ListSchema } },
  errors: [fraudErrors.list_not_found, errors.not_ready],
})

export const replaceListRoute = defineRoute({
  method: 'put',
  path: '/api/v1/lists/{name}',
  operationId: 'replaceFraudList',
  summary: 'Replace the values of a list',
  description: 'Replaces all values at once. Every API instance uses the new values within 10 seconds, and normally within one second.',
  auth: OPERATORS,
  idempotent: true,
  params,
  maxBodyBytes: MAX_BODY_BYTES,
  body: ListBody,
  bodyExample: { values: ['m1', 'm2', 'm3'] },
  answers: { 200: { description: 'The list, without its values.', schema: ListSummarySchema } },
  errors: [fraudErrors.list_not_found, fraudErrors.settings_limit_reached, errors.not_ready],
})

export const deleteListRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/lists/{name}',
  operationId: 'deleteFraudList',
  summary: 'Delete a list',
  description: 'Deletes a list. A list that an enabled rule reads cannot be deleted.',
  auth: OPERATORS,
  idempotent: true,
  params,
  answers: { 204: { description: 'The list is deleted.' } },
  errors: [fraudErrors.list_not_found, fraudErrors.list_in_use, errors.not_ready],
})
