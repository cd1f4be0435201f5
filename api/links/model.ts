import { z } from '@hono/zod-openapi'
import { EXPIRATIONS } from './expirations.ts'
import { MAX_URL_CHARACTERS } from './long-url.ts'

/** Each link of a bulk request is a command of its own: docs/services/links.md#bulk-creation */
const MAX_BULK_LINKS = 100

const LONG_URL = 'https://example.com/a/long/path?with=parameters'

/** Missing or of another type, these have error codes of their own: they are checked by the handler. */
const givenUrl = (description: string) =>
  z.unknown().openapi({ type: 'string', format: 'uri', maxLength: MAX_URL_CHARACTERS, description, example: LONG_URL })
/** Said here, since it is the handler that misses it. */
const REQUIRED = { required: ['long_url'] }
const expiration = z.enum(EXPIRATIONS)

const newLinkFields = {
  long_url: givenUrl('http or https; stored as a browser would write it').optional(),
  custom_alias: z
    .unknown()
    .optional()
    .openapi({ type: 'string', pattern: '^[0-9A-Za-z_-]{3,10}$', description: 'the short code that you want; case-sensitive' }),
  expiration: expiration.default('never'),
  domain: z
    .unknown()
    .optional()
    .openapi({ type: 'string', description: 'one of the short domains; default: the first', example: 'localhost:8090' }),
  analytics: z.boolean().default(true).openapi({ description: 'false: clicks are not counted, and browsers may keep the redirect (301)' }),
  deduplicate: z.boolean().default(true).openapi({ description: 'signed in: the same URL gives the same link again' }),
  expired_url: givenUrl('where visitors are sent once the link has expired').optional(),
}

export const NewLinkBody = z.object(newLinkFields).openapi('NewLink', REQUIRED)
export type NewLink = z.output<typeof NewLinkBody>

export const BulkBody = z.object({ urls: z.array(NewLinkBody).min(1).max(MAX_BULK_LINKS) }).openapi('NewLinks')

export const LinkPatchBody = z
  .object({
    expiration: expiration.optional().openapi({ description: 'counted from now' }),
    is_active: z.boolean().optional(),
    expired_url: z
      .unknown()
      .optional()
      .openapi({ type: ['string', 'null'], format: 'uri', description: 'null: none' }),
  })
  .refine((patch) => Object.values(patch).some((value) => value !== undefined), 'must change something')
  .openapi('LinkPatch')
export type LinkPatch = z.output<typeof LinkPatchBody>

const timestamp = z.iso.datetime()

export const LinkSchema = z
  .object({
    short_url: z.string().openapi({ example: 'http://localhost:8090/3xK9dQa' }),
    short_code: z.string().openapi({ example: '3xK9dQa' }),
    long_url: z.string().openapi({ example: LONG_URL }),
    created_at: timestamp,
    expires_at: timestamp.nullable().openapi({ description: 'null: never' }),
    domain: z.string().openapi({ example: 'localhost:8090' }),
    is_active: z.boolean().openapi({ description: 'it leads somewhere now' }),
    analytics: z.boolean(),
    expired_url: z.string().nullable(),
  })
  .openapi('Link')

export const LinkListSchema = z
  .object({
    urls: z.array(LinkSchema).openapi({ description: 'newest first' }),
    total: z.int(),
    page: z.int(),
    limit: z.int(),
  })
  .openapi('LinkList')

export const BulkResultSchema = z
  .object({
    results: z.array(
      z.union([LinkSchema.extend({ status: z.literal(201) }), z.object({ status: z.int(), error: z.string(), message: z.string() })]),
    ),
  })
  .openapi('BulkResult', { description: 'in the order of the request; 503: ask for all again with the same Idempotency-Key' })
