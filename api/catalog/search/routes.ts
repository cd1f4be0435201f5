import { z } from '@hono/zod-openapi'
import { normalised } from '../../../schemas/normalised.ts'
import { errors } from '../../kit/errors.ts'
import { integerParameter } from '../../kit/parameters.ts'
import { defineRoute } from '../../kit/route.ts'
import { catalogErrors } from '../errors.ts'
import { namedSynonymGroup, searchAnswer, suggestAnswer, synonymGroup } from './model.ts'
import { searchParameters } from './request/parameters.ts'

export const searchRoute = defineRoute({
  method: 'get',
  path: '/api/v1/products/search',
  operationId: 'searchProducts',
  summary: 'Search products',
  description:
    'Finds public products by words, category, price, brand, rating and attributes. Also counts the results for each value by which they can be filtered further. Each value is counted under all chosen filters except those on the same property.',
  auth: { kind: 'optional', anySubjectOf: 'admin' },
  query: searchParameters,
  answers: { 200: { description: 'A page of results.', schema: searchAnswer } },
  errors: [errors.invalid_request, catalogErrors.unknown_category, errors.forbidden, errors.not_ready, errors.unavailable],
})

const MOST_PREFIX_CHARACTERS = 100

export const suggestRoute = defineRoute({
  method: 'get',
  path: '/api/v1/products/suggest',
  operationId: 'suggestProducts',
  summary: 'Get suggestions while a query is typed',
  description:
    'Returns the titles of products whose title and brand together contain all words of the query. The last word may be incomplete. Also returns brands of these products, and categories. A brand is returned if one of its words begins with a word of the query. A category is returned if every word of the query is the beginning of a word in its name.',
  auth: { kind: 'open' },
  query: z.object({
    q: z
      .string('must be given once')
      .transform((text) => normalised(text).trim())
      .refine(
        (text) => text.length > 0 && [...text].length <= MOST_PREFIX_CHARACTERS,
        `must have 1 to ${MOST_PREFIX_CHARACTERS} characters`,
      )
      .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be text without NUL')
      .openapi({ type: 'string', minLength: 1, maxLength: MOST_PREFIX_CHARACTERS, example: 'cordl' }),
    limit: integerParameter({ minimum: 1, maximum: 20, default: 10, description: 'Maximum number of titles.' }),
  }),
  answers: {
    200: {
      description: 'The titles of the best products first, the most frequent brands first, and the categories sorted by path.',
      schema: suggestAnswer,
    },
  },
  errors: [errors.invalid_request, errors.not_ready, errors.unavailable],
})

const name = z
  .string()
  .regex(/^[a-z0-9-]{1,64}$/, 'must have 1 to 64 characters from a-z, 0-9 and -')
  .openapi({ example: 'sofa' })

export const putSynonymsRoute = defineRoute({
  method: 'put',
  path: '/api/v1/search/synonyms/{name}',
  operationId: 'putSynonyms',
  summary: 'Create or replace a group of synonyms',
  description: 'Searches use the group within a second.',
  auth: { kind: 'scope', scope: 'admin' },
  params: z.object({ name }),
  body: synonymGroup,
  bodyExample: { terms: ['sofa', 'couch'], one_way: false },
  answers: { 200: { description: 'The group.', schema: namedSynonymGroup } },
  errors: [errors.invalid_request, errors.unavailable],
})

export const deleteSynonymsRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/search/synonyms/{name}',
  operationId: 'deleteSynonyms',
  summary: 'Remove a group of synonyms',
  description: 'Searches stop using the group within a second. Removing a group that does not exist is not an error.',
  auth: { kind: 'scope', scope: 'admin' },
  params: z.object({ name }),
  answers: { 204: { description: 'The group no longer exists.' } },
  errors: [errors.invalid_request, errors.unavailable],
})

export const listSynonymsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/search/synonyms',
  operationId: 'listSynonyms',
  summary: 'List all groups of synonyms',
  description: 'Returns the groups, sorted by name.',
  auth: { kind: 'scope', scope: 'admin' },
  answers: { 200: { description: 'The groups.', schema: z.object({ groups: z.array(namedSynonymGroup) }).openapi('SynonymGroups') } },
  errors: [errors.not_ready],
})
