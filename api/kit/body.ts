import { type BodyLimits, wholeBody } from './body-stream.ts'
import { ApiError, errors, invalidRequest } from './errors.ts'
import { assertCleanText, decodeUtf8 } from './text.ts'

const JSON_MEDIA_TYPE = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json$/i

/**
 * Reads a JSON body. Throws ApiError: 415 for another media type, 413 as soon as the body is too large (the rest is not
 * read), 408 if it arrives too slowly, 400 if it is not valid UTF-8 or JSON.
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
  return invalidRequest('body', message)
}

function assertJsonType(contentType: string | null): void {
  const [mediaType, ...parameters] = (contentType ?? '').split(';')
  const charset = parameters.map((parameter) => parameter.trim().toLowerCase()).find((parameter) => parameter.startsWith('charset='))
  const isUtf8Charset = charset === undefined || charset === 'charset=utf-8' || charset === 'charset="utf-8"'
  if (!JSON_MEDIA_TYPE.test(mediaType.trim()) || !isUtf8Charset) throw new ApiError(errors.unsupported_media_type)
}
