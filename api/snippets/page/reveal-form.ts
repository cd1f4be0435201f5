import { randomUUID } from 'node:crypto'
import { invalidRequest } from '../../kit/errors.ts'
import type { ArrivingBody } from '../../kit/route.ts'

export const FORM_TYPE = 'application/x-www-form-urlencoded'
/** Name of the hidden field that contains the form's key. */
export const KEY_FIELD = 'key'
/** Maximum size of a submitted form. A form has one short field. */
export const MAX_FORM_BYTES = 4_096

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Creates a random key for one form. If the answer is lost and the browser sends the form again, the key is the same,
 * so the repetition uses no further read.
 */
export function newFormKey(): string {
  return randomUUID()
}

/**
 * Reads the key of a form; undefined if the body is not a form of the page, for example if it is empty. Throws
 * ApiError: `invalid_request` for text that cannot be a key, and the errors from reading the body.
 */
export async function formKeyFrom({ contentType, pieces }: ArrivingBody): Promise<string | undefined> {
  if (contentType?.split(';')[0].trim().toLowerCase() !== FORM_TYPE) return undefined
  const body = Buffer.concat(await Array.fromAsync(pieces)).toString()
  const key = new URLSearchParams(body).get(KEY_FIELD)
  if (key === null) return undefined
  if (UUID.test(key)) return key
  throw invalidRequest(`body.${KEY_FIELD}`, 'must be the key of a form')
}
