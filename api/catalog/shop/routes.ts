import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { pageFileRoute } from '../../kit/page/file-route.ts'
import { defineRoute } from '../../kit/route.ts'
import { catalogErrors } from '../errors.ts'
import { STYLES } from './layout.ts'

/** The page itself explains errors in a parameter, so the route accepts any text. */
const text = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .openapi({ type: 'string', description: 'The parameter of the same name of `GET /api/v1/products/search`.' })

const PARAMETERS = ['q', 'category', 'brand', 'price_min', 'price_max', 'rating_min', 'attr', 'sort', 'page'] as const
type Parameter = (typeof PARAMETERS)[number]
const shopQuery = z.object(Object.fromEntries(PARAMETERS.map((name) => [name, text])) as Record<Parameter, typeof text>)

export const shopRoute = defineRoute({
  method: 'get',
  path: '/shop',
  operationId: 'shop',
  summary: 'Show the search for products as an HTML page',
  description: 'The page works without scripts: it contains only links and forms.',
  auth: { kind: 'open' },
  query: shopQuery,
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  htmlErrors: true,
  errors: [errors.invalid_request, catalogErrors.unknown_category, errors.not_ready, errors.unavailable],
})

export const shopProductRoute = defineRoute({
  method: 'get',
  path: '/shop/products/{product_id}',
  countsAs: '/shop',
  operationId: 'shopProduct',
  summary: 'Show a product as an HTML page',
  description: 'Shows a public product with its variants, stock, images, reviews and related products.',
  auth: { kind: 'open' },
  // A visitor who follows a damaged link sees the same page as for a product that does not exist, so the route accepts
  // any text.
  params: z.object({ product_id: z.string().openapi({ description: 'The id of a product.', example: '28147497671065' }) }),
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } },
  htmlErrors: true,
  errors: [catalogErrors.product_not_found, errors.not_ready, errors.unavailable],
})

export const shopFileRoute = pageFileRoute(STYLES, 'shopFile', {
  summary: 'Read the style sheet of the shop',
  description: 'Returns the CSS that the pages of the shop use.',
  example: 'style.css',
})
