import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { idParameter, timeField } from '../parameters.ts'

const INTERNAL = { kind: 'scope', scope: 'internal' } as const
const COUNTRY_CHARACTERS = 5
const SHORT_CHARACTERS = 10
const CATEGORY_CHARACTERS = 50
const VALUE_CHARACTERS = 100
const MAX_PREFERENCES = 100
const short = (characters: number) => z.string().min(1).max(characters).nullable().optional()

const preference = z
  .strictObject({
    category: z
      .string()
      .min(1)
      .max(CATEGORY_CHARACTERS)
      .openapi({ description: '`genre`, `category`, or the name of an attribute such as `brand`.', example: 'genre' }),
    value: z.string().min(1).max(VALUE_CHARACTERS).openapi({ example: 'Comedy' }),
    weight: z.number().min(-1).max(1).openapi({ description: 'A weight below 0 means that you want fewer of these items.', example: 1 }),
  })
  .openapi('Preference')

const preferences = z.strictObject({ preferences: z.array(preference).max(MAX_PREFERENCES) }).openapi('Preferences')

export const putPreferencesRoute = defineRoute({
  method: 'put',
  path: '/api/v1/me/preferences',
  operationId: 'putPreferences',
  summary: 'Set your preferences',
  description:
    'Replaces all of your stated preferences. While lists are made by rules, preferences have an additional weight until you have 20 interactions.',
  auth: { kind: 'user' },
  body: preferences,
  bodyExample: { preferences: [{ category: 'genre', value: 'Comedy', weight: 1 }] },
  answers: { 200: { description: 'The preferences.', schema: preferences } },
  errors: [errors.invalid_request, errors.not_ready, errors.unavailable],
})

export const getPreferencesRoute = defineRoute({
  method: 'get',
  path: '/api/v1/me/preferences',
  operationId: 'getPreferences',
  summary: 'Get your stated preferences',
  description: 'Returns the preferences that you have set. A change appears within a second.',
  auth: { kind: 'user' },
  answers: { 200: { description: 'The preferences.', schema: preferences } },
  errors: [errors.not_ready, errors.unavailable],
})

export const featuresRoute = defineRoute({
  method: 'get',
  path: '/internal/features/user/{user_id}',
  operationId: 'userFeatures',
  summary: 'Get the features of a user',
  description: 'An unknown user has the features of a new user.',
  auth: INTERNAL,
  params: z.object({ user_id: idParameter('The user.', '42') }),
  answers: {
    200: {
      description: 'The features.',
      schema: z
        .object({
          user_id: z.string(),
          embedding: z.array(z.number()).openapi({
            description:
              'A vector of 256 numbers with length 1. All numbers are 0 if there is no model, if its vectors are unavailable, or if the user has no items for which the model has factors.',
          }),
          embedding_version: z.int().nullable(),
          embedding_updated_at: z.iso.datetime().nullable(),
          real_time_features: z.object({
            last_5_items: z.array(z.string()),
            session_genre_dist: z
              .record(z.string(), z.number())
              .openapi({ description: 'Share of each genre in the current session. The shares add up to 1.' }),
            hours_since_last_visit: z
              .number()
              .nullable()
              .openapi({ description: 'Hours since the last event; null if the user had no event in the last 7 days.' }),
          }),
          static_features: z.object({
            country: z.string().nullable(),
            age_bucket: z.string().nullable(),
            subscription_tier: z.string().nullable(),
          }),
          features_offset: z
            .int()
            .openapi({ description: 'Offset, in `interactions`, of the newest event that the features include; -1 if there is none.' }),
        })
        .openapi('UserFeatures'),
    },
  },
  errors: [errors.invalid_request, errors.not_ready, errors.unavailable],
})

export const putUserRoute = defineRoute({
  method: 'put',
  path: '/internal/users/{user_id}',
  operationId: 'putUser',
  summary: "Store a user's properties",
  description: 'Creates or replaces the properties. A body with an older `updated_at` than the stored properties has no effect.',
  auth: INTERNAL,
  params: z.object({ user_id: idParameter('The user.', '42') }),
  body: z
    .strictObject({
      country: short(COUNTRY_CHARACTERS),
      language: short(SHORT_CHARACTERS),
      age_bucket: short(SHORT_CHARACTERS),
      signup_date: z.iso.date('must be a date such as 2026-01-15').nullable().optional(),
      sub_tier: z.enum(['free', 'basic', 'premium']).nullable().optional(),
      updated_at: timeField().optional().openapi({ description: 'Default: now.' }),
    })
    .openapi('PutUser'),
  bodyExample: { country: 'DE', age_bucket: '25-34', sub_tier: 'basic' },
  answers: { 204: { description: 'The properties are stored, unless the stored properties are newer.' } },
  errors: [errors.invalid_request, errors.not_ready, errors.unavailable],
})
