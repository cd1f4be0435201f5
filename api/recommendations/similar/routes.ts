import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { integerParameter } from '../../kit/parameters.ts'
import { defineRoute } from '../../kit/route.ts'
import { recommendationErrors } from '../errors.ts'
import { idParameter } from '../parameters.ts'

const MAX_LIMIT = 50
const DEFAULT_LIMIT = 20

/** The ways in which an answer may be degraded: docs/services/recommendations.md#similar-items */
const SIMILAR_DEGRADATIONS = ['neighbours', 'vectors', 'shared_attributes'] as const
export type SimilarDegradation = (typeof SIMILAR_DEGRADATIONS)[number]

export const similarRoute = defineRoute({
  method: 'get',
  path: '/api/v1/items/{item_id}/similar',
  countsAs: '/api/v1/items/{item_id}/similar',
  operationId: 'similarItems',
  summary: 'List similar items',
  description:
    'Items that users often view together with this item come first. They are followed by the items with the most similar vectors, and then by popular items of the same genre.',
  auth: { kind: 'optional', anySubjectOf: 'internal' },
  params: z.object({ item_id: idParameter('The item.') }),
  query: z.object({
    limit: integerParameter({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT, description: 'Maximum number of items.' }),
  }),
  answers: {
    200: {
      description: 'The items, best first.',
      schema: z
        .object({
          source_item: z.string(),
          similar_items: z.array(
            z.object({
              item_id: z.string(),
              similarity_score: z.number().openapi({ description: 'From 0 to 1.' }),
              shared_attributes: z.array(z.string()).openapi({ example: ['genre: Comedy'] }),
            }),
          ),
          degraded: z.array(z.enum(SIMILAR_DEGRADATIONS)).openapi({
            description:
              'The parts that were unavailable. Without them, the answer may contain less similar items or lack shared attributes.',
          }),
        })
        .openapi('SimilarItems'),
    },
  },
  errors: [errors.invalid_request, recommendationErrors.item_not_found, errors.not_ready],
})
