import { z } from '@hono/zod-openapi'
import { EXPIRATIONS } from './expirations.ts'
import { MAX_URL_CHARACTERS } from './long-url.ts'

/** Maximum number of links in a bulk request. Each link is a separate command: docs/services/links.md#bulk-creation */
const MAX_BULK_LINKS = 100

const LONG_URL = 'https://example.com/a/long/path?with=parameters'

/** The handler validates these fields, because each has a specific error code. */
const givenUrl = (description: string) =>
  z.unknown().openapi({ type: 'string', format: 'uri', maxLength: MAX_URL_CHARACTERS, description, example: LONG_URL })
/** Marks `long_url` as required in the documentation. The handler checks that the field is present. */
const REQUIRED = { required: ['long_url'] }
const expiration = z.enum(EXPIRATIONS)

const newLinkFields = {
  long_url: givenUrl('An http or https URL. It is stored as a browser would normalise it.').optional(),
  custom_alias: z
    .unknown()
    .optional()
    .openapi({ type: 'string', pattern: '^[0-9A-Za-z_-]{3,10}$', description: 'The short code to use. It is case-sensitive.' }),
  expiration: expiration.default('never'),
  domain: z.unknown().optional().openapi({
    type: 'string',
    description: 'The short domain of the link. Default: the first short domain of the server.',
    example: 'localhost:8090',
  }),
  analytics: z
    .boolean()
    .default(true)
    .openapi({ description: 'If false, clicks are not counted, and browsers may cache the redirect (301).' }),
  deduplicate: z.boolean().default(true).openapi({
    description:
      'If true, a caller with a token who shortens the same URL again gets the same link while it is active; `createLink` describes the conditions.',
  }),
  expired_url: givenUrl('Where visitors are redirected after the link has expired.').optional(),
}

export const NewLinkBody = z.object(newLinkFields).openapi('NewLink', REQUIRED)
export type NewLink = z.output<typeof NewLinkBody>

/**
 * Each link is checked separately, so that an invalid link does not prevent the creation of the other links. The schema
 * therefore accepts any item, and shows what a link should look like.
 */
export const BulkBody = z
  .object({
    urls: z
      .array(z.unknown())
      .min(1)
      .max(MAX_BULK_LINKS)
      .openapi({ type: 'array', items: { anyOf: [{ $ref: '#/components/schemas/NewLink' }, {}] } }),
  })
  .openapi('NewLinks')

export const LinkPatchBody = z
  .object({
    expiration: expiration.optional().openapi({ description: 'Time until the link expires, counted from this request.' }),
    is_active: z.boolean().optional(),
    expired_url: z
      .unknown()
      .optional()
      .openapi({
        type: ['string', 'null'],
        format: 'uri',
        description: 'The URL to redirect to after the link has expired. null removes it.',
      }),
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
    expires_at: timestamp.nullable().openapi({ description: 'null if the link never expires.' }),
    domain: z.string().openapi({ example: 'localhost:8090' }),
    is_active: z.boolean().openapi({ description: 'Whether the link currently redirects to its long URL.' }),
    analytics: z.boolean(),
    expired_url: z.string().nullable(),
  })
  .openapi('Link')

export const LinkListSchema = z
  .object({
    urls: z.array(LinkSchema).openapi({ description: 'Newest first.' }),
    total: z.int(),
    page: z.int(),
    limit: z.int(),
  })
  .openapi('LinkList')

export const BulkResultSchema = z
  .object({
    results: z.array(
      z.union([
        LinkSchema.extend({ status: z.literal(201) }),
        z.object({
          status: z.int(),
          error: z.string(),
          message: z.string(),
          details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
          command_id: z
            .string()
            .optional()
            .openapi({ description: 'The Idempotency-Key of the whole request. Present only with the status 503.' }),
        }),
      ]),
    ),
  })
  .openapi('BulkResult', {
    description:
      'One result for each link, in the order of the request. If a result has status 503, repeat the whole request with its `command_id` as the Idempotency-Key.',
  })
