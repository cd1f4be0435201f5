import { gzipSync } from 'node:zlib'
import { etagOf } from './etag.ts'

/** What a handler returns: plain data, so that it can be tested, kept and sent without a framework. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | null
  /** The same body compressed, for those who accept it; `headers` then name Accept-Encoding in Vary. Compressed at the first call. */
  readonly gzip?: () => Uint8Array
  /**
   * Epoch ms until which the same request target gets this very answer without running the handler again.
   * Only for answers that depend on nothing but the target: never on the caller.
   */
  readonly reusableUntil?: number
  /** Asked before each reuse: false ends it. Default: nothing else ends it. */
  readonly isReusable?: () => boolean
}

export const JSON_TYPE = 'application/json; charset=utf-8'

export function jsonAnswer(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { 'Content-Type': JSON_TYPE, ...headers }, body: JSON.stringify(value) }
}

export function noContent(): Answer {
  return { status: 204, headers: {}, body: null }
}

/** Smaller bodies fit into one packet anyway. */
const COMPRESSED_FROM_BYTES = 1_024

/**
 * An answer that others may keep: with its tag, and compressed once for all who ask for that.
 * @param headers Content-Type and Cache-Control
 */
export function cacheableAnswer(body: string | Uint8Array, headers: Readonly<Record<string, string>>): Answer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const common = { status: 200, body: bytes }
  const tagged = { ...headers, ETag: etagOf(bytes) }
  if (bytes.byteLength < COMPRESSED_FROM_BYTES) return { ...common, headers: tagged }
  let compressed: Uint8Array | undefined
  function gzip(): Uint8Array {
    compressed ??= gzipSync(bytes)
    return compressed
  }
  return { ...common, headers: { ...tagged, Vary: 'Accept-Encoding' }, gzip }
}
