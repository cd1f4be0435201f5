import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { IMAGE_WIDTHS, imageFile } from './address.ts'

/** Time limit of the handler. The first request for a large image may have to wait until other images are finished. */
const TIMEOUT_MS = 30_000

export const imageRoute = defineRoute({
  method: 'get',
  path: '/api/v1/images/{content_hash}/{file}',
  operationId: 'productImage',
  summary: 'Get an image of a product',
  description: `Returns a WebP file in one of these widths: ${IMAGE_WIDTHS.join(', ')} pixels. If the original is narrower, the file is as wide as the original. The content at an address never changes.`,
  auth: { kind: 'open' },
  params: z.object({
    content_hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex')
      .openapi({ example: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824' }),
    file: z.enum(IMAGE_WIDTHS.map(imageFile)).openapi({ example: '600.webp' }),
  }),
  timeoutMs: TIMEOUT_MS,
  answers: { 200: { description: 'The image.', schema: z.string().openapi({ format: 'binary' }), mediaType: 'image/webp' } },
  errors: [errors.not_found, errors.unavailable],
})
