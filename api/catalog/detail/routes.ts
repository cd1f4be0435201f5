import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { catalogErrors } from '../errors.ts'
import { productIdParameter } from '../product-id.ts'
import { productDetail } from './model.ts'

export const productDetailRoute = defineRoute({
  method: 'get',
  path: '/api/v1/products/{product_id}',
  operationId: 'productDetail',
  summary: 'Get a product in full',
  description:
    'Shows a product with its active variants, stock, images, seller, reviews and related products. Only ACTIVE products are public. DRAFT and INACTIVE products are visible only to their sellers and to administrators. The stock is at most two seconds old.',
  auth: { kind: 'optional', anySubjectOf: 'admin' },
  isDirect: true,
  params: z.object({ product_id: productIdParameter }),
  answers: { 200: { description: 'The product.', schema: productDetail } },
  errors: [catalogErrors.product_not_found, errors.not_ready, errors.unavailable],
})
