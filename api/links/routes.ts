import { z } from '@hono/zod-openapi'
import { errors } from '../kit/errors.ts'
import { integerParameter, pageLimitParameter, pageParameter } from '../kit/parameters.ts'
import { defineRoute } from '../kit/route.ts'
import { linksErrors } from './errors.ts'
import { BulkBody, BulkResultSchema, LinkListSchema, LinkPatchBody, LinkSchema, NewLinkBody } from './model.ts'
import { MAX_QR_PIXELS, MIN_QR_PIXELS, QR_FORMATS } from './qr.ts'

/**
 * Highest page number, about 2^53 / 100. With up to 100 links per page, the offset of every page is a safe integer.
 */
const MAX_PAGE = 90_000_000_000_000
const DEFAULT_QR_PIXELS = 256

const codeParams = z.object({ short_code: z.string().openapi({ example: '3xK9dQa' }) })

/**
 * Definition of the redirect for the documentation. The code in redirect.ts handles these requests on the short
 * domains.
 */
export const redirectRoute = defineRoute({
  method: 'get',
  path: '/{short_code}',
  operationId: 'followLink',
  summary: 'Redirect to the long URL',
  description:
    'Redirects a request to one of the short domains. The request counts as a click unless the link has `analytics: false`, the method is HEAD, or the browser only prefetches (`Sec-Purpose: prefetch`). An expired link redirects to its `expired_url`, which also counts as a click.',
  auth: { kind: 'open' },
  params: codeParams,
  answers: {
    302: {
      description: 'Redirects to the long URL, or to the `expired_url` of an expired link.',
      headers: { Location: 'The long URL, or the `expired_url`.' },
    },
    301: {
      description: 'Redirects to the long URL of a link whose clicks are not counted. The redirect may be cached for up to an hour.',
      headers: { Location: 'The long URL.' },
    },
  },
  errors: [
    linksErrors.url_not_found,
    errors.method_not_allowed,
    errors.request_timeout,
    errors.headers_too_large,
    errors.internal_error,
    errors.not_ready,
    errors.unavailable,
  ],
  htmlErrors: true,
})

export const createRoute = defineRoute({
  method: 'post',
  path: '/api/v1/urls',
  operationId: 'createLink',
  summary: 'Shorten a URL',
  description:
    'With a token, the link belongs to you. If you shorten the same URL again, with the same domain and `analytics`, you get the same link while it is active. This does not apply if one of the requests has an alias or `deduplicate: false`. Aliases are case-sensitive and never reused. When the response arrives, the link works on every API instance.',
  auth: { kind: 'optional' },
  idempotent: true,
  body: NewLinkBody,
  bodyExample: { long_url: 'https://example.com/a/long/path?with=parameters', expiration: '30d' },
  answers: { 201: { description: 'The link.', schema: LinkSchema } },
  errors: [linksErrors.invalid_url, linksErrors.invalid_alias, linksErrors.invalid_domain, linksErrors.alias_taken, errors.not_ready],
})

export const bulkRoute = defineRoute({
  method: 'post',
  path: '/api/v1/urls/bulk',
  countsAs: '/api/v1/urls',
  units: ({ urls }) => urls.length,
  operationId: 'createLinks',
  summary: 'Shorten up to 100 URLs',
  description: 'Creates each link as `createLink` does, independently of the other links. Rate limits count each link as one creation.',
  auth: { kind: 'optional' },
  idempotent: true,
  body: BulkBody,
  bodyExample: { urls: [{ long_url: 'https://example.com/1' }, { long_url: 'https://example.com/2', custom_alias: 'second' }] },
  answers: { 200: { description: 'The result for each URL.', schema: BulkResultSchema } },
  errors: [errors.not_ready],
})

export const listRoute = defineRoute({
  method: 'get',
  path: '/api/v1/urls',
  operationId: 'listLinks',
  summary: 'List your links, newest first',
  description:
    'Returns your links, including links that are switched off or expired. Deleted links are left out. A new link appears within a second.',
  auth: { kind: 'user' },
  query: z.object({
    page: pageParameter(MAX_PAGE),
    limit: pageLimitParameter('links'),
  }),
  answers: { 200: { description: 'A page of links.', schema: LinkListSchema } },
  errors: [errors.not_ready],
})

export const patchRoute = defineRoute({
  method: 'patch',
  path: '/api/v1/urls/{short_code}',
  countsAs: '/api/v1/urls/{short_code}',
  operationId: 'changeLink',
  summary: 'Change when a link expires, where it leads then, or whether it is active',
  description:
    'Changes one of your own links or, with the scope `admin`, any link. A new `expiration` starts now and reactivates an expired link. If an administrator switched a link off, only an administrator can switch it on again.',
  auth: { kind: 'user' },
  idempotent: true,
  params: codeParams,
  body: LinkPatchBody,
  bodyExample: { expiration: '7d' },
  answers: { 200: { description: 'The changed link.', schema: LinkSchema } },
  errors: [linksErrors.invalid_url, linksErrors.url_not_found, errors.not_ready],
})

export const deleteRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/urls/{short_code}',
  countsAs: '/api/v1/urls/{short_code}',
  operationId: 'deleteLink',
  summary: 'Delete a link',
  description: 'Deletes one of your own links or, with the scope `admin`, any link. The short code is never reused.',
  auth: { kind: 'user' },
  idempotent: true,
  params: codeParams,
  answers: { 204: { description: 'The link is deleted.' } },
  errors: [linksErrors.url_not_found, errors.not_ready],
})

export const qrRoute = defineRoute({
  method: 'get',
  path: '/api/v1/urls/{short_code}/qr',
  countsAs: '/api/v1/urls/{short_code}/qr',
  operationId: 'linkQrCode',
  summary: 'Get the short link as a QR code',
  description: 'Returns an image with error correction level M and a margin of four modules, which suits print and screens.',
  auth: { kind: 'open' },
  params: codeParams,
  query: z.object({
    format: z.enum(QR_FORMATS).default('svg'),
    size: integerParameter({
      minimum: MIN_QR_PIXELS,
      maximum: MAX_QR_PIXELS,
      default: DEFAULT_QR_PIXELS,
      description:
        'Width and height in pixels. In a PNG, the side of each module is the largest whole number of pixels at which the code fits.',
    }),
  }),
  answers: { 200: { description: 'The image.', mediaType: 'image/svg+xml', otherMediaTypes: ['image/png'] } },
  errors: [linksErrors.url_not_found, errors.not_ready],
})
