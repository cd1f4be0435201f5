import { z } from '@hono/zod-openapi'
import { errors } from '../kit/errors.ts'
import { pageLimitParameter, pageParameter } from '../kit/parameters.ts'
import { defineRoute, type StreamedBody } from '../kit/route.ts'
import { snippetErrors } from './errors.ts'
import { MAX_CONTENT_BYTES } from './intake/content.ts'
import { MAX_NEWEST, MAX_WORDS, SORTS, type Sort } from './list.ts'
import { CreatedSnippetSchema, DiffSchema, SnippetListSchema, SnippetSchema } from './model.ts'
import { SnippetOptions } from './options.ts'

const TAG = 'snippets'
/** 2^53 / 100: the offset of a page stays exact. */
const MAX_PAGE = 90_000_000_000_000
/** A search goes through what it finds: nobody reads further than this. */
const MAX_SEARCH_PAGE = 1_000
const MAX_QUERY_CHARACTERS = 100
/** Ten megabytes over a slow line; the server itself ends requests after 30 s. */
const BODY_TIMEOUT_MS = 25_000
const CREATE_TIMEOUT_MS = 40_000
/** Every character may be escaped in six bytes. */
const MAX_BODY_BYTES = 6 * MAX_CONTENT_BYTES + 131_072

const idParams = z.object({ paste_id: z.string().openapi({ example: '8fQz03Ls' }) })
const limit = pageLimitParameter('snippets')

const NewSnippetBody = SnippetOptions.extend({
  content: z
    .string()
    .min(1)
    .openapi({ description: `at most ${MAX_CONTENT_BYTES} bytes of UTF-8` }),
}).openapi('NewSnippet')

const streamed: StreamedBody = {
  content: {
    'application/json': {
      schema: NewSnippetBody,
      example: { content: 'print("hello")\n', title: 'Hello', language: 'python', expiration: '1d', visibility: 'unlisted' },
    },
    'text/plain': { schema: z.string().min(1), example: 'print("hello")\n' },
    'multipart/form-data': { schema: NewSnippetBody },
  },
  timeoutMs: BODY_TIMEOUT_MS,
}
const creationErrors = [snippetErrors.invalid_content, snippetErrors.invalid_language, errors.not_ready]
const readErrors = [snippetErrors.paste_not_found, snippetErrors.private_paste, errors.not_ready]

const CREATION_PATH = '/api/v1/pastes'

export const createRoute = defineRoute({
  method: 'post',
  path: CREATION_PATH,
  operationId: 'createSnippet',
  summary: 'Stores a text',
  description:
    'As JSON, as a form (`curl -F content=@file`), or as the bare text with the options in the query (`curl --data-binary @file`). The content is stored byte for byte. When it is answered, every instance can read it.',
  tag: TAG,
  auth: { kind: 'optional' },
  idempotent: true,
  query: SnippetOptions,
  streamed,
  maxBodyBytes: MAX_BODY_BYTES,
  timeoutMs: CREATE_TIMEOUT_MS,
  answers: { 201: { description: 'the snippet', schema: CreatedSnippetSchema } },
  errors: creationErrors,
})

export const versionRoute = defineRoute({
  method: 'post',
  path: '/api/v1/pastes/{paste_id}/versions',
  countsAs: CREATION_PATH,
  operationId: 'createSnippetVersion',
  summary: 'Stores a new version of your snippet',
  description:
    'Under an id of its own, which names its predecessor. Title, language and visibility are those of the predecessor where they are left out. Counts as a creation for rate limits.',
  tag: TAG,
  auth: { kind: 'user' },
  idempotent: true,
  params: idParams,
  query: SnippetOptions,
  streamed,
  maxBodyBytes: MAX_BODY_BYTES,
  timeoutMs: CREATE_TIMEOUT_MS,
  answers: { 201: { description: 'the new version', schema: CreatedSnippetSchema } },
  errors: [...creationErrors, snippetErrors.paste_not_found, snippetErrors.private_paste],
})

export const readRoute = defineRoute({
  method: 'get',
  path: '/api/v1/pastes/{paste_id}',
  operationId: 'readSnippet',
  summary: 'A snippet with its content',
  description:
    'Counts as a view; HEAD does not. Of a snippet with `burn_after_reads` this takes one of the reads: with an Idempotency-Key the same read can be asked for again for a day, also after the last one, unless its time is over or it was deleted.',
  tag: TAG,
  auth: { kind: 'optional' },
  idempotent: true,
  params: idParams,
  timeoutMs: CREATE_TIMEOUT_MS,
  answers: { 200: { description: 'the snippet', schema: SnippetSchema } },
  errors: readErrors,
})

export const rawRoute = defineRoute({
  method: 'get',
  path: '/api/v1/pastes/{paste_id}/raw',
  operationId: 'readSnippetContent',
  summary: 'The content and nothing else',
  description: 'Byte for byte as it was stored. Counts as a view, as `readSnippet` does.',
  tag: TAG,
  auth: { kind: 'optional' },
  idempotent: true,
  params: idParams,
  timeoutMs: CREATE_TIMEOUT_MS,
  answers: {
    200: {
      description: 'the content',
      mediaType: 'text/plain',
      headers: { ETag: 'the SHA-256 of the content; not on snippets that burn', 'Content-Security-Policy': '`sandbox`' },
    },
    304: { description: 'the content is the one of the ETag in If-None-Match' },
  },
  errors: readErrors,
})

export const deleteRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/pastes/{paste_id}',
  operationId: 'deleteSnippet',
  summary: 'Deletes your snippet',
  description: 'Nobody can read it any more when this is answered. Snippets of anonymous callers belong to nobody.',
  tag: TAG,
  auth: { kind: 'user' },
  idempotent: true,
  params: idParams,
  answers: { 204: { description: 'it is gone' } },
  errors: [snippetErrors.paste_not_found, errors.not_ready],
})

export const diffRoute = defineRoute({
  method: 'get',
  path: '/api/v1/pastes/{paste_id}/diff',
  operationId: 'compareSnippets',
  summary: 'What is different between two snippets',
  description: 'From this one to the one in `with`, by lines. Up to 1 MiB each; not of snippets that burn. Counts as no view.',
  tag: TAG,
  auth: { kind: 'optional' },
  params: idParams,
  query: z.object({ with: z.string().openapi({ example: '8fQz03Lt' }) }),
  answers: { 200: { description: 'the difference', schema: DiffSchema } },
  errors: [...readErrors, snippetErrors.not_comparable],
})

export const userListRoute = defineRoute({
  method: 'get',
  path: '/api/v1/users/{user_id}/pastes',
  operationId: 'listUserSnippets',
  summary: 'The snippets of a user',
  description: 'All of them to their owner, the public ones to everybody else. Nothing for a user who is not known.',
  tag: TAG,
  auth: { kind: 'optional' },
  params: z.object({ user_id: z.string().openapi({ example: '42' }) }),
  query: z.object({
    page: pageParameter(MAX_PAGE),
    limit,
    sort: z
      .enum(Object.keys(SORTS) as [Sort, ...Sort[]], `must be one of ${Object.keys(SORTS).join(', ')}`)
      .default('created_at_desc')
      .openapi({ description: 'without a title last' }),
  }),
  answers: { 200: { description: 'one page', schema: SnippetListSchema } },
  errors: [errors.not_ready],
})

export const searchRoute = defineRoute({
  method: 'get',
  path: '/api/v1/pastes',
  operationId: 'searchSnippets',
  summary: 'Public snippets, newest first',
  description: `With \`q\`: those that hold all its words, at most ${MAX_WORDS}, in title, language or the first 2,048 characters; new ones are found within seconds. Without: the newest ${MAX_NEWEST}. What burns is in neither.`,
  tag: TAG,
  auth: { kind: 'optional' },
  query: z.object({
    q: z.string().max(MAX_QUERY_CHARACTERS, `must have at most ${MAX_QUERY_CHARACTERS} characters`).default(''),
    page: pageParameter(MAX_SEARCH_PAGE),
    limit,
  }),
  answers: { 200: { description: 'one page', schema: SnippetListSchema } },
  errors: [errors.not_ready],
})

export const pageRoute = defineRoute({
  method: 'get',
  path: '/p/{paste_id}',
  operationId: 'snippetPage',
  summary: 'A page for people',
  description:
    'Highlighted, with a link to each line. A snippet that burns is shown only after a button was pressed, since previews of links open pages, too.',
  tag: TAG,
  auth: { kind: 'optional' },
  params: idParams,
  answers: { 200: { description: 'the page', mediaType: 'text/html' } },
  htmlErrors: true,
  errors: readErrors,
})

export const revealRoute = defineRoute({
  method: 'post',
  path: '/p/{paste_id}',
  operationId: 'revealSnippetPage',
  summary: 'The page of a snippet that burns',
  description: 'Takes one of its reads.',
  tag: TAG,
  auth: { kind: 'optional' },
  params: idParams,
  answers: { 200: { description: 'the page', mediaType: 'text/html' } },
  htmlErrors: true,
  errors: readErrors,
})
