import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import { BulkBody, BulkSchema, ChangedEntryBody, EntryListSchema, EntrySchema, listQuery, MAX_BULK_ENTRIES, NewEntryBody } from './model.ts'

const ANALYST = { kind: 'scope', scope: ['fraud:analyst', 'admin'] } as const
const params = z.object({ entry_id: z.string().openapi({ example: '3d5f0f1c6b8e4a2f9c7d1e0b5a493827' }) })
const example = { entity_type: 'DEVICE', entity_value: 'd1', reason: 'chargebacks', ttl_hours: 24 }
/**
 * Maximum size of a bulk request. It has room for a thousand entries with texts of the maximum length, at four bytes
 * per character.
 */
const MAX_BULK_BYTES = 6 * 1_024 * 1_024

export const blockRoute = defineRoute({
  method: 'post',
  path: '/api/v1/blocklist',
  operationId: 'blockEntity',
  summary: 'Block an entity',
  description: 'Within a second of the answer, every API instance blocks transactions of the entity.',
  auth: ANALYST,
  idempotent: true,
  body: NewEntryBody,
  bodyExample: example,
  answers: {
    200: { description: 'The entity already had an equal entry, which is unchanged.', schema: EntrySchema },
    201: { description: 'The new entry.', schema: EntrySchema },
  },
  errors: [fraudErrors.raw_card_number, fraudErrors.blocklist_entry_exists, errors.not_ready],
})

export const listBlocklistRoute = defineRoute({
  method: 'get',
  path: '/api/v1/blocklist',
  operationId: 'listBlocklist',
  summary: 'List the blocklist, newest entries first',
  description: 'Returns the entries that have not expired. A page may have fewer entries than `limit` even if another page follows.',
  auth: ANALYST,
  query: listQuery,
  answers: { 200: { description: 'A page of entries.', schema: EntryListSchema } },
  errors: [errors.not_ready],
})

export const readEntryRoute = defineRoute({
  method: 'get',
  path: '/api/v1/blocklist/{entry_id}',
  operationId: 'readBlocklistEntry',
  summary: 'Get an entry of the blocklist',
  description: 'Returns an entry that has not expired.',
  auth: ANALYST,
  params,
  answers: { 200: { description: 'The entry.', schema: EntrySchema } },
  errors: [fraudErrors.blocklist_entry_not_found, errors.not_ready],
})

export const changeEntryRoute = defineRoute({
  method: 'put',
  path: '/api/v1/blocklist/{entry_id}',
  operationId: 'changeBlocklistEntry',
  summary: 'Change an entry of the blocklist',
  description: 'Replaces `reason`, `blocked_by` and `ttl_hours`. The new lifetime starts now. The entity stays blocked during the change.',
  auth: ANALYST,
  params,
  idempotent: true,
  body: ChangedEntryBody,
  bodyExample: { reason: 'more chargebacks', ttl_hours: 48 },
  answers: { 200: { description: 'The entry as it is now.', schema: EntrySchema } },
  errors: [fraudErrors.blocklist_entry_not_found, errors.not_ready],
})

export const unblockRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/blocklist/{entry_id}',
  operationId: 'unblockEntity',
  summary: 'Remove an entry from the blocklist',
  description: 'Within a second of the answer, no API instance blocks the entity any longer.',
  auth: ANALYST,
  idempotent: true,
  params,
  answers: { 204: { description: 'The entry is removed.' } },
  errors: [fraudErrors.blocklist_entry_not_found, errors.not_ready],
})

export const blockAllRoute = defineRoute({
  method: 'post',
  path: '/api/v1/blocklist/bulk',
  operationId: 'blockEntities',
  summary: 'Block several entities',
  description: `Accepts up to ${MAX_BULK_ENTRIES} entries and returns one result for each, in the same order. After a 503, some entities may already be blocked. Repeat the request with the \`command_id\` as Idempotency-Key.`,
  auth: ANALYST,
  idempotent: true,
  body: BulkBody,
  bodyExample: { entries: [example] },
  maxBodyBytes: MAX_BULK_BYTES,
  answers: { 200: { description: 'The results.', schema: BulkSchema } },
  errors: [errors.not_ready],
})
