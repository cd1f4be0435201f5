import { z } from '@hono/zod-openapi'
import { isProductId } from '../../schemas/catalog/ids.ts'

/** Schema of a product id in a path. */
export const productIdParameter = z
  .string()
  .regex(/^[1-9]\d{0,13}$/, 'must be a positive integer of at most 45 bits')
  .transform(Number)
  .refine(isProductId, 'must be a positive integer of at most 45 bits')
  .openapi({ type: 'integer', description: 'The id of a product.', example: 28147497671065 })
