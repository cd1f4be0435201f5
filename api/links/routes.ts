import { z } from '@hono/zod-openapi'
import { errors } from '../kit/errors.ts'
import { integerParameter, pageLimitParameter, pageParameter } from '../kit/parameters.ts'
import { defineRoute } from '../kit/route.ts'
import { linksErrors } from './errors.ts'
import { BulkBody, BulkResultSchema, LinkListSchema, LinkPatchBody, LinkSchema, NewLinkBody } from './model.ts'
import { MAX_QR_PIXELS, MIN_QR_PIXELS, QR_FORMATS } from './qr.ts'

const TAG = 'links'
/** 2^53 / 100: the offset of a page stays exact. */
const MAX_PAGE = 90_000_000_000_000
const DEFAULT_QR_PIXELS = 256

const codeParams = z.object({ short_code: z.string().openapi({ example: '3xK9dQa' }) })

/** Answered by redirect.ts on the short domains. */
export const redirectRoute = defineRoute({
  method: 'get',
  path: '/{short_code}',
  operationId: 'followLink',
  summary: 'Leads to the long URL',
  description:
    'On the short domains. Counted as a click, unless the link was made with `analytics: false`, it is HEAD, or a browser asks before anybody has clicked (`Sec-Purpose: prefetch`). An expired link leads to its `expired_url`, which is a redirect like any other and counted so.',
  tag: TAG,
  auth: { kind: 'open' },
  params: codeParams,
  answers: {
    302: { description: 'the long URL', headers: { Location: 'the long URL' } },
    301: { description: 'the long URL of a link whose clicks are not counted: kept for an hour', headers: { Location: 'the long URL' } },
  },
  errors: [
    linksErrors.url_not_found,
    errors.method_not_allowed,
    errors.headers_too_large,
    errors.internal_error,
    errors.not_ready,
    errors.unavailable,
  ],
})

export const createRoute = defineRoute({
  method: 'post',
  path: '/api/v1/urls',
  operationId: 'createLink',
  summary: 'Shortens a URL',
  description:
    'With a token the link is yours, and the same URL gives the same link again. Aliases are case-sensitive and never given twice. When it is answered, the link works everywhere.',
  tag: TAG,
  auth: { kind: 'optional' },
  idempotent: true,
  body: NewLinkBody,
  bodyExample: { long_url: 'https://example.com/a/long/path?with=parameters', expiration: '30d' },
  answers: { 201: { description: 'the link', schema: LinkSchema } },
  errors: [linksErrors.invalid_url, linksErrors.invalid_alias, linksErrors.invalid_domain, linksErrors.alias_taken, errors.not_ready],
})

export const bulkRoute = defineRoute({
  method: 'post',
  path: '/api/v1/urls/bulk',
  operationId: 'createLinks',
  summary: 'Shortens up to 100 URLs',
  description: 'Each as `createLink` does, independently of the others.',
  tag: TAG,
  auth: { kind: 'optional' },
  idempotent: true,
  body: BulkBody,
  bodyExample: { urls: [{ long_url: 'https://example.com/1' }, { long_url: 'https://example.com/2', custom_alias: 'second' }] },
  answers: { 200: { description: 'what became of each', schema: BulkResultSchema } },
  errors: [errors.not_ready],
})

export const listRoute = defineRoute({
  method: 'get',
  path: '/api/v1/urls',
  operationId: 'listLinks',
  summary: 'Your links, newest first',
  description: 'Switched off and expired ones included, deleted ones not. New links appear within a second.',
  tag: TAG,
  auth: { kind: 'user' },
  query: z.object({
    page: pageParameter(MAX_PAGE),
    limit: pageLimitParameter('links'),
  }),
  answers: { 200: { description: 'one page', schema: LinkListSchema } },
  errors: [errors.not_ready],
})

export const patchRoute = defineRoute({
  method: 'patch',
  path: '/api/v1/urls/{short_code}',
  operationId: 'changeLink',
  summary: 'Changes when a link expires, or switches it on or off',
  description: 'Yours, or any with the scope `admin`. A new expiration counts from now, and revives an expired link.',
  tag: TAG,
  auth: { kind: 'user' },
  idempotent: true,
  params: codeParams,
  body: LinkPatchBody,
  bodyExample: { expiration: '7d' },
  answers: { 200: { description: 'the link as it is now', schema: LinkSchema } },
  errors: [linksErrors.invalid_url, linksErrors.url_not_found, errors.not_ready],
})

export const deleteRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/urls/{short_code}',
  operationId: 'deleteLink',
  summary: 'Deletes a link',
  description: 'Yours, or any with the scope `admin`. Its code is not given away again.',
  tag: TAG,
  auth: { kind: 'user' },
  idempotent: true,
  params: codeParams,
  answers: { 204: { description: 'it leads nowhere any more' } },
  errors: [linksErrors.url_not_found, errors.not_ready],
})

export const qrRoute = defineRoute({
  method: 'get',
  path: '/api/v1/urls/{short_code}/qr',
  operationId: 'linkQrCode',
  summary: 'The short link as a QR code',
  description: 'For print and screens; error correction level M, four modules of margin.',
  tag: TAG,
  auth: { kind: 'open' },
  params: codeParams,
  query: z.object({
    format: z.enum(QR_FORMATS).default('svg'),
    size: integerParameter({
      minimum: MIN_QR_PIXELS,
      maximum: MAX_QR_PIXELS,
      default: DEFAULT_QR_PIXELS,
      description: 'width and height in pixels; a PNG has the greatest whole number of pixels per module that fits',
    }),
  }),
  answers: { 200: { description: 'the picture', mediaType: 'image/svg+xml', otherMediaTypes: ['image/png'] } },
  errors: [linksErrors.url_not_found, errors.not_ready],
})
