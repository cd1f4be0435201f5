import { z } from '@hono/zod-openapi'
import { BLOCKLIST_TYPES } from '../../../schemas/fraud/blocklist/entity.ts'
import type { FraudBlocklistEntry } from '../../../schemas/fraud/types.ts'
import { isBlocklistPlace } from '../../../state/views/fraud/blocklist.ts'
import { pageLimitParameter } from '../../kit/parameters.ts'

/** Maximum lengths, in code points. */
const MAX_VALUE = 320
const MAX_REASON = 500
const MAX_NAME = 200
/** Maximum lifetime of an entry: ten years. An entry that must last longer can be permanent. */
const MAX_TTL_HOURS = 87_600
export const MAX_BULK_ENTRIES = 1_000

function text(maximum: number) {
  return z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .refine((value) => [...value].length <= maximum, `must have at most ${maximum} characters`)
    .openapi({ minLength: 1, maxLength: maximum })
}

const entityType = z.enum(BLOCKLIST_TYPES)

const attributes = {
  reason: text(MAX_REASON).openapi({ example: 'chargebacks' }),
  blocked_by: text(MAX_NAME).optional().openapi({ description: "Who blocked the entity. Default: the token's subject." }),
  ttl_hours: z
    .int()
    .min(1)
    .max(MAX_TTL_HOURS)
    .nullable()
    .default(null)
    .openapi({ description: 'Number of hours after which the entry expires; null for a permanent entry.', example: 24 }),
}

/** Schema of a change. The schema has no fields for the entity, because the entity of an entry never changes. */
export const ChangedEntryBody = z.strictObject(attributes).openapi('ChangedBlocklistEntry')

export const NewEntryBody = z
  .strictObject({
    entity_type: entityType.openapi({ example: 'DEVICE' }),
    entity_value: text(MAX_VALUE).openapi({
      description: 'The value, as it appears in scoring requests. Surrounding white space, the case of e-mail addresses and the spelling of IP addresses do not matter.', // biome-ignore format: one sentence each
      example: 'd1',
    }),
    ...attributes,
  })
  .openapi('NewBlocklistEntry')
export type NewEntry = z.output<typeof NewEntryBody>

/** The entries are checked separately, so that an invalid entry does not prevent the creation of the other entries. */
export const BulkBody = z
  .strictObject({
    entries: z
      .array(z.unknown().openapi({ description: 'An entry, as in the body of `POST /api/v1/blocklist`.' }))
      .min(1)
      .max(MAX_BULK_ENTRIES),
  })
  .openapi('BlocklistBulk')

export const EntrySchema = z
  .object({
    entry_id: z.string(),
    entity_type: entityType,
    entity_value: z.string().openapi({
      description: 'The value in canonical form. For the type `EMAIL`, only the first character and the domain are shown.',
    }),
    reason: z.string(),
    blocked_by: z.string(),
    ttl_hours: z.int().nullable(),
    created_at: z.string(),
    expires_at: z.string().nullable(),
  })
  .openapi('BlocklistEntry')

export const EntryListSchema = z
  .object({
    entries: z.array(EntrySchema),
    next: z.string().nullable().openapi({ description: 'The value of `after` for the next page; null on the last page.' }),
  })
  .openapi('BlocklistEntries')

export const BulkSchema = z
  .object({
    results: z.array(
      z.object({
        status: z.enum(['created', 'exists', 'conflict', 'invalid']).openapi({
          description:
            '`exists`: the entity already has an equal entry. `conflict`: the entity has an entry with different attributes, which is unchanged. `invalid`: see `details`.',
        }),
        entry_id: z.string().nullable().openapi({ description: 'Id of the entry; null if the entry is invalid.' }),
        details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
      }),
    ),
  })
  .openapi('BlocklistBulkResults')

export const listQuery = z.object({
  entity_type: entityType.optional().openapi({ description: 'Default: all types.' }),
  after: z
    .string()
    .refine(isBlocklistPlace, 'must be the `next` of an earlier page')
    .optional()
    .openapi({ description: 'The value of `next` in the previous page.' }),
  limit: pageLimitParameter('entries'),
})

export function entryJson(entry: FraudBlocklistEntry) {
  const { entry_id, entity_type, entity_value, masked_value, reason, blocked_by, ttl_hours, created_at, expires_at } = entry
  return {
    entry_id,
    entity_type,
    entity_value: masked_value ?? entity_value,
    reason,
    blocked_by,
    ttl_hours,
    created_at: new Date(created_at).toISOString(),
    expires_at: expires_at === null ? null : new Date(expires_at).toISOString(),
  }
}
