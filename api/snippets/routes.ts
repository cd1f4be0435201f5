import { z } from '@hono/zod-openapi'
import { errors } from '../kit/errors.ts'
import { pageLimitParameter, pageParameter } from '../kit/parameters.ts'
import { defineRoute, type StreamedBody } from '../kit/route.ts'
import { snippetErrors } from './errors.ts'
import { MAX_CONTENT_BYTES } from './intake/content.ts'
import { MAX_LISTED, MAX_WORDS, SORTS, type Sort } from './list.ts'
import { CreatedSnippetSchema, DiffSchema, SnippetListSchema, SnippetSchema } from './model.ts'
import { SnippetOptions } from './options.ts'
import { FORM_TYPE, KEY_FIELD, MAX_FORM_BYTES } from './page/reveal-form.ts'

/**
 * Highest page number of a list, about 2^53 / 100. With up to 100 snippets per page, the offset of every page is a safe
 * integer.
 */
const MAX_PAGE = 90_000_000_000_000
const MAX_QUERY_CHARACTERS = 100
/**
 * Time limit for receiving a body. It is enough for ten megabytes over a slow line, and is below the 30 s after which
 * the server closes the connection.
 */
const BODY_TIMEOUT_MS = 25_000
const CREATE_TIMEOUT_MS = 40_000
const FORM_TIMEOUT_MS = 10_000
/**
 * Maximum size of a body. It exceeds the maximum size of content, because JSON may escape every character with six
 * bytes.
 */
const MAX_BODY_BYTES = 6 * MAX_CONTENT_BYTES + 131_072

const idParams = z.object({ paste_id: z.string().openapi({ example: '8fQz03Ls' }) })
const limit = pageLimitParameter('snippets')

const NewSnippetBody = SnippetOptions.extend({
  content: z
    .string()
    .min(1)
    .openapi({ description: `At most ${MAX_CONTENT_BYTES} bytes of UTF-8.` }),
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
/** The answer to a request that should not use a read yet. */
const ASKS_FIRST = {
  description:
    'Redirects to the page of the snippet, which asks the reader before it uses a read. If the reads of a snippet are limited, prefetches, link previews and the navigations of browsers get this answer, unless the request has a token or an Idempotency-Key.',
  headers: { Location: 'The page.' },
}

const CREATION_PATH = '/api/v1/pastes'
const PAGE_PATH = '/p/{paste_id}'

export const createRoute = defineRoute({
  method: 'post',
  path: CREATION_PATH,
  operationId: 'createSnippet',
  summary: 'Create a snippet',
  description:
    'Send the content as JSON, as a form (`curl -F content=@file`), or as plain text with the options in the query (`curl --data-binary @file`). The content is stored byte for byte. When the response arrives, every API instance can return the snippet.',
  auth: { kind: 'optional' },
  idempotent: true,
  query: SnippetOptions,
  streamed,
  maxBodyBytes: MAX_BODY_BYTES,
  timeoutMs: CREATE_TIMEOUT_MS,
  answers: { 201: { description: 'The snippet.', schema: CreatedSnippetSchema } },
  errors: creationErrors,
})

export const versionRoute = defineRoute({
  method: 'post',
  path: '/api/v1/pastes/{paste_id}/versions',
  countsAs: CREATION_PATH,
  operationId: 'createSnippetVersion',
  summary: 'Create a new version of your snippet',
  description:
    'Creates a version that has a new id and refers to its predecessor. If the request omits title, language or visibility, the new version takes the value from its predecessor. For rate limits, the request counts as a creation.',
  auth: { kind: 'user' },
  idempotent: true,
  params: idParams,
  query: SnippetOptions,
  streamed,
  maxBodyBytes: MAX_BODY_BYTES,
  timeoutMs: CREATE_TIMEOUT_MS,
  answers: { 201: { description: 'The new version.', schema: CreatedSnippetSchema } },
  errors: [...creationErrors, snippetErrors.paste_not_found, snippetErrors.private_paste],
})

export const readRoute = defineRoute({
  method: 'get',
  path: '/api/v1/pastes/{paste_id}',
  operationId: 'readSnippet',
  summary: 'Get a snippet with its content',
  description:
    'Returns the snippet. The request counts as a view unless it is a HEAD request, a prefetch or a link preview. If the snippet has `burn_after_reads`, the request uses one of the reads. A repetition with the same Idempotency-Key uses no further read, and is possible until 55 minutes after the last read. It fails if the snippet has expired or its owner has deleted it.',
  auth: { kind: 'optional' },
  idempotent: true,
  params: idParams,
  timeoutMs: CREATE_TIMEOUT_MS,
  answers: { 200: { description: 'The snippet.', schema: SnippetSchema }, 303: ASKS_FIRST },
  errors: readErrors,
})

export const rawRoute = defineRoute({
  method: 'get',
  path: '/api/v1/pastes/{paste_id}/raw',
  operationId: 'readSnippetContent',
  summary: 'Get only the content',
  description: 'Returns the content byte for byte as stored. Like `readSnippet`, the request counts as a view.',
  auth: { kind: 'optional' },
  idempotent: true,
  params: idParams,
  timeoutMs: CREATE_TIMEOUT_MS,
  answers: {
    200: {
      description: 'The content.',
      mediaType: 'text/plain',
      headers: { ETag: 'SHA-256 of the content. Absent for snippets with limited reads.', 'Content-Security-Policy': '`sandbox`' },
    },
    303: ASKS_FIRST,
    304: { description: 'The content matches the ETag in If-None-Match.' },
  },
  errors: readErrors,
})

export const deleteRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/pastes/{paste_id}',
  countsAs: '/api/v1/pastes/{paste_id}',
  operationId: 'deleteSnippet',
  summary: 'Delete your snippet',
  description:
    'Deletes the snippet. Once the response arrives, nobody can read the snippet. A snippet of an anonymous caller has no owner, so nobody can delete it.',
  auth: { kind: 'user' },
  idempotent: true,
  params: idParams,
  answers: { 204: { description: 'The snippet is deleted.' } },
  errors: [snippetErrors.paste_not_found, errors.not_ready],
})

export const diffRoute = defineRoute({
  method: 'get',
  path: '/api/v1/pastes/{paste_id}/diff',
  countsAs: '/api/v1/pastes/{paste_id}/diff',
  operationId: 'compareSnippets',
  summary: 'Compare two snippets',
  description:
    'Compares this snippet with the snippet whose id is in `with`, line by line. Each snippet may have up to 1 MiB and must not have limited reads. The request does not count as a view.',
  auth: { kind: 'optional' },
  params: idParams,
  query: z.object({ with: z.string('must be the id of one snippet').openapi({ example: '8fQz03Lt' }) }),
  answers: { 200: { description: 'The difference.', schema: DiffSchema } },
  errors: [...readErrors, snippetErrors.not_comparable],
})

export const userListRoute = defineRoute({
  method: 'get',
  path: '/api/v1/users/{user_id}/pastes',
  countsAs: '/api/v1/users/{user_id}/pastes',
  operationId: 'listUserSnippets',
  summary: 'List the snippets of a user',
  description:
    'Returns all snippets of the user to the user, and only the public snippets to other callers. For an unknown user, the list is empty.',
  auth: { kind: 'optional' },
  params: z.object({ user_id: z.string().openapi({ example: '42' }) }),
  query: z.object({
    page: pageParameter(MAX_PAGE),
    limit,
    sort: z
      .enum(Object.keys(SORTS) as [Sort, ...Sort[]], `must be one of ${Object.keys(SORTS).join(', ')}`)
      .default('created_at_desc')
      .openapi({ description: 'The order of the list. If it is sorted by title, snippets without a title come last.' }),
  }),
  answers: { 200: { description: 'A page of snippets.', schema: SnippetListSchema } },
  errors: [errors.not_ready],
})

export const searchRoute = defineRoute({
  method: 'get',
  path: '/api/v1/pastes',
  operationId: 'searchSnippets',
  summary: 'List or search public snippets, newest first',
  description: `With \`q\`, which may have at most ${MAX_WORDS} different words, finds snippets in which each of these words occurs in the title, the language or the first 2,048 characters. New snippets are found within seconds. Without \`q\`, lists all snippets. In both cases, only the newest ${MAX_LISTED} can be listed. Snippets with limited reads are never included.`,
  auth: { kind: 'optional' },
  query: z.object({
    q: z.string('must be given once').max(MAX_QUERY_CHARACTERS, `must have at most ${MAX_QUERY_CHARACTERS} characters`).default(''),
    page: pageParameter(MAX_LISTED),
    limit,
  }),
  answers: { 200: { description: 'A page of snippets.', schema: SnippetListSchema } },
  errors: [errors.query_too_large, errors.not_ready],
})

export const pageRoute = defineRoute({
  method: 'get',
  path: PAGE_PATH,
  countsAs: PAGE_PATH,
  operationId: 'snippetPage',
  summary: 'Show a snippet as an HTML page',
  description:
    'Shows the content with highlighted syntax and a link for each line. A snippet with limited reads is shown only after the reader presses a button, because link previews also open pages.',
  auth: { kind: 'optional', isPage: true },
  params: idParams,
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  htmlErrors: true,
  errors: readErrors,
})

const RevealForm = z.object({ [KEY_FIELD]: z.uuid().optional() })

export const revealRoute = defineRoute({
  method: 'post',
  path: PAGE_PATH,
  countsAs: PAGE_PATH,
  operationId: 'revealSnippetPage',
  summary: 'Reveal a snippet with limited reads',
  description:
    "Shows the content and uses one of the snippet's reads. The form on the page contains a random key. Sending the same form again uses no further read, and is possible until 55 minutes after the last read, unless the snippet has expired or its owner has deleted it. Content that is too long for a page is sent as a file.",
  auth: { kind: 'optional', isPage: true },
  acceptsForms: true,
  idempotent: true,
  params: idParams,
  streamed: { content: { [FORM_TYPE]: { schema: RevealForm } }, timeoutMs: FORM_TIMEOUT_MS, isOptional: true },
  maxBodyBytes: MAX_FORM_BYTES,
  timeoutMs: CREATE_TIMEOUT_MS,
  answers: { 200: { description: 'The page, or the content as a file.', mediaType: 'text/html', otherMediaTypes: ['text/plain'] } },
  htmlErrors: true,
  errors: readErrors,
})
