import { type BodyLimits, wholeBody } from './body-stream.ts'
import { ApiError, errors } from './errors.ts'
import { assertCleanText, decodeUtf8 } from './text.ts'

const JSON_MEDIA_TYPE = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json$/i

/**
 * Reads a JSON body: 415 for another type, 413 as soon as it is too large (reading stops there), 408 when it comes too slowly,
 * 400 for bytes that are no UTF-8 or no JSON.
 */
export async function readJsonBody(request: Request, limits: BodyLimits): Promise<unknown> {
  assertJsonType(request.headers.get('content-type'))
  const text = decodeUtf8(await wholeBody(request, limits))
  if (text.trim() === '') throw invalidBody('the body is empty; it must be JSON')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw invalidBody(`the body is not valid JSON: ${(error as Error).message}`)
  }
  assertCleanText(value)
  return value
}

function invalidBody(message: string): ApiError {
  return new ApiError(errors.invalid_request, { details: [{ path: 'body', message }] })
}

function assertJsonType(contentType: string | null): void {
  const [mediaType, ...parameters] = (contentType ?? '').split(';')
  const charset = parameters.map((parameter) => parameter.trim().toLowerCase()).find((parameter) => parameter.startsWith('charset='))
  const isUtf8Charset = charset === undefined || charset === 'charset=utf-8' || charset === 'charset="utf-8"'
  if (!JSON_MEDIA_TYPE.test(mediaType.trim()) || !isUtf8Charset) throw new ApiError(errors.unsupported_media_type)
}
