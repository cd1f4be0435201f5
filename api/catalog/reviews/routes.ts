import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { catalogErrors } from '../errors.ts'
import { productIdParameter } from '../product-id.ts'

export const postReviewRoute = defineRoute({
  method: 'post',
  path: '/api/v1/products/{product_id}/reviews',
  countsAs: '/api/v1/products/{product_id}/reviews',
  operationId: 'reviewProduct',
  summary: 'Rate a product with stars',
  description:
    'A user can have only one review per product. A new review replaces the earlier one. A new review is included in the average within two seconds.',
  auth: { kind: 'user' },
  params: z.object({ product_id: productIdParameter }),
  body: z.strictObject({ stars: z.int().min(1).max(5).openapi({ example: 5 }) }).openapi('NewReview'),
  bodyExample: { stars: 5 },
  idempotent: true,
  answers: {
    201: {
      description: 'The review.',
      schema: z.object({ product_id: z.int(), stars: z.int(), at: z.iso.datetime() }).openapi('Review'),
    },
  },
  errors: [errors.invalid_request, catalogErrors.product_not_found, errors.idempotency_conflict, errors.not_ready, errors.unavailable],
})
