import type { Answer } from './answer.ts'

export interface Preconditions {
  /** If-None-Match */
  readonly ifNoneMatch: string | undefined
  /** Accept-Encoding */
  readonly acceptEncoding: string | undefined
}

/** What this caller gets of a 200 to GET or HEAD: the answer, its compressed form, or 304. */
export function variantFor(answer: Answer, { ifNoneMatch, acceptEncoding }: Preconditions): Answer {
  const variant = answer.gzip !== undefined && acceptsGzip(acceptEncoding) ? compressed(answer, answer.gzip()) : answer
  const etag = answer.headers.ETag
  if (ifNoneMatch === undefined || etag === undefined) return variant
  return isUnchanged(ifNoneMatch, etag) ? notModified(variant) : variant
}

/** Whether a read with this If-None-Match is answered with 304. */
export function isUnchanged(ifNoneMatch: string, etag: string): boolean {
  return etagMatches(ifNoneMatch, etag) || etagMatches(ifNoneMatch, gzipTag(etag))
}

/** Other bytes, so another strong tag. */
function compressed(answer: Answer, gzip: Uint8Array): Answer {
  const { ETag } = answer.headers
  const headers: Record<string, string> = { ...answer.headers, 'Content-Encoding': 'gzip' }
  if (ETag !== undefined) headers.ETag = gzipTag(ETag)
  return { ...answer, headers, body: gzip }
}

function gzipTag(etag: string): string {
  return `${etag.slice(0, -1)}-gzip"`
}

/** True when gzip is named, or everything is, and not with weight 0 (RFC 9110, 12.5.3). */
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

/** Headers that a 304 repeats (RFC 9110, 15.4.5). */
const KEPT_ON_NOT_MODIFIED = ['Cache-Control', 'Content-Location', 'ETag', 'Expires', 'Vary'] as const

/** True when `If-None-Match` names the tag (weak comparison, as RFC 9110 13.1.2 asks for GET and HEAD). */
function etagMatches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag) return true
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}

/** The 304 that stands for `answer`. */
function notModified(answer: Answer): Answer {
  const headers: Record<string, string> = {}
  for (const name of KEPT_ON_NOT_MODIFIED) {
    if (answer.headers[name] !== undefined) headers[name] = answer.headers[name]
  }
  return { status: 304, headers, body: null }
}
