import { z } from '@hono/zod-openapi'
import { WORLDWIDE } from '../../schemas/trends/places/regions.ts'
import { SERVED_ENTRIES } from '../../state/views/trends/trends.ts'
import { errors } from '../kit/errors.ts'
import { booleanParameter, integerParameter } from '../kit/parameters.ts'
import { defineRoute } from '../kit/route.ts'
import { trendsErrors } from './errors.ts'
import { DEFAULT_HOURS, DEFAULT_RESOLUTION, MAX_HOURS, RESOLUTIONS } from './history-steps.ts'
import { InterestsBody } from './interests.ts'
import { HistorySchema, InterestsSchema, LocationSchema, TrendListSchema } from './model.ts'
import { RefreshBody } from './refresh.ts'

const TAG = 'trends'
/** woeids are 32-bit: the largest one made here is 100,000,000 + a GeoNames id. */
const MAX_WOEID = 2 ** 31 - 1

const woeid = integerParameter({
  minimum: 0,
  maximum: MAX_WOEID,
  default: WORLDWIDE,
  description: 'the location; 1 is worldwide. GET /v1/trends/available lists them all',
})

export const listRoute = defineRoute({
  method: 'get',
  path: '/v1/trends',
  operationId: 'listTrends',
  summary: 'What trends in a location',
  description:
    'The newest list, at most 3 minutes old, renewed twice a minute. With `personalized=true` and a token, the 500 candidates of the location reranked by the interests of the caller, muted topics left out; without a token the plain list.',
  tag: TAG,
  auth: { kind: 'optional' },
  query: z.object({
    woeid,
    limit: integerParameter({ minimum: 1, maximum: SERVED_ENTRIES, default: SERVED_ENTRIES, description: 'how many entries' }),
    personalized: booleanParameter({ default: false, description: 'rerank by the interests of the caller' }),
  }),
  answers: {
    200: {
      description: 'the list',
      schema: TrendListSchema,
      headers: {
        'Cache-Control': '`public, max-age=60` or less; `private, no-store` when personalized',
        ETag: 'of the plain list; send it back in If-None-Match',
        Vary: '`Authorization` when personalized=true',
      },
    },
    304: { description: 'the list has not changed since the ETag in If-None-Match' },
  },
  errors: [trendsErrors.unknown_location, trendsErrors.trends_stale, errors.not_ready],
})

export const locationsRoute = defineRoute({
  method: 'get',
  path: '/v1/trends/available',
  operationId: 'listLocations',
  summary: 'All locations that have trends',
  description: 'Worldwide, 50 countries and 500 cities.',
  tag: TAG,
  auth: { kind: 'optional' },
  answers: {
    200: {
      description: 'the locations',
      schema: z.array(LocationSchema),
      headers: { 'Cache-Control': '`public, max-age=3600`', ETag: 'of the table' },
    },
    304: { description: 'unchanged since the ETag in If-None-Match' },
  },
  errors: [],
})

export const historyRoute = defineRoute({
  method: 'get',
  path: '/v1/trends/{term}/history',
  operationId: 'termHistory',
  summary: 'How often a term was used',
  description:
    'Steps without events have volume 0, so a term that was never seen is all zero. The last step is the running one. At most 10,000 steps.',
  tag: TAG,
  auth: { kind: 'optional' },
  params: z.object({ term: z.string().openapi({ description: 'URL-encoded; # and case do not matter', example: 'mondaymotivation' }) }),
  query: z.object({
    woeid,
    hours: integerParameter({ minimum: 1, maximum: MAX_HOURS, default: DEFAULT_HOURS, description: 'how far back' }),
    resolution: z
      .enum(RESOLUTIONS, `must be one of ${RESOLUTIONS.join(', ')}`)
      .default(DEFAULT_RESOLUTION)
      .openapi({ description: 'length of a step' }),
  }),
  answers: {
    200: {
      description: 'the series, oldest first',
      schema: HistorySchema,
      headers: { 'Cache-Control': '`public, max-age=60`', ETag: 'of the series' },
    },
    304: { description: 'unchanged since the ETag in If-None-Match' },
  },
  errors: [trendsErrors.unknown_location, errors.not_ready],
})

export const refreshRoute = defineRoute({
  method: 'post',
  path: '/v1/internal/trends/refresh',
  operationId: 'refreshTrends',
  summary: 'Replace the list of a location',
  description:
    'For other computations than ours: writes the record that our own pipeline writes. The newer window_end wins; of the same window this list wins; an older one is accepted and changes nothing. Ranks are the order given.',
  tag: TAG,
  auth: { kind: 'scope', scope: 'internal' },
  body: RefreshBody,
  bodyExample: {
    woeid: 1,
    window_end: '2026-01-15T12:00:00.000Z',
    top_k: [{ term: '#MondayMotivation', count: 1200, velocity: 4.2, sample_ids: ['1234567890123456789'] }],
  },
  answers: { 204: { description: 'written' } },
  errors: [trendsErrors.unknown_location, errors.not_ready],
})

export const readInterestsRoute = defineRoute({
  method: 'get',
  path: '/v1/me/interests',
  operationId: 'readInterests',
  summary: 'The interests of the caller',
  description: 'Empty where none were set.',
  tag: TAG,
  auth: { kind: 'user' },
  answers: { 200: { description: 'the profile', schema: InterestsSchema, headers: { 'Cache-Control': '`private, no-store`' } } },
  errors: [errors.not_ready],
})

export const writeInterestsRoute = defineRoute({
  method: 'put',
  path: '/v1/me/interests',
  operationId: 'writeInterests',
  summary: 'Set the interests of the caller',
  description:
    'Replaces the whole profile. A topic is a term: case, width and a leading # do not matter. A weight multiplies the score of the topic (0.5 for topics without one); excluded topics are muted.',
  tag: TAG,
  auth: { kind: 'user' },
  body: InterestsBody,
  bodyExample: { topic_weights: { football: 2, politics: 0.1 }, exclude_topics: ['spoilers'] },
  answers: {
    200: { description: 'stored; every later read sees it', schema: InterestsSchema },
    202: { description: 'stored; reads will see it shortly', schema: InterestsSchema },
  },
  errors: [errors.not_ready],
})
