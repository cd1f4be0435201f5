import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { pageFileRoute } from '../../kit/page/file-route.ts'
import { defineRoute } from '../../kit/route.ts'
import { trendsErrors } from '../errors.ts'
import { STYLES } from './layout.ts'

/** Returns the schema of a parameter. It accepts any text, because the page itself explains errors in parameters. */
const text = (description: string) =>
  z
    .union([z.string(), z.array(z.string())])
    .optional()
    .openapi({ type: 'string', description })

const woeid = text('Id of the location. The default is 1 (worldwide).')

export const trendsPageRoute = defineRoute({
  method: 'get',
  path: '/trends',
  operationId: 'trendsPage',
  summary: 'Show the trends of a location as an HTML page',
  description: 'The page works without scripts. A map and a search field lead to other locations.',
  auth: { kind: 'open' },
  query: z.object({
    woeid,
    q: text('Text for a search by name. The page then shows the locations whose name has a word that begins with this text.'),
    safe: text('`true` leaves out vulgar and insulting terms.'),
  }),
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  htmlErrors: true,
  errors: [errors.invalid_request, trendsErrors.unknown_location, trendsErrors.trends_stale, errors.not_ready, errors.unavailable],
})

export const termPageRoute = defineRoute({
  method: 'get',
  path: '/trends/terms/{term}',
  // The page counts as a request for the history, so that callers cannot use the page to bypass the rate limit of the
  // history.
  countsAs: '/v1/trends/{term}/history',
  operationId: 'trendsTermPage',
  summary: 'Show the history of a term as an HTML page',
  description: 'The page shows a chart of how often the term was used in a location.',
  auth: { kind: 'open' },
  params: z.object({
    term: z.string().openapi({ description: 'The term, as in `GET /v1/trends/{term}/history`.', example: 'mondaymotivation' }),
  }),
  query: z.object({
    woeid,
    range: text('`day`, `week` or `quarter` (90 days). The default is `day`.'),
    safe: text('`true` leaves out vulgar and insulting terms in the lists to which the page leads.'),
  }),
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  htmlErrors: true,
  errors: [errors.invalid_request, trendsErrors.unknown_location, errors.query_too_large, errors.not_ready, errors.unavailable],
})

export const trendsFileRoute = pageFileRoute(STYLES, 'trendsFile', {
  summary: 'Read the style sheet of the trends pages',
  description: 'Returns the CSS that the trends pages use.',
  example: 'style.css',
})
