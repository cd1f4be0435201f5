import { z } from '@hono/zod-openapi'
import { CONTEXTS, RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { errors } from '../../kit/errors.ts'
import { booleanParameter, integerParameter } from '../../kit/parameters.ts'
import { defineRoute } from '../../kit/route.ts'
import { CHANNELS } from '../candidates/candidate.ts'
import { REC_TYPES } from '../candidates/generate.ts'
import { recommendationErrors } from '../errors.ts'
import { idParameter } from '../parameters.ts'
import { DEGRADATIONS } from './serve.ts'

const MAX_LIMIT = 50
export const DEFAULT_LIMIT = 20

const explained = z
  .object({
    channel: z.enum(CHANNELS),
    place_by_score: z.int().openapi({
      description:
        'The position that the item would have if the list were sorted only by score, including the boost of new items; for an item of the channel `exploration`, its actual position. Counted from 0.',
    }),
    features: z
      .record(z.string(), z.number())
      .openapi({ description: `Values of the ranking features, by name: ${RANKING_FEATURES.join(', ')}.` }),
  })
  .openapi('ExplainedItem')

const recommendation = z
  .object({
    item_id: z.string(),
    score: z.number().openapi({ description: 'A number from 0 to 1. Scores of the same model_version can be compared.' }),
    title: z.string().nullable().openapi({ description: 'Title of the item; null only while it cannot be read.' }),
    thumbnail_url: z.string().nullable(),
    explanation: z.string().openapi({ example: 'Because you watched “Heat”' }),
    rec_type: z.enum(REC_TYPES),
    source_item_id: z.string().nullable().openapi({
      description: 'The item on which the recommendation is based. Null unless `rec_type` is `similar` or `because_you_watched`.',
    }),
    explain: explained.optional(),
  })
  .openapi('Recommendation')

export const recommendationsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/recommendations',
  operationId: 'recommendations',
  summary: 'Recommend items to a user',
  description:
    'Returns a list of up to 50 items in pages, with a reason for each item. The list contains no items that the user has watched or hidden, unless `degraded` contains `features`. `degraded` names the parts that were unavailable, and contains `model_age` if the model is older than 6 hours.',
  auth: { kind: 'user', anySubjectOf: 'internal' },
  query: z.object({
    user_id: idParameter('The user. Default: the subject of the token. Services may name any user.', '42').optional(),
    context: z.enum(CONTEXTS).optional().openapi({ description: 'Default: homepage.' }),
    item_id: idParameter(
      'The item on which the list is based, for `similar` and `because_you_watched`. Default: the last item that the user viewed.',
    ).optional(),
    rec_type: z.enum(REC_TYPES).optional().openapi({
      description:
        'The kind of list. The default depends on the context: `personalized` for homepage, `similar` for product_page and `because_you_watched` for post_play.',
    }),
    limit: integerParameter({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT, description: 'Maximum number of items per page.' }),
    page_token: z.string().optional().openapi({
      description:
        '`page_token` of the previous page, which is valid for 30 minutes. It replaces `context`, `rec_type`, `item_id` and `diversity`.',
    }),
    diversity: booleanParameter({ default: false, description: 'Whether items that are similar to earlier items are moved down.' }),
    explain: booleanParameter({
      default: false,
      description: 'Whether the items that were ranked for this answer have the field `explain`. Requires the scope `internal`.',
    }),
  }),
  answers: {
    200: {
      description: 'A page of the list.',
      schema: z
        .object({
          recommendations: z.array(recommendation),
          request_id: z
            .string()
            .openapi({ description: 'Id of the list, which all of its pages share. Send it with events as `rec_request_id`.' }),
          model_version: z.string(),
          page_token: z.string().nullable().openapi({ description: 'Token for the next page; null on the last page.' }),
          degraded: z.array(z.enum(DEGRADATIONS)),
          relaxed: z
            .array(z.literal('genre_cap'))
            .openapi({ description: 'Limits that the list exceeds, because fewer than 20 items fit within them.' }),
          features_offset: z
            .int()
            .optional()
            .openapi({ description: 'With `explain`: the offset of the newest event that the list takes into account.' }),
        })
        .openapi('Recommendations'),
    },
  },
  errors: [errors.invalid_request, errors.forbidden, recommendationErrors.invalid_page_token, errors.not_ready],
})
