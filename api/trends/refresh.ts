import { z } from '@hono/zod-openapi'
import { normalised } from '../../schemas/normalised.ts'
import { foldTerm, MAX_TERM_CODE_POINTS } from '../../schemas/trends/term.ts'
import { trendOutput } from '../../schemas/trends/topics.ts'
import type { TrendEntry, TrendOutput } from '../../schemas/trends/types.ts'
import { type Answer, noContent } from '../kit/answer.ts'
import { ApiError, type ErrorDetail, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { MAX_POSTED_AHEAD_MS, type TrendLists } from './lists.ts'
import { knownRegion } from './regions.ts'

/** Maximum number of entries. The pipeline keeps the same number per region: docs/services/trends.md#posted-lists */
const MAX_ENTRIES = 500
const SAMPLES_PER_ENTRY = 3
/** Maximum number of samples that are accepted per entry. Only the first SAMPLES_PER_ENTRY are kept. */
const MAX_SAMPLES_SENT = 100
/** A window must end at a whole second, because the second identifies a snapshot. */
const MS_PER_SECOND = 1_000
const MAX_INT32 = 2 ** 31 - 1
const MAX_INT64 = 2n ** 63n - 1n
const VIRAL_ABOVE = 10
const TRENDING_ABOVE = 3

const SampleId = z
  .string()
  .regex(/^(0|[1-9]\d{0,18})$/, 'must be a tweet id in decimal')
  .refine((text) => !/^\d{1,19}$/.test(text) || BigInt(text) <= MAX_INT64, 'must fit in 64 bits')

export const RefreshBody = z
  .object({
    woeid: z.int().min(0).max(MAX_INT32),
    window_end: z.iso
      .datetime({ offset: true, error: 'must be a time in ISO 8601 with seconds and a time zone' })
      .openapi({ description: 'End of the counted window, a whole second that is at most 5 minutes in the future.' }),
    top_k: z
      .array(
        z.object({
          term: z
            .string()
            .min(1)
            .openapi({ description: `The hashtag or phrase, of at most ${MAX_TERM_CODE_POINTS} characters.` }),
          count: z.int().min(0),
          velocity: z.number().min(0),
          sample_ids: z
            .array(SampleId)
            .max(MAX_SAMPLES_SENT)
            .openapi({ description: 'Ids of tweets with the term. The first 3 ids are kept.' }),
        }),
      )
      .max(MAX_ENTRIES)
      .openapi({ description: 'The entries of the list, best first.' }),
  })
  .openapi('TrendRefresh')

type Refresh = z.output<typeof RefreshBody>

export interface RefreshDeps {
  readonly facts: Facts
  readonly lists: Pick<TrendLists, 'servedEnd'>
}

/**
 * Publishes a posted list to the topic that the pipeline writes to. A list that is older than the served list is
 * accepted but not published, so it changes neither the served list nor the past lists. Throws `unknown_location`,
 * `invalid_request`, `not_ready`, and the errors of `Facts.publish`.
 */
export async function refresh(body: Refresh, { facts, lists }: RefreshDeps, now: number): Promise<Answer> {
  const region = knownRegion(body.woeid)
  const windowEnd = Date.parse(body.window_end)
  const details: ErrorDetail[] = []
  if (windowEnd > now + MAX_POSTED_AHEAD_MS) details.push({ path: 'body.window_end', message: 'must not be more than 5 minutes ahead' })
  // The table of past lists cannot store a time before 1970.
  if (windowEnd < 0) details.push({ path: 'body.window_end', message: 'must not be before 1970' })
  if (windowEnd % MS_PER_SECOND !== 0) details.push({ path: 'body.window_end', message: 'must be a whole second' })
  const entries = entriesOf(body, windowEnd, details)
  if (details.length > 0) throw new ApiError(errors.invalid_request, { details })
  if (((await lists.servedEnd(region)) ?? 0) > windowEnd) return noContent()
  const list: TrendOutput = { woeid: region.woeid, window_end: windowEnd, source: 'endpoint', missing_partitions: 0, entries }
  await facts.publish(trendOutput, region.woeid, list)
  return noContent()
}

/**
 * Converts the posted entries. Adds an error to `details` for each term that is invalid or a duplicate. Two terms that
 * fold to the same term would be one trend with two ranks.
 */
function entriesOf(body: Refresh, windowEnd: number, details: ErrorDetail[]): TrendEntry[] {
  const seen = new Map<string, number>()
  return body.top_k.map((given, index) => {
    const path = `body.top_k[${index}].term`
    const term = foldTerm(given.term)
    if (term === undefined) details.push({ path, message: `is empty, longer than ${MAX_TERM_CODE_POINTS} characters, or contains a NUL` })
    else if (seen.has(term)) details.push({ path, message: `is the same trend as body.top_k[${seen.get(term)}].term` })
    else seen.set(term, index)
    return entryOf(given, term ?? '', windowEnd)
  })
}

/**
 * Converts a posted entry. The sender gives a single velocity, which is used as both velocities. The score is computed
 * from the count and the velocity with the pipeline's formula. The label depends only on the velocity.
 */
function entryOf(given: Refresh['top_k'][number], term: string, windowEnd: number): TrendEntry {
  return {
    term,
    name: normalised(given.term),
    tweet_volume: given.count,
    volume_24h: given.count,
    velocity: given.velocity,
    velocity_vs_usual: given.velocity,
    score: given.count * Math.log2(1 + given.velocity),
    label: given.velocity > VIRAL_ABOVE ? 'Viral' : given.velocity > TRENDING_ABOVE ? 'Trending' : null,
    trending_since: windowEnd,
    sample_tweets: given.sample_ids.slice(0, SAMPLES_PER_ENTRY).map(BigInt),
    rank_change: null,
    peak_rank: null,
    lang: null,
    users: null,
    variants: [],
    related: [],
    typical_tweet: null,
  }
}
