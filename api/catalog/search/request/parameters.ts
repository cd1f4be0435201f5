import { z } from '@hono/zod-openapi'
import { normalised } from '../../../../schemas/normalised.ts'
import { MOST_PAGED } from '../../../../state/indexes/catalog/products.ts'
import { wordsOf } from '../../../../state/indexes/catalog/words.ts'
import { booleanParameter, integerParameter, onceOr } from '../../../kit/parameters.ts'
import { SORTS } from './search-request.ts'

const MOST_QUERY_CHARACTERS = 200
const MOST_BRANDS = 20
const MOST_BRAND_CHARACTERS = 200
const MOST_ATTRIBUTE_VALUES = 20
/** Maximum number of attribute names. Each name needs an additional search for its facet. */
const MOST_ATTRIBUTE_NAMES = 5
const MOST_ATTRIBUTE_CHARACTERS = 251
const MOST_CATEGORY_CHARACTERS = 2_000
const MOST_STARS = 5
const MOST_PAGE_SIZE = 100
export const DEFAULT_PAGE_SIZE = 20
/**
 * Maximum length of a cursor. A cursor contains each misspelt word of the query with two corrections. The words in a
 * cursor are decomposed, so a Korean syllable takes up to nine bytes. All words of a long query take up to 5,300 bytes,
 * which Base64 turns into 7,000 characters.
 */
const MOST_CURSOR_CHARACTERS = 8_000
const CENTS = 100

const NOT_A_PRICE = 'must be an amount such as 19.99, at most 1000000000'

function priceParameter(description: string) {
  return z
    .string(onceOr(NOT_A_PRICE))
    .regex(/^\d{1,10}(\.\d{1,2})?$/, NOT_A_PRICE)
    .transform((text) => Math.round(Number(text) * CENTS))
    .refine((cents) => cents <= 1e11, NOT_A_PRICE)
    .optional()
    .openapi({ type: 'number', minimum: 0, description })
}

function isText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** Schema of text that is normalised like the texts of stored products. The limit is in code points. */
function storedText(most: number) {
  return z
    .string()
    .transform((text) => normalised(text).trim())
    .refine((text) => [...text].length <= most, `must have at most ${most} characters`)
}

const brand = storedText(MOST_BRAND_CHARACTERS).refine((name) => name !== '', 'must not be empty')
const attribute = storedText(MOST_ATTRIBUTE_CHARACTERS).refine(
  (text) => /^[^:]+:.+$/su.test(text),
  'must be a name and a value, such as colour:red',
)

export const searchParameters = z
  .object({
    q: z
      .string('must be given once')
      .transform((text) => normalised(text).trim())
      .refine((text) => [...text].length <= MOST_QUERY_CHARACTERS, `must have at most ${MOST_QUERY_CHARACTERS} characters`)
      .refine(isText, 'must be text without NUL')
      .refine((text) => text === '' || wordsOf(text).length > 0, 'must contain a letter or a digit')
      .transform((text) => (text === '' ? undefined : text))
      .optional()
      .openapi({
        type: 'string',
        maxLength: MOST_QUERY_CHARACTERS,
        description: 'Words to find. If omitted, the search finds all products.',
        example: 'cordless drill',
      }),
    category: z.string('must be given once').min(1, 'must not be empty').max(MOST_CATEGORY_CHARACTERS).optional().openapi({
      description: 'Id of a category, or its path of slugs. The search includes all descendants of the category.',
      example: 'tools/drills',
    }),
    price_min: priceParameter('Lowest price, inclusive, in major units of the currency.'),
    price_max: priceParameter('Highest price, inclusive, in major units of the currency.'),
    brand: z
      .union([z.string().transform((list) => list.split(',')), z.array(z.string())])
      .pipe(z.array(brand).max(MOST_BRANDS, `must have at most ${MOST_BRANDS} names`))
      .optional()
      .transform((names) => [...new Set(names ?? [])])
      .openapi({
        type: 'string',
        description:
          'Names of brands, separated by commas. If the parameter is repeated, each value is one name, which may contain commas.',
        example: 'Makita,Bosch',
      }),
    rating_min: z
      .string('must be given once')
      .regex(/^\d(\.\d{1,2})?$/, `must be a number from 0 to ${MOST_STARS} with at most 2 decimal places`)
      .transform(Number)
      .refine((stars) => stars <= MOST_STARS, `must be a number from 0 to ${MOST_STARS}`)
      .optional()
      .openapi({ type: 'number', minimum: 0, maximum: MOST_STARS, description: 'Lowest mean rating.' }),
    attr: z
      .union([z.string().transform((one) => [one]), z.array(z.string())])
      .pipe(z.array(attribute).max(MOST_ATTRIBUTE_VALUES, `must have at most ${MOST_ATTRIBUTE_VALUES} values`))
      .optional()
      .transform((values) => values ?? [])
      .openapi({
        type: 'string',
        description: `An attribute as name:value. Repeat the parameter for further attributes, up to ${MOST_ATTRIBUTE_VALUES} with at most ${MOST_ATTRIBUTE_NAMES} different names. Several values of the same name are alternatives.`,
        example: 'colour:red',
      }),
    sort: z
      .enum(SORTS, onceOr(`must be one of ${SORTS.join(', ')}`))
      .optional()
      .transform((sort) => sort ?? 'relevance')
      .openapi({
        type: 'string',
        enum: [...SORTS],
        default: 'relevance',
        description: 'The order of the results. Ties are sorted by product_id.',
      }),
    page: z
      .string('must be given once')
      .regex(/^[1-9]\d{0,4}$/, `must be an integer from 1 to ${MOST_PAGED}`)
      .transform(Number)
      .optional()
      .openapi({
        type: 'integer',
        minimum: 1,
        default: 1,
        description: `Page number, from 1. page × page_size must be at most ${MOST_PAGED}. Use the cursor for later pages.`,
      }),
    page_size: integerParameter({
      minimum: 1,
      maximum: MOST_PAGE_SIZE,
      default: DEFAULT_PAGE_SIZE,
      description: 'Number of results per page.',
    }),
    cursor: z.string('must be given once').max(MOST_CURSOR_CHARACTERS, 'is not a cursor of this search').optional().openapi({
      description:
        '`next_cursor` of the previous page, to use instead of `page`. All other parameters except `page_size` and `explain` must be the same as for that page.',
    }),
    explain: booleanParameter({
      default: false,
      description: 'Whether each result contains the factors of its relevance. Only administrators may ask for them.',
    }),
  })
  .superRefine((query, context) => {
    const issue = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    if (query.price_min !== undefined && query.price_max !== undefined && query.price_min > query.price_max)
      issue('price_min', 'must not be above price_max')
    if ((query.page ?? 1) * query.page_size > MOST_PAGED)
      issue('page', `times page_size must be at most ${MOST_PAGED}; use the cursor for later pages`)
    if (query.page !== undefined && query.cursor !== undefined) issue('cursor', 'cannot be combined with page')
    if (new Set(query.attr.map(attributeName)).size > MOST_ATTRIBUTE_NAMES) issue('attr', `must have at most ${MOST_ATTRIBUTE_NAMES} names`)
  })

export type SearchParameters = z.output<typeof searchParameters>

/** Returns the name of an attribute in `name:value`, in lower case. */
export function attributeName(attribute: string): string {
  return attribute.slice(0, attribute.indexOf(':')).toLowerCase()
}

/** Returns the value of an attribute in `name:value`. */
export function attributeValue(attribute: string): string {
  return attribute.slice(attribute.indexOf(':') + 1)
}
