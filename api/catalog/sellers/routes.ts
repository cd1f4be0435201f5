import { z } from '@hono/zod-openapi'
import { isDecimalUserId } from '../../kit/auth/authorize.ts'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { text } from '../text.ts'

const MOST_NAME_CHARACTERS = 200

const newSeller = z
  .strictObject({
    name: text(MOST_NAME_CHARACTERS, 1, 'The name that buyers see.').openapi({ example: 'Miller & Sons' }),
    rating: z
      .number()
      .min(1)
      .max(5)
      .nullish()
      .openapi({ description: 'The mean of all ratings, from 1 to 5. Omit it if there are no ratings.', example: 4.6 }),
    rating_count: z.int().min(0).default(0).openapi({ description: 'Number of ratings.', example: 120 }),
  })
  .refine(({ rating, rating_count }) => (rating ?? undefined) !== undefined || rating_count === 0, {
    message: 'is missing, although there are ratings',
    path: ['rating'],
  })
  // Refuses a mean rating without a number of ratings, because pages would never show it.
  .refine(({ rating, rating_count }) => (rating ?? undefined) === undefined || rating_count > 0, {
    message: 'must be at least 1 if there is a rating',
    path: ['rating_count'],
  })
  .openapi('NewSeller')

export const putSellerRoute = defineRoute({
  method: 'put',
  path: '/api/v1/sellers/{seller_id}',
  operationId: 'putSeller',
  summary: 'Set the name and rating of a seller',
  description:
    'Stores the name and rating that buyers see. Pages show the change within two seconds. A new rating affects the order of search results only if it changes the relevance factor of the seller by at least 0.05.',
  auth: { kind: 'scope', scope: 'admin' },
  params: z.object({
    seller_id: z
      .string()
      .refine(isDecimalUserId, 'must be a positive 64-bit integer')
      .openapi({ description: "The seller's user id.", example: '7' }),
  }),
  body: newSeller,
  bodyExample: { name: 'Miller & Sons', rating: 4.6, rating_count: 120 },
  answers: {
    200: {
      description: 'The seller.',
      schema: z
        .object({ seller_id: z.string(), name: z.string(), rating: z.number().nullable(), rating_count: z.int() })
        .openapi('DescribedSeller'),
    },
  },
  errors: [errors.invalid_request, errors.not_ready, errors.unavailable],
})
