import { z } from '@hono/zod-openapi'
import { normalised } from '../../schemas/normalised.ts'
import { CONTROL } from '../kit/control-characters.ts'

const LINE_BREAK = /[\t\n\r]/

/** Returns whether a string contains no control characters, no tabs and no line breaks. */
export function isLine(value: string): boolean {
  return !CONTROL.test(value) && !LINE_BREAK.test(value)
}

/** Returns whether the length of a string, in code points, is between `least` and `most`. */
export function within(value: string, least: number, most: number): boolean {
  // A code point has one or two UTF-16 units, so a string of more than `2 * most` units has too many code points.
  if (value.length > 2 * most) return false
  const count = [...value].length
  return count >= least && count <= most
}

/** Creates the schema of a text that people read. Limits are in code points. */
export function text(most: number, least: number, description: string, form: 'line' | 'lines' = 'line') {
  return z
    .string()
    .transform((value) => normalised(value).trim())
    .refine((value) => within(value, least, most), `must have ${least} to ${most} characters`)
    .refine((value) => !CONTROL.test(value) && (form === 'lines' || !LINE_BREAK.test(value)), 'must not contain control characters')
    .openapi({ type: 'string', minLength: least, maxLength: most, description })
}
