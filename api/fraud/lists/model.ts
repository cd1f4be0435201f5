import { z } from '@hono/zod-openapi'
import { MAX_STRING_CHARACTERS } from '../../../schemas/fraud/rules/facts.ts'
import { LIST_NAME } from '../../../schemas/fraud/rules/functions.ts'
import type { ListSummary } from '../../../schemas/fraud/settings/flow.ts'
import { isoTime } from '../../kit/times.ts'
import type { HeldList } from '../held-settings.ts'

/**
 * Maximum number of values in a request. It exceeds the limit for a list, so that a list that is somewhat too long
 * reaches the check whose error names that limit.
 */
const MAX_GIVEN_VALUES = 50_000

const ListName = z
  .string()
  .regex(LIST_NAME, 'must have 1 to 50 characters from A-Z a-z 0-9 _ . -')
  .refine((name) => name !== '.' && name !== '..', 'must not be . or ..')
  .openapi({ example: 'mule-accounts' })

const values = z.array(z.string().min(1, 'must not be empty').max(MAX_STRING_CHARACTERS)).max(MAX_GIVEN_VALUES).openapi({
  description:
    'At most 10,000 values, and at most 1 MiB in total. Values are compared exactly. Rules read e-mail addresses and phone numbers only as hashes, so a list must contain their hashes.',
})

export const NewListBody = z.strictObject({ name: ListName, values }).openapi('NewFraudList')
export const ListBody = z.strictObject({ values }).openapi('FraudListChange')

const summary = {
  name: z.string(),
  count: z.int().openapi({ description: 'How many different values the list has.' }),
  updated_by: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
}
export const ListSummarySchema = z.object(summary).openapi('FraudListSummary')
export const ListsSchema = z.object({ lists: z.array(ListSummarySchema) }).openapi('FraudLists')
export const ListSchema = z.object({ ...summary, values: z.array(z.string()) }).openapi('FraudList')

export function summaryJson({ name, count, updated_by, created_at, updated_at }: ListSummary): z.output<typeof ListSummarySchema> {
  return { name, count, updated_by, created_at: isoTime(created_at), updated_at: isoTime(updated_at) }
}

export function summaryOf({ values: { size }, ...list }: HeldList): ListSummary {
  return { ...list, count: size }
}
