import { z } from '@hono/zod-openapi'
import { canonicalEmail, canonicalId, canonicalIp } from '../../../schemas/fraud/canonical.ts'
import type { PersonalHashes } from '../../../schemas/fraud/personal-hash.ts'
import type { FraudSnooze, FraudSnoozeEntity } from '../../../schemas/fraud/types.ts'
import { isoTime } from '../../kit/times.ts'

const MAX_VALUE = 320
const MAX_REASON = 500
/**
 * Maximum number of hours in a request, equal to one year. It exceeds the real limit of 720 hours, so that a longer
 * snooze gets an error that states the real limit.
 */
const MAX_HOURS = 8_760
/** The hash of an e-mail address. */
const HASH = /^[0-9a-f]{32}$/

const entityType = z.enum(['USER', 'DEVICE', 'IP', 'CARD_HASH', 'EMAIL', 'MERCHANT'])

export const NewSnoozeBody = z
  .strictObject({
    entity_type: entityType,
    entity_value: z.string().trim().min(1, 'must not be empty').max(MAX_VALUE).openapi({
      description: 'The value, as it appears in scoring requests. For EMAIL, the `email_hash` that a transaction shows is also accepted.',
      example: 'u1',
    }),
    hours: z.int().min(1).max(MAX_HOURS).openapi({ description: 'Length of the snooze in hours, at most 720.', example: 24 }),
    reason: z.string().trim().min(1).max(MAX_REASON).nullable().default(null),
  })
  .openapi('NewFraudSnooze')

export const SnoozeSchema = z
  .object({
    snooze_id: z.string(),
    rule_id: z.string(),
    entity_type: entityType,
    entity_value: z.string().openapi({ description: 'The value. For EMAIL, this is the hash of the address.' }),
    until: z.string(),
    reason: z.string().nullable(),
    created_by: z.string(),
    created_at: z.string(),
  })
  .openapi('FraudSnooze')

export const SnoozeListSchema = z
  .object({ snoozes: z.array(SnoozeSchema), page: z.int(), limit: z.int(), total: z.int() })
  .openapi('FraudSnoozes')

/**
 * Returns an entity's value in canonical form, as in scored transactions; undefined if no entity of the type can have
 * this value.
 */
export function snoozedValue(type: FraudSnoozeEntity, value: string, hashes: Pick<PersonalHashes, 'email'>): string | undefined {
  if (type === 'IP') return canonicalIp(value)
  if (type !== 'EMAIL') return canonicalId(value)
  if (HASH.test(value)) return value
  return canonicalEmail(value).includes('@') ? hashes.email(value) : undefined
}

export function snoozeJson({ until, created_at, ...snooze }: FraudSnooze): z.output<typeof SnoozeSchema> {
  return { ...snooze, until: isoTime(until), created_at: isoTime(created_at) }
}
