import { z } from '@hono/zod-openapi'
import { CONTEXTS } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { DEFAULT_REC_TYPE, REC_TYPES } from '../candidates/generate.ts'
import { idParameter } from '../parameters.ts'

/** Schema of the query parameters that select the list to explain. */
export const choiceQuery = z
  .object({
    user_id: idParameter('The user.').optional(),
    context: z.enum(CONTEXTS, `must be one of ${CONTEXTS.join(', ')}`).default(CONTEXTS[0]),
    rec_type: z.enum(REC_TYPES, `must be one of ${REC_TYPES.join(', ')}`).optional(),
    item_id: idParameter('The item.').optional(),
    diversity: z.enum(['true', 'false'], 'must be true or false').default('false'),
  })
  .transform((choice) => ({ ...choice, rec_type: choice.rec_type ?? DEFAULT_REC_TYPE[choice.context] }))

export type Choice = z.infer<typeof choiceQuery>
type RawQuery = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Returns the first non-empty value of each parameter. Forms also send empty fields, so a parameter with only empty
 * values is left out.
 */
export function givenTexts(query: RawQuery): Record<string, string> {
  const given = Object.entries(query).map(([name, value]) => [name, [value ?? []].flat().find((each) => each !== '')])
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}
