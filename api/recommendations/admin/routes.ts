import { z } from '@hono/zod-openapi'
import { CONTEXTS } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { recommendationErrors } from '../errors.ts'
import { idField, idParameter, timeField } from '../parameters.ts'

const ADMIN = { kind: 'scope', scope: 'admin' } as const
const MAX_LISTED = 500
const MAX_FACTOR = 10
const MAX_AGE_DAYS = 3_650
const TITLE_CHARACTERS = 500
const DESCRIPTION_CHARACTERS = 20_000
const URL_CHARACTERS = 2_048
const ATTRIBUTE_NAME_CHARACTERS = 50
const ATTRIBUTE_CHARACTERS = 500
const MAX_ATTRIBUTES = 50

const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,49}$/, 'must have 1 to 50 characters from a-z, 0-9 and -, and must not begin with -')
  .openapi({ example: 'summer-films' })
const period = { starts_at: timeField().nullable().optional(), ends_at: timeField().nullable().optional() }

const listBody = z.strictObject({
  kind: z.literal('LIST'),
  item_ids: z.array(idField('An item.')).min(1).max(MAX_LISTED),
  contexts: z
    .array(z.enum(CONTEXTS))
    .max(CONTEXTS.length)
    .optional()
    .openapi({ description: 'The contexts in which the items of the list are candidates. Default: all contexts.' }),
  ...period,
})
const boostBody = z.strictObject({
  kind: z.literal('NEW_RELEASE_BOOST'),
  factor: z.number().min(1).max(MAX_FACTOR),
  max_age_days: z.number().min(0).max(MAX_AGE_DAYS),
  ...period,
})
export const editorialBody = z.discriminatedUnion('kind', [listBody, boostBody]).openapi('EditorialList')

const shown = z
  .object({
    name: z.string(),
    kind: z.enum(['LIST', 'NEW_RELEASE_BOOST']),
    item_ids: z.array(z.string()),
    contexts: z.array(z.string()),
    factor: z.number().nullable(),
    max_age_days: z.number().nullable(),
    starts_at: z.iso.datetime().nullable(),
    ends_at: z.iso.datetime().nullable(),
    is_running: z.boolean(),
  })
  .openapi('ShownEditorialList')

export const putEditorialRoute = defineRoute({
  method: 'put',
  path: '/api/v1/editorial-lists/{name}',
  operationId: 'putEditorialList',
  summary: 'Create or replace an editorial list or rule',
  description:
    'A LIST makes its items candidates for recommendation. The rule `new-releases`, which is the only NEW_RELEASE_BOOST, multiplies the scores of new items. If there is no such rule, the scores of items younger than 30 days are multiplied by 1.1. Lists and rules apply only from `starts_at` to `ends_at`. Outside of its period, the rule sets the factor to 1. Changes take effect within a second.',
  auth: ADMIN,
  params: z.object({ name }),
  body: editorialBody,
  bodyExample: { kind: 'LIST', item_ids: ['318', '50'], contexts: ['homepage'] },
  answers: { 200: { description: 'The list or rule.', schema: shown } },
  errors: [errors.invalid_request, errors.not_ready, errors.unavailable],
})

export const listEditorialRoute = defineRoute({
  method: 'get',
  path: '/api/v1/editorial-lists',
  operationId: 'editorialLists',
  summary: 'List all editorial lists and rules',
  description: 'Returns all lists and rules. A change appears in less than a second.',
  auth: ADMIN,
  answers: { 200: { description: 'The lists and rules.', schema: z.object({ lists: z.array(shown) }).openapi('EditorialLists') } },
  errors: [errors.not_ready],
})

export const deleteEditorialRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/editorial-lists/{name}',
  operationId: 'deleteEditorialList',
  summary: 'Remove an editorial list or rule',
  description: 'The list or rule stops having an effect within a second.',
  auth: ADMIN,
  params: z.object({ name }),
  answers: { 204: { description: 'The list or rule is removed.' } },
  errors: [errors.invalid_request, recommendationErrors.editorial_list_not_found, errors.not_ready, errors.unavailable],
})

export const putItemRoute = defineRoute({
  method: 'put',
  path: '/internal/items/{item_id}',
  operationId: 'putItem',
  summary: 'Store an item that can be recommended',
  description:
    'Creates or replaces the item. A body with an older `updated_at` than the stored item has no effect. An INACTIVE item disappears from answers within a second and keeps its statistics.',
  auth: { kind: 'scope', scope: 'internal' },
  params: z.object({ item_id: idParameter('The item.') }),
  body: z
    .strictObject({
      title: z.string().min(1).max(TITLE_CHARACTERS),
      description: z.string().max(DESCRIPTION_CHARACTERS).optional(),
      category_path: z.string().max(TITLE_CHARACTERS).optional().openapi({ example: 'Movies/Comedy' }),
      attributes: z
        .record(z.string().min(1).max(ATTRIBUTE_NAME_CHARACTERS), z.string().max(ATTRIBUTE_CHARACTERS), {
          error: ({ code }) => (code === 'invalid_key' ? `names must have 1 to ${ATTRIBUTE_NAME_CHARACTERS} characters` : undefined),
        })
        .refine((attributes) => Object.keys(attributes).length <= MAX_ATTRIBUTES, `has more than ${MAX_ATTRIBUTES} attributes`)
        .optional()
        .openapi({ description: '`genres` may contain several genres, separated by | or commas.', example: { genres: 'Comedy|Drama' } }),
      popularity: z.number().min(0).max(1).optional(),
      thumbnail_url: z
        .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
        .max(URL_CHARACTERS)
        .nullable()
        .optional(),
      status: z.enum(['ACTIVE', 'INACTIVE']).optional(),
      created_at: timeField().optional(),
      updated_at: timeField().optional(),
    })
    .openapi('PutItem'),
  bodyExample: { title: 'Heat', category_path: 'Movies', attributes: { genres: 'Crime|Drama' } },
  answers: { 204: { description: 'The item is stored, unless the stored item is newer.' } },
  errors: [errors.invalid_request, errors.not_ready, errors.unavailable],
})
