import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { pageLimitParameter, pageParameter } from '../../kit/parameters.ts'
import { defineRoute, type StreamedBody } from '../../kit/route.ts'
import { catalogErrors } from '../errors.ts'
import { MOST_FORM_BYTES } from '../images/product-form.ts'
import {
  BulkBody,
  BulkResultSchema,
  idParameter,
  ListSchema,
  MOST_BULK_BYTES,
  MOST_LISTED,
  NewProductBody,
  PriceBody,
  ProductSchema,
  periodParameter,
  ReplacementBody,
  StatusBody,
  sellerParameter,
} from './model.ts'

const SELLER = { kind: 'scope', scope: ['seller', 'admin'] } as const

const ofProduct = z.object({ product_id: idParameter })
const TAG = { ETag: 'The version, for If-Match.' }
const product = { description: 'The product.', schema: ProductSchema, headers: TAG }
const variant = { sku: 'shoe-blue-42', attributes: { colour: 'blue', size: '42' }, price_cents: 5_990 }
const example = { title: 'Running shoe', category_id: 12, brand: 'Acme', variants: [variant] }
const { unknown_category, too_many_variants, product_not_found, sku_taken, version_conflict, status_transition, price_out_of_range } =
  catalogErrors

/** Time limit for receiving a body. It is shorter than the 30 s after which the server closes the connection. */
const BODY_TIMEOUT_MS = 25_000
/** Time limit of the handler. Checking twenty large images may continue after the body has arrived. */
const FORM_TIMEOUT_MS = 60_000

/**
 * Returns the options of a route whose body is a product: either JSON, or a form with JSON in the part `product` and
 * files in the parts `images`.
 */
function jsonOrForm(schema: z.ZodType): Pick<Parameters<typeof defineRoute>[0], 'streamed' | 'maxBodyBytes' | 'timeoutMs'> {
  const form = z.object({ product: schema, images: z.array(z.string().openapi({ format: 'binary' })).optional() })
  const content: StreamedBody['content'] = { 'application/json': { schema, example }, 'multipart/form-data': { schema: form } }
  return { streamed: { content, timeoutMs: BODY_TIMEOUT_MS }, maxBodyBytes: MOST_FORM_BYTES, timeoutMs: FORM_TIMEOUT_MS }
}

export const listProductsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/seller/products',
  operationId: 'listOwnProducts',
  summary: 'List the products of a seller, newest first',
  description: 'Returns a page of the products that are not deleted. Only the newest 10,000 products can be listed.',
  auth: SELLER,
  query: z.object({ seller_id: sellerParameter, page: pageParameter(MOST_LISTED), limit: pageLimitParameter('products') }),
  answers: { 200: { description: 'A page of products.', schema: ListSchema } },
  errors: [errors.not_ready],
})

export const createProductRoute = defineRoute({
  method: 'post',
  path: '/api/v1/seller/products',
  operationId: 'createProduct',
  summary: 'Create a product',
  description: 'The product is public at once unless it is a DRAFT. A seller can create at most 100 products per minute.',
  auth: SELLER,
  idempotent: true,
  ...jsonOrForm(NewProductBody),
  answers: { 201: product },
  errors: [catalogErrors.invalid_image, unknown_category, too_many_variants, sku_taken, errors.not_ready],
})

export const bulkProductsRoute = defineRoute({
  method: 'post',
  path: '/api/v1/seller/products/bulk',
  countsAs: '/api/v1/seller/products',
  units: ({ products }) => products.length,
  operationId: 'createProducts',
  summary: 'Create 1 to 100 products',
  description:
    'Creates each product as `createProduct` does, independently of the other products. Each product counts towards the limit on creations.',
  auth: SELLER,
  idempotent: true,
  body: BulkBody,
  bodyExample: { products: [example] },
  maxBodyBytes: MOST_BULK_BYTES,
  answers: { 200: { description: 'One result per product.', schema: BulkResultSchema } },
  errors: [errors.not_ready],
})

export const readProductRoute = defineRoute({
  method: 'get',
  path: '/api/v1/seller/products/{product_id}',
  operationId: 'readOwnProduct',
  summary: 'Get a product as its seller sees it',
  description: 'Returns the product with its most recent change, its inactive variants and the prices for periods.',
  auth: SELLER,
  params: ofProduct,
  answers: { 200: product },
  errors: [product_not_found, errors.not_ready],
})

export const replaceProductRoute = defineRoute({
  method: 'put',
  path: '/api/v1/seller/products/{product_id}',
  operationId: 'replaceProduct',
  summary: 'Replace the content of a product',
  description:
    "Creates the next version. Variants are matched by sku. A variant that the request omits becomes INACTIVE, and a later version can include it again. If the request has `images` or files, they replace the product's images. A seller can send at most 300 replacements per minute.",
  auth: SELLER,
  idempotent: true,
  versioned: true,
  params: ofProduct,
  ...jsonOrForm(ReplacementBody),
  answers: { 200: product },
  errors: [
    catalogErrors.invalid_image,
    ...[unknown_category, too_many_variants, product_not_found, sku_taken, version_conflict, status_transition, price_out_of_range],
    errors.not_ready,
  ],
})

export const setStatusRoute = defineRoute({
  method: 'patch',
  path: '/api/v1/seller/products/{product_id}/status',
  operationId: 'setProductStatus',
  summary: 'Change the status of a product',
  description: 'DRAFT can become ACTIVE. ACTIVE can become INACTIVE and vice versa. Any status can become DELETED, which is final.',
  auth: SELLER,
  idempotent: true,
  versioned: true,
  params: ofProduct,
  body: StatusBody,
  bodyExample: { status: 'INACTIVE' },
  answers: { 200: product },
  errors: [product_not_found, version_conflict, status_transition],
})

export const deleteProductRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/seller/products/{product_id}',
  operationId: 'deleteProduct',
  summary: 'Delete a product forever',
  description: 'Releases the skus of the product within a second. The stock and the history of the product remain.',
  auth: SELLER,
  idempotent: true,
  versioned: true,
  params: ofProduct,
  answers: { 204: { description: 'The product is deleted.' } },
  errors: [product_not_found, version_conflict],
})

export const setPriceRoute = defineRoute({
  method: 'patch',
  path: '/api/v1/seller/variants/{variant_id}/price',
  operationId: 'setPrice',
  summary: 'Set the price of a variant, permanently or for a period',
  description:
    'Without `ends_at`, the price takes effect immediately and permanently, and ends a running period. With `ends_at`, the regular price returns at that time.',
  auth: SELLER,
  idempotent: true,
  params: z.object({ variant_id: idParameter }),
  body: PriceBody,
  bodyExample: { price_cents: 4_990, starts_at: '2026-11-27T00:00:00Z', ends_at: '2026-11-30T00:00:00Z' },
  answers: { 200: product },
  errors: [product_not_found, catalogErrors.variant_not_found, catalogErrors.price_period_overlaps, price_out_of_range],
})

export const cancelPeriodRoute = defineRoute({
  method: 'delete',
  path: '/api/v1/seller/variants/{variant_id}/price-periods/{starts_at}',
  operationId: 'cancelPricePeriod',
  summary: 'Cancel a price for a period',
  description: 'Removes the price for a period. If the period has begun, the regular price returns at once.',
  auth: SELLER,
  idempotent: true,
  params: z.object({ variant_id: idParameter, starts_at: periodParameter }),
  answers: { 200: product },
  errors: [errors.not_found, product_not_found, catalogErrors.variant_not_found],
})
