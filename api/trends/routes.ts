import { z } from '@hono/zod-openapi'
import { WORLDWIDE } from '../../schemas/trends/places/regions.ts'
import { SERVED_ENTRIES } from '../../state/views/trends/trends.ts'
import { errors } from '../kit/errors.ts'
import { booleanParameter, degreesParameter, integerParameter } from '../kit/parameters.ts'
import { defineRoute } from '../kit/route.ts'
import { trendsErrors } from './errors.ts'
import { DEFAULT_HOURS, DEFAULT_RESOLUTION, MAX_HOURS, RESOLUTIONS } from './history-steps.ts'
import { InterestsBody } from './interests.ts'
import { ClosestSchema, HistorySchema, InterestsSchema, LocationSchema, PastListSchema, TrendListSchema } from './model.ts'
import { RefreshBody } from './refresh.ts'

/**
 * Largest valid woeid. Woeids are 32-bit numbers. The largest woeid that this project assigns is 100,000,000 plus a
 * GeoNames id.
 */
const MAX_WOEID = 2 ** 31 - 1
const NO_WOEID = `must be an integer from 0 to ${MAX_WOEID}`

/** Maximum length of a search text. No location has a longer name. */
const MAX_PLACE_TEXT = 100

const woeid = integerParameter({
  minimum: 0,
  maximum: MAX_WOEID,
  default: WORLDWIDE,
  description: 'Id of the location. The default is 1 (worldwide). GET /v1/trends/available lists all locations.',
})

const safe = booleanParameter({ default: false, description: 'Whether to leave out vulgar and insulting terms.' })

export const listRoute = defineRoute({
  method: 'get',
  path: '/v1/trends',
  operationId: 'listTrends',
  summary: 'List the trends of a location',
  description:
    'Returns the newest list, which is at most 3 minutes old and updated twice a minute. With `personalized=true` and a token, the candidates of the location, at most 500, are reranked by the interests of the caller, and excluded topics are left out. Without a token, `personalized` has no effect.',
  auth: { kind: 'optional' },
  query: z.object({
    woeid,
    limit: integerParameter({ minimum: 1, maximum: SERVED_ENTRIES, default: SERVED_ENTRIES, description: 'Maximum number of entries.' }),
    safe,
    personalized: booleanParameter({ default: false, description: 'Whether to rerank by the interests of the caller.' }),
  }),
  answers: {
    200: {
      description: 'The list.',
      schema: TrendListSchema,
      headers: {
        'Cache-Control': '`public, max-age=60` or less; `private, no-store` if personalized.',
        ETag: 'Identifies the plain list. Send it in If-None-Match.',
        Vary: '`Authorization, Cookie` with personalized=true.',
      },
    },
    304: { description: 'The list has not changed since the ETag in If-None-Match.' },
  },
  errors: [trendsErrors.unknown_location, trendsErrors.trends_stale, errors.not_ready],
})

/** Schema of one event, for tools that support Server-Sent Events. */
const streamEvent = z
  .object({
    event: z.enum(['list', 'stale']).optional(),
    data: z
      .string()
      .optional()
      .openapi({ description: 'JSON: the body of `GET /v1/trends`, or the `woeid` of the location whose list is stale.' }),
    retry: z.int().optional().openapi({ description: 'How many milliseconds an `EventSource` waits before it connects again.' }),
  })
  .openapi('TrendsEvent')

export const streamRoute = defineRoute({
  method: 'get',
  path: '/v1/trends/stream',
  operationId: 'streamTrends',
  summary: 'Follow the trends of a location',
  description:
    'Sends the list as a Server-Sent Event `list` at once and whenever the list changes, about twice a minute. Each `list` event contains the body of `GET /v1/trends`. The event `stale` says that the last list is more than 3 minutes old and must not be shown any longer. A comment every 15 s keeps the connection open. The stream ends when the server stops; an `EventSource` then connects again by itself, but not after an error response.',
  auth: { kind: 'optional' },
  query: z.object({ woeid, safe }),
  answers: {
    200: {
      description: 'The stream of events, which stays open.',
      schema: streamEvent,
      mediaType: 'text/event-stream',
      headers: { 'Cache-Control': '`no-store`' },
    },
  },
  errors: [trendsErrors.unknown_location, trendsErrors.trends_stale, trendsErrors.too_many_readers, errors.not_ready],
})

export const locationsRoute = defineRoute({
  method: 'get',
  path: '/v1/trends/available',
  operationId: 'listLocations',
  summary: 'List or find locations with trends',
  description:
    'Returns the location Worldwide, 50 countries and 500 cities. With `q`, returns only locations whose name has a word that begins with `q`. Case, accents and punctuation do not matter. Names that begin with `q` come first.',
  auth: { kind: 'optional' },
  query: z.object({
    q: z
      .string('must be given once')
      .min(1, 'must not be empty')
      .max(MAX_PLACE_TEXT, `must have at most ${MAX_PLACE_TEXT} characters`)
      .optional()
      .openapi({ description: 'The beginning of any word in the name of a location. Default: all locations.', example: 'sao' }),
  }),
  answers: {
    200: {
      description: 'The locations.',
      schema: z.array(LocationSchema),
      headers: { 'Cache-Control': '`public, max-age=3600`', ETag: 'Identifies the list of locations.' },
    },
    304: { description: 'The list of locations has not changed since the ETag in If-None-Match.' },
  },
  errors: [],
})

export const closestRoute = defineRoute({
  method: 'get',
  path: '/v1/trends/closest',
  operationId: 'closestLocation',
  summary: 'Find the nearest city that has trends',
  description: 'Returns the nearest of the 500 cities, however far away it is. `parent` is the country of the city.',
  auth: { kind: 'optional' },
  query: z.object({
    lat: degreesParameter(90, 'Latitude in degrees north.').openapi({ example: 40.7 }),
    long: degreesParameter(180, 'Longitude in degrees east.').openapi({ example: -73.9 }),
  }),
  answers: {
    200: {
      description: 'The city.',
      schema: ClosestSchema,
      headers: { 'Cache-Control': '`public, max-age=3600`', ETag: 'Identifies the city.' },
    },
    304: { description: 'The answer has not changed since the ETag in If-None-Match.' },
  },
  errors: [],
})

export const pastRoute = defineRoute({
  method: 'get',
  path: '/v1/trends/{woeid}/past',
  countsAs: '/v1/trends/{woeid}/past',
  operationId: 'pastTrends',
  summary: 'Get an earlier list',
  description:
    'Returns the newest snapshot of the list from `at` or from the 3 minutes before it. There is a snapshot for each minute of the last 90 days, unless an outage of the service prevented it.',
  auth: { kind: 'optional' },
  params: z.object({
    woeid: z
      .string()
      .regex(/^(0|[1-9]\d{0,9})$/, NO_WOEID)
      .transform(Number)
      .refine((value) => value <= MAX_WOEID, NO_WOEID)
      .openapi({ type: 'integer', minimum: 0, maximum: MAX_WOEID, description: 'Id of the location.', example: WORLDWIDE }),
  }),
  query: z.object({
    at: z.iso
      .datetime({ offset: true, error: 'must be a time in ISO 8601 with seconds and a time zone; write a + as %2B' })
      .transform((text) => Date.parse(text))
      .openapi({ type: 'string', format: 'date-time', description: 'A time in the last 90 days.', example: '2026-01-15T12:00:00Z' }),
    limit: integerParameter({ minimum: 1, maximum: SERVED_ENTRIES, default: SERVED_ENTRIES, description: 'Maximum number of entries.' }),
    safe,
  }),
  answers: {
    200: {
      description: 'The list.',
      schema: PastListSchema,
      headers: { 'Cache-Control': '`public, max-age=30`', ETag: 'Identifies the list.' },
    },
    304: { description: 'The list has not changed since the ETag in If-None-Match.' },
  },
  errors: [trendsErrors.unknown_location, trendsErrors.past_list_not_found, errors.query_too_large, errors.not_ready],
})

export const historyRoute = defineRoute({
  method: 'get',
  path: '/v1/trends/{term}/history',
  countsAs: '/v1/trends/{term}/history',
  operationId: 'termHistory',
  summary: 'Get the volume history of a term',
  description:
    'Returns how often the term occurred in each step. A step without tweets has the volume 0. If the term never occurred, all steps have the volume 0. The last step is still in progress, so its volume may grow. A history has at most 10,000 steps.',
  auth: { kind: 'optional' },
  params: z.object({
    term: z.string().openapi({
      description: 'The term in URL-encoded form. A leading # and the case of letters do not matter.',
      example: 'mondaymotivation',
    }),
  }),
  query: z.object({
    woeid,
    hours: integerParameter({ minimum: 1, maximum: MAX_HOURS, default: DEFAULT_HOURS, description: 'Length of the history in hours.' }),
    resolution: z
      .enum(RESOLUTIONS, `must be one of ${RESOLUTIONS.join(', ')}`)
      .default(DEFAULT_RESOLUTION)
      .openapi({ description: 'Length of a step.' }),
  }),
  answers: {
    200: {
      description: 'The history. The oldest step comes first.',
      schema: HistorySchema,
      headers: { 'Cache-Control': '`public, max-age=60`', ETag: 'Identifies the history.' },
    },
    304: { description: 'The history has not changed since the ETag in If-None-Match.' },
  },
  errors: [trendsErrors.unknown_location, errors.query_too_large, errors.not_ready],
})

export const refreshRoute = defineRoute({
  method: 'post',
  path: '/v1/internal/trends/refresh',
  operationId: 'refreshTrends',
  summary: 'Replace the list of a location',
  description:
    'Publishes a list that another system has computed, in the same way as a list from the trends pipeline. The location shows the list with the newest window_end. If a posted list and a pipeline list have the same window_end, the posted list is shown. A list that is older than the shown list is accepted but has no effect. Ranks follow the order of the entries.',
  auth: { kind: 'scope', scope: 'internal' },
  body: RefreshBody,
  bodyExample: {
    woeid: 1,
    window_end: '2026-01-15T12:00:00.000Z',
    top_k: [{ term: '#MondayMotivation', count: 1200, velocity: 4.2, sample_ids: ['1234567890123456789'] }],
  },
  answers: { 204: { description: 'The list is accepted.' } },
  errors: [trendsErrors.unknown_location, errors.not_ready],
})

export const readInterestsRoute = defineRoute({
  method: 'get',
  path: '/v1/me/interests',
  operationId: 'readInterests',
  summary: 'Get the interests of the caller',
  description: 'Returns the profile of the caller, which is empty if the caller has set none.',
  auth: { kind: 'user' },
  answers: { 200: { description: 'The profile.', schema: InterestsSchema, headers: { 'Cache-Control': '`private, no-store`' } } },
  errors: [errors.not_ready],
})

export const writeInterestsRoute = defineRoute({
  method: 'put',
  path: '/v1/me/interests',
  operationId: 'writeInterests',
  summary: 'Set the interests of the caller',
  description:
    'Replaces the whole profile. A topic is a term, so its case, its width and a leading # do not matter. A weight multiplies the score of its topic. A trend without a weight gets the highest weight of its variants, or else 0.5. Excluded topics never appear in the personalized list.',
  auth: { kind: 'user' },
  body: InterestsBody,
  bodyExample: { topic_weights: { football: 2, politics: 0.1 }, exclude_topics: ['spoilers'] },
  answers: {
    200: { description: 'The profile is stored. All later reads return it.', schema: InterestsSchema },
    202: { description: 'The profile is stored. Reads will return it shortly.', schema: InterestsSchema },
  },
  errors: [errors.not_ready],
})
