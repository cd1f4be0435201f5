import { z } from '@hono/zod-openapi'
import { MAX_TERM_CODE_POINTS } from '../../../schemas/trends/term.ts'
import { errors } from '../../kit/errors.ts'
import { pageLimitParameter, pageParameter } from '../../kit/parameters.ts'
import { defineRoute } from '../../kit/route.ts'
import { BlockBody, BlockedTermListSchema, BlockedTermSchema } from './model.ts'

const MAX_PAGE = 10_000
const ADMIN = { kind: 'scope', scope: 'admin' } as const
const params = z.object({
  term: z.string().openapi({
    description: `A term in any spelling, of at most ${MAX_TERM_CODE_POINTS} characters.`,
    example: '#MondayMotivation',
  }),
})

export const blockTermRoute = defineRoute({
  method: 'put',
  path: '/v1/admin/trends/blocked/{term}',
  operationId: 'blockTerm',
  summary: 'Block a term',
  description:
    'Within a second, every process leaves the term out of all lists, including past lists, and the terms below it move up. Tweets with the term are still counted. Blocking the term again replaces the reason.',
  auth: ADMIN,
  params,
  body: BlockBody,
  bodyExample: { reason: 'names a victim' },
  answers: {
    200: { description: 'The term is blocked.', schema: BlockedTermSchema },
    202: { description: 'The block is stored. It will take effect shortly.', schema: BlockedTermSchema },
  },
  errors: [errors.not_ready],
})

export const unblockTermRoute = defineRoute({
  method: 'delete',
  path: '/v1/admin/trends/blocked/{term}',
  operationId: 'unblockTerm',
  summary: 'Unblock a term',
  description: 'Lists show the term again within a second. Unblocking a term that is not blocked is not an error.',
  auth: ADMIN,
  params,
  answers: { 204: { description: 'The term is not blocked.' } },
  errors: [errors.not_ready],
})

export const listBlockedRoute = defineRoute({
  method: 'get',
  path: '/v1/admin/trends/blocked',
  operationId: 'listBlockedTerms',
  summary: 'List the blocked terms',
  description: 'Returns the blocked terms in alphabetical order.',
  auth: ADMIN,
  query: z.object({ page: pageParameter(MAX_PAGE), limit: pageLimitParameter('terms') }),
  answers: { 200: { description: 'A page of terms.', schema: BlockedTermListSchema } },
  errors: [errors.not_ready],
})
