import { z } from '@hono/zod-openapi'

const MAX_INT64 = 2n ** 63n - 1n
const ID_MESSAGE = 'must be a whole number from 1 to 2^63-1'
const INEXACT_MESSAGE = 'must be a string if it is above 2^53-1, because larger JSON numbers are not exact'

const idText = z
  .string(ID_MESSAGE)
  .regex(/^[1-9]\d{0,18}$/, ID_MESSAGE)
  .transform(BigInt)
  .refine((id) => id <= MAX_INT64, ID_MESSAGE)

/** Schema of an id in a path or query. */
export function idParameter(description: string, example = '318') {
  return idText.openapi({ type: 'string', description, example })
}

/**
 * Schema of an id in a body, as a string or a number. Numbers of 2^53 or more are refused, because they may not be
 * exact.
 */
export function idField(description: string, example: string | number = '318') {
  return z
    .union([idText, z.int().min(1).transform(BigInt)], { error: ({ input }) => (isInexact(input) ? INEXACT_MESSAGE : ID_MESSAGE) })
    .openapi({ type: 'string', description: `${description} A number of at most 2^53-1 is accepted as well.`, example })
}

/** Schema of a time in a body. */
export function timeField() {
  return z.iso.datetime('must be a UTC time such as 2026-01-15T12:00:00.000Z')
}

function isInexact(input: unknown): boolean {
  return typeof input === 'number' && input > Number.MAX_SAFE_INTEGER
}
