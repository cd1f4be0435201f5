import { z } from '@hono/zod-openapi'

/** Number of digits of the largest safe integer. Longer numbers are rejected, because parsing would round them. */
const MAX_DIGITS = 16

/**
 * Returns the schema options of a query parameter that must not be given more than once.
 * @param message the error message for a value that the parameter does not accept
 */
export function onceOr(message: string): { error: (issue: { readonly input?: unknown }) => string } {
  return { error: ({ input }) => (Array.isArray(input) ? 'must be given once' : message) }
}

interface IntegerOptions {
  readonly minimum: number
  readonly maximum: number
  readonly default: number
  readonly description: string
  readonly example?: number
}

/** Creates the schema of an integer query parameter. The integer must be in its shortest decimal form. */
export function integerParameter(options: IntegerOptions) {
  const { minimum, maximum, description } = options
  const message = `must be an integer from ${minimum} to ${maximum}`
  return z
    .string(onceOr(message))
    .regex(/^(0|-?[1-9]\d*)$/, message)
    .max(MAX_DIGITS, message)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, message)
    .optional()
    .transform((value) => value ?? options.default)
    .openapi({
      type: 'integer',
      minimum,
      maximum,
      default: options.default,
      description,
      example: options.example ?? options.default,
    })
}

/**
 * Maximum number of decimals of a coordinate. The limit exceeds 22, the largest number of decimals that JavaScript
 * prints for a double before it uses an exponent.
 */
const MAX_DECIMALS = 30
const DECIMAL = new RegExp(`^-?\\d{1,3}(\\.\\d{1,${MAX_DECIMALS}})?$`)

/**
 * Creates the schema of a required coordinate in the query, in decimal form.
 * @param most 90 for a latitude, 180 for a longitude
 */
export function degreesParameter(most: number, description: string) {
  return z
    .string(onceOr('must be a decimal number'))
    .regex(DECIMAL, 'must be a decimal number')
    .transform(Number)
    .refine((value) => Math.abs(value) <= most, `must be from -${most} to ${most}`)
    .openapi({ type: 'number', minimum: -most, maximum: most, description })
}

/** Creates the schema of a query parameter that is `true` or `false`. */
export function booleanParameter(options: { readonly default: boolean; readonly description: string }) {
  return z
    .enum(['true', 'false'], onceOr('must be true or false'))
    .optional()
    .transform((value) => (value === undefined ? options.default : value === 'true'))
    .openapi({ type: 'boolean', enum: undefined, default: options.default, description: options.description })
}

const DEFAULT_PAGE_LIMIT = 20
const MAX_PAGE_LIMIT = 100

/** Creates the schema of the page number of a list. All lists count pages from 1. */
export function pageParameter(maximum: number) {
  return integerParameter({ minimum: 1, maximum, default: 1, description: 'Page number, from 1.' })
}

/**
 * Creates the schema of the query parameter for the number of items per page.
 * @param what noun for the items, in the plural
 */
export function pageLimitParameter(what: string) {
  return integerParameter({ minimum: 1, maximum: MAX_PAGE_LIMIT, default: DEFAULT_PAGE_LIMIT, description: `Number of ${what} per page.` })
}
