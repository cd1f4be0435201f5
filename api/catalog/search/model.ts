import { z } from '@hono/zod-openapi'

const count = z.int().openapi({ example: 3 })

const searchResult = z
  .object({
    product_id: z.int().openapi({ example: 7349812043011 }),
    title: z.string().openapi({ example: 'Cordless drill 18 V' }),
    brand: z.string().nullable().openapi({ example: 'Makita' }),
    price: z.object({
      amount: z.number().openapi({ description: 'Price of the cheapest variant.', example: 89.9 }),
      currency: z.string().openapi({ example: 'USD' }),
      was: z
        .number()
        .nullable()
        .openapi({ description: 'The compare price of that variant; null unless it is higher than the price.', example: 109 }),
    }),
    rating: z.object({ avg: z.number().openapi({ example: 4.6 }), count: z.int().openapi({ example: 31 }) }),
    thumbnail_url: z.string().nullable(),
    badges: z.array(z.string()).openapi({ example: ['sale'] }),
    in_stock: z.boolean(),
    stock: z.enum(['in_stock', 'low_stock', 'out_of_stock']),
    category: z.object({ category_id: z.int(), name: z.string().nullable() }),
    seller: z.object({ id: z.string(), name: z.string() }),
    explanation: z
      .object({
        relevance: z.number(),
        text_score: z.number(),
        factors: z.record(z.string(), z.object({ value: z.number(), weight: z.number() })),
      })
      .optional()
      .openapi({ description: 'The relevance of the product and its factors. Present only if an administrator asks for explanations.' }),
  })
  .openapi('SearchResult')

export const searchAnswer = z
  .object({
    results: z.array(searchResult),
    facets: z.object({
      brands: z.array(z.object({ name: z.string(), count })),
      price_ranges: z.array(z.object({ range: z.string().openapi({ example: '25-50' }), count })),
      price_stats: z.object({ min: z.number(), max: z.number(), avg: z.number() }).nullable(),
      categories: z.array(z.object({ category_id: z.int(), name: z.string().nullable(), path: z.string().nullable(), count })),
      ratings: z.array(z.object({ min: z.int(), count })),
      attributes: z.array(z.object({ name: z.string(), values: z.array(z.object({ value: z.string(), count })) })),
    }),
    total: z.int(),
    page: z.int().nullable().openapi({ description: 'The page number; null if the request has a cursor.' }),
    page_size: z.int(),
    next_cursor: z.string().nullable().openapi({ description: 'Null on the last page.' }),
    did_you_mean: z.string().nullable().openapi({
      description:
        'The query with probable typing errors corrected; null if nothing was corrected. The answer already includes the results of the corrected query.',
    }),
    matched: z.enum(['all', 'described', 'most', 'half']).nullable().openapi({
      description:
        'Which words of the query a product must contain. `all`: every word, in the title, brand or attributes. `described`: every word or its correction, in the title, brand, attributes or description. `most` and `half`: as `described`, but only three quarters or half of the words, rounded down. Units, and words such as "with", are required only if the query has no other words. Null if the query has no words.',
    }),
  })
  .openapi('SearchAnswer')

export const suggestAnswer = z
  .object({
    suggestions: z.array(z.object({ text: z.string().openapi({ example: 'cordless drill 18 v' }), product_id: z.int() })),
    brands: z.array(z.string()),
    categories: z.array(z.object({ category_id: z.int(), name: z.string(), path: z.string() })),
  })
  .openapi('Suggestions')

const MOST_TERMS = 20
const MOST_TERM_CHARACTERS = 100
const term = z.string().min(1).max(MOST_TERM_CHARACTERS)

export const synonymGroup = z
  .strictObject({
    terms: z
      .array(term)
      .min(2)
      .max(MOST_TERMS)
      .openapi({ description: 'Words, or phrases of up to four words.', example: ['sofa', 'couch'] }),
    one_way: z
      .boolean()
      .optional()
      .transform((given) => given ?? false)
      .openapi({
        type: 'boolean',
        default: false,
        description: 'If true, a search for the first term also finds the other terms, but not vice versa.',
      }),
  })
  .openapi('SynonymGroup')

export const namedSynonymGroup = z
  .object({ name: z.string(), terms: z.array(z.string()), one_way: z.boolean() })
  .openapi('NamedSynonymGroup')
