import { ApiError, errors } from './errors.ts'
import { assertCleanText, decodeUtf8 } from './text.ts'

export interface BodyLimits {
  readonly maxBytes: number
  /** The whole body must have arrived by then. */
  readonly timeoutMs: number
}

const JSON_MEDIA_TYPE = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json$/i

/**
 * Reads a JSON body: 415 for another type, 413 as soon as it is too large (reading stops there), 408 when it comes too slowly,
 * 400 for bytes that are no UTF-8 or no JSON.
 */
export async function readJsonBody(request: Request, limits: BodyLimits): Promise<unknown> {
  assertJsonType(request.headers.get('content-type'))
  const text = decodeUtf8(await readBytes(request, limits))
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

async function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const announced = Number(request.headers.get('content-length') ?? 0)
  if (announced > limits.maxBytes) throw tooLarge(limits.maxBytes)
  if (request.body === null) return new Uint8Array()
  const reader = request.body.getReader()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new ApiError(errors.request_timeout)), limits.timeoutMs)
  })
  try {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late])
      if (done) return Buffer.concat(chunks, bytes)
      bytes += value.byteLength
      if (bytes > limits.maxBytes) throw tooLarge(limits.maxBytes)
      chunks.push(value)
    }
  } catch (error) {
    // Not awaited: a client that sends no more would hold the answer back.
    reader.cancel().catch(() => undefined)
    if (error instanceof ApiError) throw error
    throw new ApiError(errors.invalid_request, { message: 'The body broke off before its end.', cause: error })
  } finally {
    clearTimeout(timer)
  }
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError(errors.content_too_large, { message: `The body is larger than ${maxBytes} bytes.` })
}
