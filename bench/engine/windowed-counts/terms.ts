import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { AvroSchema } from '../../../pipelines/engine/index.ts'
import { dataSet } from '../../../scripts/data-sets.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { longRecord } from '../longs.ts'

/** The terms of tweets. All columns except `names` have one entry per record. */
export interface Terms {
  readonly count: number
  /** The distinct terms. */
  readonly names: readonly string[]
  /** Index in `names` of each record's term. */
  readonly term: Int32Array
  readonly tweetId: BigInt64Array
  /** Timestamp of each record, epoch ms. */
  readonly ts: Float64Array
}

/** A record of the input topic. */
export interface TermSeen {
  tweet_id: bigint
}

/** A record of the output topic. */
export interface WindowCount {
  window_start: number
  count: number
}

export const termSeenSchema: AvroSchema = {
  type: 'record',
  name: 'TermSeen',
  namespace: 'millrace.bench',
  fields: [{ name: 'tweet_id', type: { type: 'long', logicalType: 'int64' } }],
}
export const windowCountSchema = longRecord('WindowCount', ['window_start', 'count'])

/** Time of the first record before its random shift, 2026-01-01T00:00Z. */
export const FIRST_MS = 1_767_225_600_000
/** Time between two records in ms. With this value, a million records span one hour. */
const MS_PER_RECORD = 3.6
/** Maximum shift of a record's time in either direction. The shifts make records arrive out of order. */
const JITTER_MS = 5_000
const SEED = 1
/** Index of the last column: the text, which may contain commas. */
const TEXT_COLUMN = 4
const TOKEN = /#?[\p{L}\p{N}_]{4,}/gu
const LINK = /https?:\/\/\S+/g
const TWEET_ID = /^(\d{15,}),/

/**
 * Reads tokens of at least four characters from real tweets, in file order. If the file has fewer than `count` tokens,
 * they are repeated.
 */
export function readTerms(dataDir: string, count: number): Terms {
  const { names, term: tokens, tweetId: ids } = tokensOfTweets(dataDir)
  const random = seededRandom(SEED)
  const term = new Int32Array(count)
  const tweetId = new BigInt64Array(count)
  const ts = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    term[i] = tokens[i % tokens.length]
    tweetId[i] = ids[i % tokens.length]
    ts[i] = FIRST_MS + Math.floor(i * MS_PER_RECORD) + Math.floor(random() * (2 * JITTER_MS + 1)) - JITTER_MS
  }
  return { count, names, term, tweetId, ts }
}

function tokensOfTweets(dataDir: string) {
  const lines = gunzipSync(readFileSync(dataSet(dataDir, 'tweets')))
    .toString('utf8')
    .split('\n')
  const indexOf = new Map<string, number>()
  const term: number[] = []
  const tweetId: bigint[] = []
  let id = 0n
  for (const line of lines.slice(1)) {
    const found = TWEET_ID.exec(line)
    // A line without an id continues the text of the previous tweet.
    if (found !== null) id = BigInt(found[1])
    const text = found === null ? line : line.split(',').slice(TEXT_COLUMN).join(',')
    for (const [token] of text.replaceAll(LINK, ' ').toLowerCase().matchAll(TOKEN)) {
      const index = indexOf.get(token) ?? indexOf.size
      if (index === indexOf.size) indexOf.set(token, index)
      term.push(index)
      tweetId.push(id)
    }
  }
  return { names: [...indexOf.keys()], term, tweetId }
}
