import { z } from '@hono/zod-openapi'
import { CONTEXTS } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { errors } from '../../kit/errors.ts'
import { pageFileRoute } from '../../kit/page/file-route.ts'
import { defineRoute } from '../../kit/route.ts'
import { REC_TYPES } from '../candidates/generate.ts'

export const EXPLAIN = '/recommendations/explain'
export const SIGN_IN = '/recommendations/sign-in'
export const FILES = '/recommendations/files'

/** The page itself explains what is wrong with a parameter, so the route takes any text. */
const text = (description: string) =>
  z
    .union([z.string(), z.array(z.string())])
    .optional()
    .openapi({ type: 'string', description })

export const explainRoute = defineRoute({
  method: 'get',
  path: EXPLAIN,
  operationId: 'explainRecommendations',
  summary: 'Show an HTML page that explains how a list is made',
  description:
    "Shows a user's last items, the list with what arranging has moved, all candidates with their channels, features and scores, and how good the trained models are. Needs the scope `internal`, by a token or by the session of the browser; without one it leads to the sign-in. Nothing is recorded as served.",
  auth: { kind: 'optional', anySubjectOf: 'internal' },
  query: z.object({
    user_id: text('The user whose list is explained.'),
    context: text(`One of ${CONTEXTS.join(', ')}.`),
    rec_type: text(`One of ${REC_TYPES.join(', ')}.`),
    item_id: text('What the list is about.'),
    diversity: text('`true` puts items that are like earlier ones later.'),
  }),
  answers: {
    200: { description: 'The page.', mediaType: 'text/html' },
    303: { description: 'Nobody is signed in.', headers: { Location: 'The sign-in, which leads back.' } },
  },
  htmlErrors: true,
  errors: [errors.invalid_request, errors.forbidden],
})

export const signInPageRoute = defineRoute({
  method: 'get',
  path: SIGN_IN,
  operationId: 'signInToRecommendations',
  summary: 'Show the sign-in of the page that explains lists',
  description: 'The page puts a token into the session of the browser and then leads to the page for which it was opened.',
  auth: { kind: 'open' },
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  errors: [],
})

export const explainFileRoute = pageFileRoute(FILES, 'explainFile')
