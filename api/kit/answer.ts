import { isAscii } from 'node:buffer'
import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import { etagOf } from './etag.ts'

/** The result of a handler as plain data, which can be tested, cached and sent without a framework. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | null
  /**
   * If true, the ETag is a version for If-Match only. The body can change while the version stays the same, so
   * If-None-Match never gets a 304.
   */
  readonly hasVersionTag?: boolean
  /**
   * Returns the compressed body, for clients that accept gzip. If this function exists, `headers` must name
   * Accept-Encoding in Vary.
   */
  readonly gzip?: () => Uint8Array
  /**
   * Epoch ms. Until then, the server may send this answer again for the same request target without running the
   * handler. Set this time only if the answer depends on nothing but the target, and in particular not on the caller.
   */
  readonly reusableUntil?: number
  /**
   * Called before each reuse. If it returns false, the answer is not reused. Without this function, the answer is
   * reusable until `reusableUntil`.
   */
  readonly isReusable?: () => boolean
}

export const JSON_TYPE = 'application/json; charset=utf-8'

export function jsonAnswer(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { 'Content-Type': JSON_TYPE, ...headers }, body: JSON.stringify(value) }
}

export function noContent(): Answer {
  return { status: 204, headers: {}, body: null }
}

const gzipped = promisify(gzip)

/**
 * Compression level of large bodies. The client waits while the body is compressed. At this level, compressing a
 * history of 410 KB takes 1.3 to 2.2 ms. The default level 6 takes 2.4 to 4.7 ms, and its result is at most 8 %
 * smaller.
 */
const LARGE_BODY_LEVEL = 4
/** Minimum size of a body that is compressed. A smaller body fits into one packet even without compression. */
const COMPRESSED_FROM_BYTES = 1_024

/**
 * Creates a 200 answer with an ETag. Its body is compressed at most once, for the first client that accepts gzip.
 * @param headers Content-Type, and further headers such as Cache-Control
 */
export function cacheableAnswer(body: string | Uint8Array, headers: Readonly<Record<string, string>>): Answer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const common = { status: 200, body: bytes }
  const tagged = { ...headers, ETag: etagOf(bytes) }
  if (bytes.byteLength < COMPRESSED_FROM_BYTES) return { ...common, headers: tagged }
  return { ...common, headers: { ...tagged, Vary: 'Accept-Encoding' }, gzip: compressedOnce(bytes) }
}

/** Returns a function that compresses the body on its first call. Later calls return the same bytes. */
function compressedOnce(body: string | Uint8Array): () => Uint8Array {
  let compressed: Uint8Array | undefined
  return () => {
    compressed ??= gzipSync(body)
    return compressed
  }
}

/**
 * Creates the same answer as `cacheableAnswer`, but keeps a body of ASCII characters as a string. Node sends a string
 * faster than bytes, because the string and the headers go out in one write.
 */
export function cacheableText(body: string, headers: Readonly<Record<string, string>>): Answer {
  const bytes = Buffer.from(body)
  const answer = cacheableAnswer(bytes, headers)
  if (!isAscii(bytes)) return answer
  // The function `answer.gzip` would keep the bytes in memory, so a function that compresses the string replaces it.
  return { ...answer, body, gzip: answer.gzip && compressedOnce(body) }
}

/**
 * Creates the same answer as `cacheableAnswer`, but compresses the body in advance on another thread, because
 * compressing a large body would delay all other requests.
 */
export async function largeCacheableAnswer(body: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const bytes = Buffer.from(body)
  const answer = cacheableAnswer(bytes, headers)
  if (answer.gzip === undefined) return answer
  const compressed = await gzipped(bytes, { level: LARGE_BODY_LEVEL })
  return { ...answer, gzip: () => compressed }
}
