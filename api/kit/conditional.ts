import type { Answer } from './answer.ts'

export interface Preconditions {
  readonly ifNoneMatch: string | undefined
  readonly acceptEncoding: string | undefined
}

/** Chooses how to send a 200 answer to GET or HEAD: unchanged, compressed, or as a 304. */
export function variantFor(answer: Answer, { ifNoneMatch, acceptEncoding }: Preconditions): Answer {
  const variant = answer.gzip !== undefined && acceptsGzip(acceptEncoding) ? compressed(answer, answer.gzip()) : answer
  const etag = answer.headers.ETag
  if (ifNoneMatch === undefined || etag === undefined || answer.hasVersionTag) return variant
  return isUnchanged(ifNoneMatch, etag) ? notModified(variant) : variant
}

/** Returns whether a GET or HEAD with this If-None-Match gets a 304. */
export function isUnchanged(ifNoneMatch: string, etag: string): boolean {
  return etagMatches(ifNoneMatch, etag) || etagMatches(ifNoneMatch, gzipTag(etag))
}

/** Returns the compressed answer. The compressed answer has a different strong ETag, because its bytes differ. */
function compressed(answer: Answer, gzip: Uint8Array): Answer {
  const { ETag } = answer.headers
  const headers: Record<string, string> = { ...answer.headers, 'Content-Encoding': 'gzip' }
  if (ETag !== undefined) headers.ETag = gzipTag(ETag)
  return { ...answer, headers, body: gzip }
}

function gzipTag(etag: string): string {
  return `${etag.slice(0, -1)}-gzip"`
}

/**
 * Returns whether the header accepts gzip with a weight other than 0. If gzip is not listed, `*` applies (RFC 9110,
 * 12.5.3).
 */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false
  let star = false
  for (const item of acceptEncoding.split(',')) {
    const [coding, weight] = item.split(';').map((part) => part.trim().toLowerCase())
    const accepted = weight === undefined || !/^q=0(\.0{0,3})?$/.test(weight)
    if (coding === 'gzip' || coding === 'x-gzip') return accepted
    if (coding === '*') star = accepted
  }
  return star
}

/**
 * Headers that a 304 repeats (RFC 9110, 15.4.5). Browsers replace the headers of a cached page with the headers of the
 * 304. Without the page's own policy, a 304 would therefore impose the default policy, which forbids scripts.
 */
const KEPT_ON_NOT_MODIFIED = ['Cache-Control', 'Content-Location', 'Content-Security-Policy', 'ETag', 'Expires', 'Vary'] as const

/**
 * Returns whether `If-None-Match` matches the ETag. RFC 9110, 13.1.2, requires the weak comparison for GET and HEAD.
 */
function etagMatches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag) return true
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}

/** Creates the 304 that replaces `answer`. */
function notModified(answer: Answer): Answer {
  const headers: Record<string, string> = {}
  for (const name of KEPT_ON_NOT_MODIFIED) {
    if (answer.headers[name] !== undefined) headers[name] = answer.headers[name]
  }
  return { status: 304, headers, body: null }
}
