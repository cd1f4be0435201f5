import { z } from '@hono/zod-openapi'
import { CONTEXTS } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { errors } from '../../kit/errors.ts'
import { pageFileRoute } from '../../kit/page/file-route.ts'
import { defineRoute } from '../../kit/route.ts'
import { REC_TYPES } from '../candidates/generate.ts'

export const EXPLAIN = '/recommendations/explain'
export const SIGN_IN = '/recommendations/sign-in'
export const FILES = '/recommendations/files'

/** The page itself explains errors in a parameter, so the route accepts any text. */
const text = (description: string) =>
  z
    .union([z.string(), z.array(z.string())])
    .optional()
    .openapi({ type: 'string', description })

export const explainRoute = defineRoute({
  method: 'get',
  path: EXPLAIN,
  operationId: 'explainRecommendations',
  summary: 'Show an HTML page that explains how a list is computed',
  description:
    "Shows a user's last items, the recommended list, the number of candidates from each channel, the features and scores of the best 100 candidates, and the quality of the trained models. The list marks items that were moved after scoring. The page requires the scope `internal`, from a token or from the session of the browser. Without a token or a session, it redirects to the sign-in. The list is not recorded as served.",
  // The route does not require the scope, because the page itself says which scope it needs.
  auth: { kind: 'optional', anySubject: true, isPage: true },
  query: z.object({
    user_id: text('The user whose list is explained.'),
    context: text(`One of ${CONTEXTS.join(', ')}. Default: ${CONTEXTS[0]}.`),
    rec_type: text(`One of ${REC_TYPES.join(', ')}. The default depends on the context, as in \`GET /api/v1/recommendations\`.`),
    item_id: text('The item that the list is based on.'),
    diversity: text('`true` moves items down if they are similar to earlier items.'),
  }),
  answers: {
    200: { description: 'The page.', mediaType: 'text/html' },
    303: { description: 'Nobody is signed in.', headers: { Location: 'The sign-in, which then redirects back to the page.' } },
  },
  htmlErrors: true,
  errors: [errors.invalid_request, errors.forbidden],
})

export const signInPageRoute = defineRoute({
  method: 'get',
  path: SIGN_IN,
  operationId: 'signInToRecommendations',
  summary: 'Show the sign-in of the page that explains lists',
  description: 'The page stores a token in the session of the browser and then returns to the page that asked for the sign-in.',
  auth: { kind: 'open' },
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  errors: [],
})

export const explainFileRoute = pageFileRoute(FILES, 'explainFile')
