import { z } from '@hono/zod-openapi'
import type { BlockedTerm } from '../../../schemas/trends/types.ts'

const MAX_REASON = 500

export const BlockBody = z
  .strictObject({
    reason: z
      .string()
      .min(1, 'must not be empty')
      .refine((text) => [...text].length <= MAX_REASON, `must have at most ${MAX_REASON} characters`)
      .openapi({ description: `The reason for blocking the term, at most ${MAX_REASON} characters.` }),
  })
  .openapi('TermBlock')

export const BlockedTermSchema = z
  .object({
    term: z.string().openapi({ description: 'The folded form of the term without #, as in lists.', example: 'mondaymotivation' }),
    name: z.string().openapi({ description: 'The spelling in which the term was blocked.', example: '#MondayMotivation' }),
    reason: z.string(),
    blocked_by: z.string().openapi({ description: "Subject of the administrator's token." }),
    blocked_at: z.iso.datetime(),
  })
  .openapi('BlockedTerm')

export const BlockedTermListSchema = z
  .object({ terms: z.array(BlockedTermSchema), page: z.int(), limit: z.int(), total: z.int() })
  .openapi('BlockedTerms')

export function blockedJson(term: string, { name, reason, blocked_by, blocked_at }: BlockedTerm) {
  return { term, name, reason, blocked_by, blocked_at: new Date(blocked_at).toISOString() }
}
