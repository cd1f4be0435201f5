import { z } from '@hono/zod-openapi'
import { MOST_ACTIVE_VARIANTS, MOST_PERIODS, MOST_SKU } from '../../../schemas/catalog/products/limits.ts'
import { normalised } from '../../../schemas/normalised.ts'
import { detailFields, variantFields } from '../detail/model.ts'
import { offeredImageList } from '../images/offered.ts'
import { isLine, text, within } from '../text.ts'

/** Limits for the data that sellers send, with lengths in code points: docs/services/catalog.md#products */
const MOST_TITLE = 500
const MOST_DESCRIPTION = 20_000
const MOST_BRAND = 200
const MOST_ATTRIBUTES = 20
const MOST_ATTRIBUTE_NAME = 50
const MOST_ATTRIBUTE_VALUE = 200
const MOST_CENTS = 10 ** 11
const MOST_INT = 2_147_483_647
const MOST_IN_BULK = 100
const MIB = 1_048_576
/** Maximum size of the body of a bulk request. */
export const MOST_BULK_BYTES = 8 * MIB
/**
 * Position of the last product that can be listed. The position is limited, because the view has to skip all products
 * before a page.
 */
export const MOST_LISTED = 10_000

/**
 * Names that attributes must not have. Attributes share one object with the fields of a variant in answers, so the
 * names of these fields are reserved. Further names, such as `currency`, are reserved because they resemble these
 * fields.
 */
const OWN_FIELDS = [
  ...['variant_id', 'product_id', 'sku', 'price', 'price_cents', 'compare_price', 'compare_price_cents', 'currency', 'was'],
  ...['weight_grams', 'status', 'inventory', 'images', 'periods', 'attributes'],
]
const RESERVED_NAMES: ReadonlySet<string> = new Set(OWN_FIELDS)

const cents = z
  .int(`must be a whole number of cents from 1 to ${MOST_CENTS}`)
  .min(1)
  .max(MOST_CENTS)
  .openapi({ description: 'An amount in hundredths of the currency unit.', example: 1999 })
const compareCents = cents.nullable().openapi({ description: 'The earlier price, to be shown struck through; null if there is none.' })

const attributes = z
  .record(z.string(), text(MOST_ATTRIBUTE_VALUE, 1, 'The value.'))
  .transform((given, ctx) => {
    const named = Object.entries(given).map(([name, value]) => [normalised(name).trim(), value] as const)
    // The names are compared first, because `Object.fromEntries` keeps only the last of several equal names.
    if (new Set(named.map(([name]) => name.toLowerCase())).size < named.length) {
      ctx.addIssue({ code: 'custom', message: 'names must differ in more than case' })
    }
    return Object.fromEntries(named)
  })
  .superRefine((given, ctx) => {
    const names = Object.keys(given)
    if (names.length > MOST_ATTRIBUTES) ctx.addIssue({ code: 'custom', message: `must have at most ${MOST_ATTRIBUTES} attributes` })
    for (const name of names) {
      const fault = faultOfName(name)
      if (fault !== undefined) ctx.addIssue({ code: 'custom', message: fault })
    }
  })
  .openapi({ type: 'object', additionalProperties: { type: 'string' }, example: { colour: 'blue', size: 'M' } })

function faultOfName(name: string): string | undefined {
  if (!within(name, 1, MOST_ATTRIBUTE_NAME)) return `names must have 1 to ${MOST_ATTRIBUTE_NAME} characters`
  if (RESERVED_NAMES.has(name.toLowerCase())) return `${name} is a reserved name`
  if (!isLine(name) || name.includes(':')) return 'names must not contain colons or control characters'
  return undefined
}

const Offer = z
  .strictObject({
    sku: text(MOST_SKU, 1, 'Your own id for the variant. It must be unique among all sellers, and is case-sensitive.'),
    attributes: attributes.default({}),
    price_cents: cents,
    compare_price_cents: compareCents.default(null),
    weight_grams: z.int().min(0).max(MOST_INT).nullable().default(null),
  })
  .openapi('OfferedVariant')

const variants = z
  .array(Offer)
  .min(1)
  .superRefine((offers, ctx) => {
    const seen = new Set<string>()
    for (const [index, { sku }] of offers.entries()) {
      if (seen.has(sku))
        ctx.addIssue({ code: 'custom', path: [index, 'sku'], message: 'is already the sku of another variant of this product' })
      seen.add(sku)
    }
  })
  .openapi({ description: `1 to ${MOST_ACTIVE_VARIANTS} variants.` })

const force = z.boolean().default(false).openapi({
  description:
    'If true, prices are accepted that would otherwise be refused with `price_out_of_range`. Only administrators may set it to true, and its use is recorded.',
})
const sellerId = z
  .string()
  .regex(/^[1-9]\d{0,18}$/, 'must be a positive 64-bit integer in decimal')
  .openapi({
    description: 'The seller of the product. Only administrators may act for another seller. Default: the subject of the token.',
    example: '7',
  })

const fields = {
  title: text(MOST_TITLE, 1, 'The title.'),
  description: text(MOST_DESCRIPTION, 0, 'The description, which may have several lines.', 'lines').default(''),
  category_id: z.int().min(1).max(MOST_INT).openapi({ description: 'The id of an existing category.', example: 12 }),
  brand: text(MOST_BRAND, 1, 'The brand.').nullable().default(null),
  variants,
  images: offeredImageList.optional(),
  force,
}

export const NewProductBody = z
  .strictObject({ ...fields, status: z.enum(['DRAFT', 'ACTIVE']).default('ACTIVE'), seller_id: sellerId.optional() })
  .openapi('NewProduct')
export type NewProduct = z.output<typeof NewProductBody>

export const ReplacementBody = z
  .strictObject({
    ...fields,
    status: z.enum(['DRAFT', 'ACTIVE', 'INACTIVE']).optional().openapi({ description: 'Default: the current status.' }),
  })
  .openapi('ProductReplacement')
export type Replacement = z.output<typeof ReplacementBody>

/**
 * Each product is checked separately, so that an invalid product does not prevent the creation of the other products.
 */
export const BulkBody = z
  .strictObject({
    products: z
      .array(z.unknown())
      .min(1)
      .max(MOST_IN_BULK)
      .openapi({ type: 'array', items: { $ref: '#/components/schemas/NewProduct' } }),
  })
  .openapi('NewProducts')

export const StatusBody = z.strictObject({ status: z.enum(['DRAFT', 'ACTIVE', 'INACTIVE', 'DELETED']) }).openapi('ProductStatusChange')

const instant = z.iso
  .datetime({ offset: true, message: 'must be a time in ISO 8601 with an offset' })
  .transform((value) => Date.parse(value))
  .openapi({ type: 'string', format: 'date-time' })

/** Start of a price period as a path parameter, in the format that answers use. */
export const periodParameter = instant.openapi({ example: '2026-11-27T00:00:00.000Z' })

export const PriceBody = z
  .strictObject({
    price_cents: cents,
    compare_price_cents: compareCents
      .optional()
      .openapi({ description: 'The earlier price, to be shown struck through; null removes it. Default: unchanged.' }),
    starts_at: instant.optional().openapi({ description: 'Beginning of the period. Default: now, if `ends_at` is given.' }),
    ends_at: instant.optional().openapi({ description: `End of the period. A product can have at most ${MOST_PERIODS} periods at once.` }),
    force,
  })
  .refine(({ starts_at, ends_at }) => starts_at === undefined || ends_at !== undefined, {
    path: ['ends_at'],
    message: 'is required with starts_at',
  })
  .openapi('VariantPrice')

/**
 * Id in a path. A valid id has 1 to 16 digits. The schema accepts any text, because an invalid id gets the same answer
 * as the id of a missing product or variant.
 */
export const idParameter = z.string().openapi({ description: 'An id of a product or variant.', example: '17592186044416' })
export const sellerParameter = sellerId.optional()

const time = z.string().openapi({ example: '2026-01-15T12:00:00.000Z' })
const amount = z.number().openapi({ description: 'An amount in major units of the currency.', example: 19.99 })

const PeriodSchema = z.object({ starts_at: time, ends_at: time, price: amount, compare_price: amount.nullable() })

const VariantSchema = z
  .looseObject({
    ...variantFields,
    compare_price: amount.nullable(),
    status: z.enum(['ACTIVE', 'INACTIVE']),
    periods: z.array(PeriodSchema).openapi({ description: 'Prices for periods that have not ended.' }),
  })
  .openapi('SellerVariant')

const status = z.enum(['DRAFT', 'ACTIVE', 'INACTIVE', 'DELETED'])

export const ProductSchema = z
  .object({
    ...detailFields,
    seller_id: z.string(),
    version: z.int().openapi({ description: 'Increases with every replacement and every change of the status.' }),
    variants: z
      .array(VariantSchema)
      .openapi({ description: 'All variants, including inactive ones. The attributes of a variant are fields of its object, like `sku`.' }),
  })
  .openapi('SellerProduct')

const ListedSchema = z
  .object({
    product_id: z.int(),
    title: z.string(),
    category_id: z.int(),
    brand: z.string().nullable(),
    status,
    price: amount.nullable().openapi({ description: 'The price of the cheapest active variant; null if no variant is active.' }),
    currency: z.string(),
    variants: z.int().openapi({ description: 'The number of active variants.' }),
    version: z.int(),
    created_at: time,
    updated_at: time,
  })
  .openapi('ListedProduct')

export const ListSchema = z
  .object({ products: z.array(ListedSchema).openapi({ description: 'Newest first.' }), page: z.int(), limit: z.int(), total: z.int() })
  .openapi('SellerProducts')

export const BulkResultSchema = z
  .object({
    results: z.array(z.looseObject({ status: z.int(), product: ProductSchema.optional(), error: z.string().optional() })).openapi({
      description:
        'One result for each product, in the order of the request: 201 with the product, or the error that the product would get on its own.',
    }),
  })
  .openapi('BulkResults')
