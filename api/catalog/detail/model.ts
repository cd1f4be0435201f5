import { z } from '@hono/zod-openapi'
import { imageAddress, imageSchema } from '../images/model.ts'

/** The fields that a variant on a product page has in addition to its attributes. */
export const variantFields = {
  variant_id: z.int(),
  sku: z.string(),
  price: z.number().openapi({ description: 'The price, in major units of `currency`.', example: 19.99 }),
  was: z
    .number()
    .nullable()
    .openapi({ description: 'The compare price, to be shown struck through; null unless it is higher than `price`.' }),
  weight_grams: z.int().nullable(),
  inventory: z.object({
    status: z.enum(['in_stock', 'low_stock', 'out_of_stock']),
    quantity_hint: z.enum(['10+', '6-10', 'only 3 left', 'none']).or(z.string()),
  }),
  images: z
    .array(imageAddress)
    .openapi({ description: 'The images of this variant and the images that show all variants, in display order.' }),
}

const variant = z
  .object(variantFields)
  .catchall(z.string())
  .openapi('ProductVariant', { description: 'A variant. Attributes such as `colour` are fields of this object, like `price`.' })

/** The fields of a product page. */
export const detailFields = {
  product_id: z.int(),
  title: z.string(),
  description: z.string(),
  brand: z.string().nullable(),
  category_id: z.int(),
  category_path: z
    .array(z.string())
    .openapi({ description: 'The names of the categories from the root to the category of the product.', example: ['Tools', 'Saws'] }),
  status: z.enum(['DRAFT', 'ACTIVE', 'INACTIVE', 'DELETED']),
  version: z.int(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  currency: z.string().openapi({ example: 'USD' }),
  badges: z
    .array(z.string())
    .openapi({ description: 'Any of `new`, `bestseller`, `top_rated`, `sale` and `low_stock`.', example: ['new'] }),
  variants: z.array(variant),
  images: z.array(imageSchema),
  seller: z.object({ id: z.union([z.int(), z.string()]), name: z.string(), rating: z.number().nullable() }),
  reviews_summary: z.object({
    avg: z.number().openapi({ description: 'The mean, rounded to one decimal; 0 if there are no reviews.' }),
    count: z.int(),
    distribution: z.record(z.string(), z.int()).openapi({ description: 'The number of reviews, keyed by stars from 1 to 5.' }),
  }),
  related_products: z.array(z.int()).openapi({
    description:
      'The ids of products that buyers often view together with this product, followed by those of best sellers of its category.',
  }),
}

export const productDetail = z.object(detailFields).openapi('ProductDetail')
