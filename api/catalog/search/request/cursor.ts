import { createHash } from 'node:crypto'
import { z } from 'zod'
import { invalidRequest } from '../../../kit/errors.ts'
import type { After } from '../engine/hits.ts'
import type { RelevanceMoment } from '../engine/relevance-script.ts'
import type { Breadth } from '../text/plan.ts'
import type { SearchRequest } from './search-request.ts'

/** The data needed to find the next page, in addition to the parameters of the search. */
export interface Cursor {
  readonly after: After
  readonly moment: RelevanceMoment
  readonly breadth: Breadth
  readonly corrections: Readonly<Record<string, readonly string[]>>
}

const MOST_CORRECTED = 30
const FINGERPRINT_CHARACTERS = 16
/**
 * Earliest valid time of a cursor. With a much earlier time, the sales of a product would exceed the largest number
 * that a double can represent.
 */
const EARLIEST = Date.UTC(2020, 0)
const finite = z.number()
const word = z.string().max(200)
const correction = word.regex(/^\p{L}+$/u)

const cursorForm = z.strictObject({
  a: z.tuple([finite, z.int().min(0)]),
  n: z.int().min(EARLIEST),
  p: finite.nullable(),
  b: z.enum(['all', 'described', 'most', 'half']),
  c: z.record(word, z.array(correction).max(2)).refine((corrections) => Object.keys(corrections).length <= MOST_CORRECTED),
  f: z.string(),
})

/**
 * Returns a cursor as text. The text needs no signature, because a forged cursor only requests another page of public
 * products.
 */
export function cursorText(cursor: Cursor, request: SearchRequest): string {
  const { after, moment, breadth, corrections } = cursor
  const form = { a: after, n: moment.now, p: moment.salesPercentile, b: breadth, c: corrections, f: fingerprint(request) }
  return Buffer.from(JSON.stringify(form)).toString('base64url')
}

/** Reads a cursor. Throws ApiError `invalid_request` for a string that is not a cursor of this search. */
export function readCursor(text: string, request: SearchRequest): Cursor {
  const { success, data } = cursorForm.safeParse(jsonOf(text))
  if (!success || data.f !== fingerprint(request)) throw invalidRequest('query.cursor', 'is not a cursor of this search')
  return { after: data.a, moment: { now: data.n, salesPercentile: data.p }, breadth: data.b, corrections: data.c }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return undefined
  }
}

/** Returns a string that identifies the search of a request, regardless of the page. */
function fingerprint({ q, filters, category, sort }: SearchRequest): string {
  const { priceMin, priceMax, brands, ratingMin, attributes } = filters
  const searched = JSON.stringify([q, category, priceMin, priceMax, brands.toSorted(), ratingMin, [...attributes].toSorted(), sort])
  return createHash('sha256').update(searched).digest('base64url').slice(0, FINGERPRINT_CHARACTERS)
}
