import type { IncomingMessage } from 'node:http'
import { withDeadline } from './deadline.ts'
import { ApiError, errors } from './errors.ts'

export interface BodyLimits {
  readonly maxBytes: number
  /** Time limit for receiving the whole body. */
  readonly timeoutMs: number
}

/**
 * Yields the body as it arrives. Nothing is buffered, so a slow consumer slows the client down. Throws ApiError 413 as
 * soon as the body is too large, without reading the remaining bytes. Throws ApiError 408 if the body arrives too
 * slowly, and 400 if the connection breaks or the Host header is malformed.
 */
export async function* bodyPieces(request: Request, limits: BodyLimits): AsyncGenerator<Uint8Array, void, undefined> {
  const announced = Number(request.headers.get('content-length') ?? 0)
  if (announced > limits.maxBytes) throw tooLarge(limits.maxBytes)
  // With a Host header such as `1.2.3.4.5`, the URL is invalid, and `request.body` would throw a TypeError.
  if (!URL.canParse(request.url)) throw new ApiError(errors.invalid_request, { message: 'The Host header is malformed.' })
  if (request.body === null) return
  const reader = request.body.getReader()
  let isLate = false
  let giveUp: (() => void) | undefined
  const timer = setTimeout(() => {
    isLate = true
    giveUp?.()
  }, limits.timeoutMs)

  /**
   * Reads the next chunk. Rejects when the time limit of the whole body is exceeded. Racing every read against one
   * promise for this time limit would retain every chunk until the promise settles.
   */
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
    // The cancellation is not awaited. If the client has stopped sending, waiting would delay the answer.
    if (!isWhole) reader.cancel().catch(() => undefined)
  }
}

/**
 * Reads a body that fits into memory. Throws the same errors as `bodyPieces`. A body with a Content-Length is read in
 * one call, because streaming would double the cost of a small request.
 */
export async function wholeBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const announced = request.headers.get('content-length')
  if (announced === null) return Buffer.concat(await Array.fromAsync(bodyPieces(request, limits)))
  if (Number(announced) > limits.maxBytes) throw tooLarge(limits.maxBytes)
  // Reading the body in one call is safe, because Node's HTTP parser accepts no more bytes than Content-Length says.
  const bytes = await withDeadline(request.arrayBuffer(), limits.timeoutMs, () => new ApiError(errors.request_timeout)).catch(brokenOff)
  return new Uint8Array(bytes)
}

/**
 * Reads the body of a request that the framework has not touched. The request has a Content-Length, and its body fits
 * into memory. A small body usually arrives together with the headers. In that case, the function returns the body
 * without starting a timer or a stream.
 */
export async function incomingBody(incoming: IncomingMessage, { maxBytes, timeoutMs }: BodyLimits): Promise<Uint8Array> {
  if (Number(incoming.headers['content-length']) > maxBytes) throw tooLarge(maxBytes)
  const arrived = incoming.complete ? (incoming.read() as Buffer | null) : null
  if (arrived !== null) return arrived
  return await withDeadline(arriving(incoming), timeoutMs, () => new ApiError(errors.request_timeout)).catch(brokenOff)
}

async function arriving(incoming: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Yields the whole body as a single piece. */
export async function* onePiece(whole: () => Promise<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  yield await whole()
}

function brokenOff(cause: unknown): never {
  if (cause instanceof ApiError) throw cause
  throw new ApiError(errors.invalid_request, { message: 'The connection was lost before the whole body arrived.', cause })
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError(errors.content_too_large, { message: `The body is larger than ${maxBytes} bytes.` })
}
