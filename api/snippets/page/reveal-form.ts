import { randomUUID } from 'node:crypto'
import { invalidRequest } from '../../kit/errors.ts'
import type { ArrivingBody } from '../../kit/route.ts'

export const FORM_TYPE = 'application/x-www-form-urlencoded'
/** Name of the hidden field. */
export const KEY_FIELD = 'key'
/** Maximum size of a submitted form, which has one short field. */
export const MAX_FORM_BYTES = 4_096

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Creates a random key for one form. If the answer is lost, the browser repeats the form with the same key, so the
 * repetition uses no further read.
 */
export function newFormKey(): string {
  return randomUUID()
}

/**
 * Reads the key of a form; undefined if the body is not the page's form, for example if it is empty. Throws ApiError:
 * `invalid_request` for a key that no form contains, and the errors of the body.
 */
export async function formKeyFrom({ contentType, pieces }: ArrivingBody): Promise<string | undefined> {
  if (contentType?.split(';')[0].trim().toLowerCase() !== FORM_TYPE) return undefined
  const body = Buffer.concat(await Array.fromAsync(pieces)).toString()
  const key = new URLSearchParams(body).get(KEY_FIELD)
  if (key === null) return undefined
  if (UUID.test(key)) return key
  throw invalidRequest(`body.${KEY_FIELD}`, 'must be the key of a form')
}
