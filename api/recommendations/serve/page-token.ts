import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { ApiError } from '../../kit/errors.ts'
import { CHANNELS } from '../candidates/candidate.ts'
import { REC_TYPES } from '../candidates/generate.ts'
import { recommendationErrors } from '../errors.ts'
import type { Reason } from './explanation.ts'

/** An item that a list contains. */
export interface ListedItem extends Reason {
  readonly itemId: bigint
  readonly score: number
}

/**
 * The remaining items of a list. The page token contains these items, so that later pages match the first page and no
 * server has to store the list.
 */
export interface RestOfList {
  readonly userId: bigint
  readonly requestId: string
  readonly modelVersion: string
  readonly context: string
  /** Position of the first remaining item in the list, counted from 0. */
  readonly position: number
  readonly items: readonly ListedItem[]
}

/** How long a token is valid: docs/services/recommendations.md#pages */
const VALID_MS = 30 * 60_000
const MAX_ITEMS = 50
/**
 * Maximum length of a token. Tokens with MAX_ITEMS items are shorter. A longer text is refused before its signature is
 * computed.
 */
const MAX_CHARACTERS = 12_000
const FOREIGN = 'The page_token is not valid, or comes from another release. Ask for a new list.'
const id = z.string().regex(/^-?\d{1,19}$/)

const form = z.strictObject({
  u: id,
  e: z.int(),
  r: z.string().max(200),
  v: z.string().max(200),
  c: z.string().max(50),
  p: z.int().min(0),
  i: z
    .array(
      z.tuple([
        id,
        z.number(),
        z
          .int()
          .min(0)
          .max(REC_TYPES.length - 1),
        id.nullable(),
        z
          .int()
          .min(0)
          .max(CHANNELS.length - 1),
      ]),
    )
    .max(MAX_ITEMS),
})

export interface PageTokens {
  sign(rest: RestOfList): string
  /**
   * Reads a page token. Throws ApiError `invalid_page_token` if the token is empty or forged, has expired, belongs to
   * another user, or comes from a release with a different token format.
   */
  read(token: string, userId: bigint): RestOfList
}

/** @param now epoch ms */
export function pageTokens(secret: string, now: () => number): PageTokens {
  const signatureOf = (text: string) => createHmac('sha256', secret).update(`page:${text}`).digest('base64url')

  return {
    sign({ userId, requestId, modelVersion, context, position, items }) {
      const listed = items.map(({ itemId, score, recType, sourceItemId, channel }) => {
        return [String(itemId), score, REC_TYPES.indexOf(recType), sourceItemId?.toString() ?? null, CHANNELS.indexOf(channel)]
      })
      const value = { u: String(userId), e: now() + VALID_MS, r: requestId, v: modelVersion, c: context, p: position, i: listed }
      const text = Buffer.from(JSON.stringify(value)).toString('base64url')
      return `${text}.${signatureOf(text)}`
    },
    read(token, userId) {
      if (token.length > MAX_CHARACTERS) throw invalid(FOREIGN)
      const [text, signature = '', ...more] = token.split('.')
      const [given, expected] = [Buffer.from(signature), Buffer.from(signatureOf(text))]
      if (more.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) throw invalid(FOREIGN)
      const { success, data } = form.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString()))
      // During an upgrade, a correctly signed token may come from a release with a different token format.
      if (!success) throw invalid(FOREIGN)
      const { u, e, r, v, c, p, i } = data
      if (BigInt(u) !== userId) throw invalid('The page_token belongs to another user. Ask for a new list.')
      if (now() > e) throw invalid('The page_token has expired. Ask for a new list.')
      const items = i.map(([itemId, score, recType, source, channel]) => ({
        itemId: BigInt(itemId),
        score,
        recType: REC_TYPES[recType],
        sourceItemId: source === null ? undefined : BigInt(source),
        channel: CHANNELS[channel],
      }))
      return { userId, requestId: r, modelVersion: v, context: c, position: p, items }
    },
  }
}

function invalid(message: string): ApiError {
  return new ApiError(recommendationErrors.invalid_page_token, { message })
}
