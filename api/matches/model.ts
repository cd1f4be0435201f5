import { z } from '@hono/zod-openapi'
import { normalised } from '../../schemas/normalised.ts'
import { CONTROL } from '../kit/control-characters.ts'
import { degreesParameter } from '../kit/parameters.ts'

const LINE_BREAK = /[\t\n\r\u2028\u2029]/
/** Limits of a profile's fields: docs/services/matches.md#profiles */
const MAX_NAME = 50
const MAX_GENDER = 20
const MAX_SEEKING = 10
const MAX_BIO = 2_000
const MIN_AGE = 18
export const MAX_AGE = 120
const MAX_DISTANCE_KM = 500
const MAX_PHOTOS = 9
const MAX_PHOTO_URL = 2_048
export const MAX_CANDIDATES = 50
/** Maximum duration and position of a swipe, which are 32-bit integers in its record. */
const MAX_SWIPE_DETAIL = 2 ** 31 - 1

/**
 * A domain name as the URL parser returns it, in lower case. The last label has only letters, so that the name is not
 * an IP address, or it is the ASCII form of a label with other letters, such as `xn--p1ai` for `рф`.
 */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:[a-z]{2,}|xn--[a-z0-9-]{0,58}[a-z0-9])$/

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/**
 * A user's id as clients send it. The id is converted to lower case, because the ids of a pair are compared as text.
 */
export const userId = z
  .string()
  .regex(UUID, 'must be a UUID')
  .transform((text) => text.toLowerCase())
  .openapi({ type: 'string', format: 'uuid', description: 'The id of a user.', example: '3f2a6c1e-8b1d-4c0f-9a86-d1f0c4e7b25a' })

const inCodePoints = (most: number, least = 0) =>
  z
    .string()
    .transform((text) => normalised(text))
    .refine((text) => [...text].length <= most && [...text.trim()].length >= least, `must have ${least} to ${most} characters`)
    .refine((text) => !CONTROL.test(text), 'must not contain control characters')

const text = (most: number, description: string, least = 0) =>
  inCodePoints(most, least).openapi({ type: 'string', minLength: least, maxLength: most, description })

const line = (most: number, description: string) =>
  inCodePoints(most, 1)
    .refine((text) => !LINE_BREAK.test(text), 'must not contain line breaks or tabs')
    .openapi({ type: 'string', minLength: 1, maxLength: most, description })

const age = (description: string) => z.int().min(MIN_AGE).max(MAX_AGE).openapi({ description })

const photoUrl = z
  .string()
  .trim()
  .max(MAX_PHOTO_URL)
  .refine(isPhotoUrl, 'must be an https URL with a domain name')
  .openapi({ type: 'string', format: 'uri', maxLength: MAX_PHOTO_URL, example: 'https://example.com/me.jpg' })

function isPhotoUrl(text: string): boolean {
  // Without the slashes, a browser would resolve the address relative to the page that shows the photo.
  return /^https:\/\//i.test(text) && URL.canParse(text) && DOMAIN.test(new URL(text).hostname)
}

const birthDate = z.iso
  .date()
  .openapi({ description: 'The birth date. The user must be 18 to 120 years old today, in UTC.', example: '1990-05-01' })

/** The OpenAPI type of a nullable text. The type that `text` and `line` declare would exclude null. */
const STRING_OR_NULL = { type: ['string', 'null'] as ['string', 'null'] }

const profileFields = {
  display_name: line(MAX_NAME, 'The name that other users see.'),
  birth_date: birthDate,
  gender: line(MAX_GENDER, 'Free text. Users without a gender are found only by users who seek everybody.')
    .nullable()
    .openapi(STRING_OR_NULL),
  seeking_gender: z
    .array(line(MAX_GENDER, 'A gender that the user seeks.'))
    .max(MAX_SEEKING)
    .openapi({ description: 'Genders of the users in the feed. If empty, the feed contains users of all genders.' }),
  bio: text(MAX_BIO, 'A text about the user.').nullable().openapi(STRING_OR_NULL),
  min_age_pref: age('Minimum age of candidates, in years.'),
  max_age_pref: age('Maximum age of candidates, in years.'),
  max_dist_km: z.int().min(1).max(MAX_DISTANCE_KM).openapi({ description: 'Maximum distance of candidates, in kilometres.' }),
  is_active: z.boolean().openapi({ description: "If false, the user appears in nobody's feed and cannot use the feed." }),
  photo_urls: z.array(photoUrl).max(MAX_PHOTOS).openapi({ description: 'Addresses of pictures, the most important picture first.' }),
}

const AGES = 'min_age_pref must not exceed max_age_pref'

export const NewProfileBody = z
  .object({
    ...z.object(profileFields).partial().shape,
    // The message of `required()` for a missing field would not say that the field must be a string.
    display_name: profileFields.display_name,
    birth_date: profileFields.birth_date,
  })
  .refine(({ min_age_pref = MIN_AGE, max_age_pref = 99 }) => min_age_pref <= max_age_pref, AGES)
  .openapi('NewMatchProfile')
export const ProfilePatchBody = z
  .object(profileFields)
  .partial()
  .refine((patch) => Object.values(patch).some((value) => value !== undefined), 'must change something')
  .refine(({ min_age_pref = MIN_AGE, max_age_pref = MAX_AGE }) => min_age_pref <= max_age_pref, AGES)
  .openapi('MatchProfilePatch')

const time = z.iso.datetime().openapi({ example: '2026-01-01T00:00:00.000Z' })
const latitude = z.number().min(-90).max(90).openapi({ description: 'Latitude in degrees north.', example: 37.77 })
const longitude = z.number().min(-180).max(180).openapi({ description: 'Longitude in degrees east.', example: -122.42 })

export const ProfileSchema = z
  .object({
    ...profileFields,
    user_id: userId,
    geohash6: z.string().nullable().openapi({ description: 'Geohash of 6 characters for the last known location.' }),
    lat: latitude.nullable(),
    lon: longitude.nullable(),
    location_updated_at: time.nullable(),
    last_active_at: time.nullable(),
    created_at: time,
    updated_at: time,
  })
  .openapi('MatchProfile')

export const LocationBody = z.object({ lat: latitude, lon: longitude, accuracy_m: z.number().min(0).optional() }).openapi('MatchLocation')

export const SwipeBody = z
  .object({
    target_user_id: userId,
    direction: z
      .enum(['LEFT', 'RIGHT', 'SUPER_LIKE'])
      .openapi({ description: 'LEFT is a pass, RIGHT is a like, and SUPER_LIKE is a stronger like.' }),
    swipe_duration_ms: z.int().min(0).max(MAX_SWIPE_DETAIL).optional(),
    feed_position: z.int().min(0).max(MAX_SWIPE_DETAIL).optional(),
  })
  .openapi('Swipe')
export type Swipe = z.output<typeof SwipeBody>

const matchIds = { match_id: z.uuid(), conversation_id: z.uuid() }

export const SwipeResultSchema = z
  .object({
    swipe_id: z.uuid(),
    match: z
      .object({ matched: z.boolean(), ...matchIds })
      .nullable()
      .openapi({ description: 'The expected match, if both users like each other. `GET /v1/matches` is authoritative.' }),
  })
  .openapi('SwipeResult')

export const QueuedSwipeSchema = z.object({ swipe_id: z.uuid(), match: z.null(), queued: z.literal(true) }).openapi('QueuedSwipe')

export const RewindResultSchema = z
  .object({ swipe_id: z.uuid(), target_user_id: userId, direction: z.enum(['LEFT', 'RIGHT', 'SUPER_LIKE']) })
  .openapi('RewindResult')

export const QueuedRewindSchema = RewindResultSchema.extend({ queued: z.literal(true) }).openapi('QueuedRewind')

const person = {
  user_id: userId,
  display_name: z.string(),
  age: z.int(),
  photo_urls: z.array(z.string()),
}

export const FeedSchema = z
  .object({
    candidates: z.array(
      z.object({
        ...person,
        bio: z.string(),
        distance_km: z
          .int()
          .min(1)
          .openapi({ description: 'Distance between the areas of the caller and the candidate, in whole kilometres, at least 1.' }),
        score: z.number().min(0).max(1).openapi({
          description:
            'How well the candidate suits the caller. If the caller has just taken back a swipe, its target comes first. Users who super-liked the caller come next. All other candidates follow, sorted by score.',
        }),
      }),
    ),
    stack_ttl_s: z.int(),
    next_refill_hint: time,
    location_age_s: z.int().openapi({ description: 'Age of the location around which the search was made, in seconds.' }),
  })
  .openapi('Feed')

export const LikesSchema = z
  .object({
    count: z.int().openapi({ description: 'Number of users in the list.' }),
    more: z.boolean().openapi({
      description: 'Whether there are, or may be, further users who like the caller. The list contains at most the 1,000 newest likes.',
    }),
    likes: z.array(z.object({ ...person, liked_at: time, super_like: z.boolean() })),
  })
  .openapi('Likes')

export const MatchesSchema = z
  .object({
    matches: z.array(z.object({ ...matchIds, ...person, matched_at: time })),
    total: z.int(),
    page: z.int(),
    limit: z.int(),
  })
  .openapi('Matches')

export const BlocksSchema = z
  .object({ blocks: z.array(z.object({ user_id: userId })), total: z.int(), page: z.int(), limit: z.int() })
  .openapi('Blocks')

export const NotifyBody = z
  .object({ match_id: z.uuid(), user_a: userId, user_b: userId, matched_at: z.iso.datetime() })
  .openapi('MatchNotify')

export const ExplanationSchema = z
  .object({
    user: userId,
    candidate: userId,
    passed: z.boolean(),
    verdicts: z.array(
      z.object({
        filter: z.string(),
        passed: z.boolean(),
        value: z.union([z.string(), z.number(), z.boolean()]).nullable(),
        allowed: z.string(),
      }),
    ),
  })
  .openapi('FeedExplanation')

export const SearchExplanationSchema = z
  .object({
    user: userId,
    examined: z.int(),
    passed: z.int(),
    cells: z
      .array(
        z.object({
          geohash: z.string(),
          bounds: z.object({ south: latitude, west: longitude, north: latitude, east: longitude }),
          examined: z
            .int()
            .openapi({ description: 'Number of other users whom the search found in this cell. Each user counts in only one cell.' }),
          passed: z.int(),
          excluded: z
            .record(z.string(), z.int())
            .openapi({ description: 'Number of excluded users for each reason. A user counts only under the first reason.' }),
          people: z
            .array(z.object({ user_id: userId, excluded_by: z.string().nullable() }))
            .openapi({ description: 'The first ten users who were found in this cell.' }),
        }),
      )
      .openapi({ description: 'The cells in the order of the search. Small cells around the user come first.' }),
  })
  .openapi('SearchExplanation')

export const feedPlace = {
  lat: degreesParameter(90, 'Latitude of the place to search around, in degrees north.').optional(),
  lon: degreesParameter(180, 'Longitude of the place to search around, in degrees east.').optional(),
}
