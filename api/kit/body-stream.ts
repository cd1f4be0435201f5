import { withDeadline } from './deadline.ts'
import { ApiError, errors } from './errors.ts'

export interface BodyLimits {
  readonly maxBytes: number
  /** The whole body must have arrived by then. */
  readonly timeoutMs: number
}

/**
 * The body as it arrives. Throws ApiError: 413 as soon as it is too large (reading stops there), 408 when it comes too slowly, 400 when it
 * breaks off. Nothing is buffered: whoever does not take the next piece holds the client back.
 */
export async function* bodyPieces(request: Request, limits: BodyLimits): AsyncGenerator<Uint8Array, void, undefined> {
  const announced = Number(request.headers.get('content-length') ?? 0)
  if (announced > limits.maxBytes) throw tooLarge(limits.maxBytes)
  if (request.body === null) return
  const reader = request.body.getReader()
  let isLate = false
  let giveUp: (() => void) | undefined
  const timer = setTimeout(() => {
    isLate = true
    giveUp?.()
  }, limits.timeoutMs)

  /** Not a race with one promise for the whole body: that one would hold every piece until the body has ended. */
  function next(): ReturnType<typeof reader.read> {
    return new Promise((resolve, reject) => {
      giveUp = () => reject(new ApiError(errors.request_timeout))
      if (isLate) giveUp()
      else reader.read().then(resolve, reject)
    })
  }

  let isWhole = false
  try {
    let bytes = 0
    for (;;) {
      const { done, value } = await next().catch(brokenOff)
      if (done) break
      bytes += value.byteLength
      if (bytes > limits.maxBytes) throw tooLarge(limits.maxBytes)
      yield value
    }
    isWhole = true
  } finally {
    clearTimeout(timer)
    // Not awaited: a client that sends no more would hold the answer back.
    if (!isWhole) reader.cancel().catch(() => undefined)
  }
}

/**
 * A body that fits into memory, with the errors of `bodyPieces`. One whose length is announced is read in one go: as a stream it costs as much
 * as the rest of a small request.
 */
export async function wholeBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const announced = request.headers.get('content-length')
  if (announced === null) return Buffer.concat(await Array.fromAsync(bodyPieces(request, limits)))
  if (Number(announced) > limits.maxBytes) throw tooLarge(limits.maxBytes)
  // The HTTP parser takes no byte more than was announced.
  const bytes = await withDeadline(request.arrayBuffer(), limits.timeoutMs, () => new ApiError(errors.request_timeout)).catch(brokenOff)
  return new Uint8Array(bytes)
}

function brokenOff(cause: unknown): never {
  if (cause instanceof ApiError) throw cause
  throw new ApiError(errors.invalid_request, { message: 'The body broke off before its end.', cause })
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError(errors.content_too_large, { message: `The body is larger than ${maxBytes} bytes.` })
}
