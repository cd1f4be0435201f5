import { z } from '@hono/zod-openapi'

/** Digits of a safe integer: a longer number is refused before it is rounded. */
const MAX_DIGITS = 16

interface IntegerOptions {
  readonly minimum: number
  readonly maximum: number
  readonly default: number
  readonly description: string
  readonly example?: number
}

/** An integer in a query, in its shortest decimal form. */
export function integerParameter(options: IntegerOptions) {
  const { minimum, maximum, description } = options
  const message = `must be an integer from ${minimum} to ${maximum}`
  return z
    .string(message)
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

/** `true` or `false` in a query. */
export function booleanParameter(options: { readonly default: boolean; readonly description: string }) {
  return z
    .enum(['true', 'false'], 'must be true or false')
    .optional()
    .transform((value) => (value === undefined ? options.default : value === 'true'))
    .openapi({ type: 'boolean', enum: undefined, default: options.default, description: options.description })
}

const DEFAULT_PAGE_LIMIT = 20
const MAX_PAGE_LIMIT = 100

/** Which page of a list; every list of the project counts them from one. */
export function pageParameter(maximum: number) {
  return integerParameter({ minimum: 1, maximum, default: 1, description: 'from 1' })
}

/** How much of a list is on a page. @param what the things in the list, in the plural */
export function pageLimitParameter(what: string) {
  return integerParameter({ minimum: 1, maximum: MAX_PAGE_LIMIT, default: DEFAULT_PAGE_LIMIT, description: `${what} per page` })
}
