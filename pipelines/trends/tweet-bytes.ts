import { isUtf8 } from 'node:buffer'
import { bodyReader } from '../../schemas/avro/body-reader.ts'
import { ASCII_END, cursor } from '../../schemas/avro/cursor.ts'
import {
  lastBlockEnd,
  readBlockCount,
  readFloat,
  readInt,
  readInt64,
  readLength,
  readLong,
  readString,
  TRUNCATED,
} from '../../schemas/avro/read.ts'
import { CodecError } from '../../schemas/codec.ts'
import { tweets } from '../../schemas/trends/topics.ts'

const FLOAT_BYTES = 4

/**
 * A decoded tweet, without its text. Its hashtags and phrases are not decoded into strings: they stay in `buffer` as
 * bytes, which have been checked to be valid UTF-8. Most of them are ASCII, and ASCII terms are folded as bytes, so
 * most strings would never be used.
 */
export class TweetBytes {
  readonly tweet_id: bigint
  readonly user_id: bigint
  readonly lang: string
  readonly woeid: number
  readonly bot_score: number
  readonly created_at: number
  readonly buffer: Buffer
  /** Where the hashtags begin. The phrases follow. */
  readonly hashtagsAt: number

  /** @throws CodecError if the bytes are not a tweet */
  constructor(buffer: Buffer, start: number, end: number) {
    this.buffer = buffer
    this.tweet_id = checked(readInt64(buffer, start, end), 'tweet_id')
    this.user_id = checked(readInt64(buffer, cursor.at, end), 'user_id')
    const textBytes = checked(readLength(buffer, cursor.at, end), 'text')
    this.hashtagsAt = cursor.at + textBytes
    const phrasesAt = checkTexts(buffer, this.hashtagsAt, end, 'hashtags')
    const langAt = checkTexts(buffer, phrasesAt, end, 'phrases')
    this.lang = checked(readString(buffer, langAt, end), 'lang')
    this.woeid = checked(readInt(buffer, cursor.at, end), 'woeid')
    const scoreAt = cursor.at
    if (end - scoreAt < FLOAT_BYTES) throw malformed('bot_score', TRUNCATED)
    this.bot_score = readFloat(buffer, scoreAt)
    this.created_at = checked(readLong(buffer, scoreAt + FLOAT_BYTES, end), 'created_at')
    if (cursor.at !== end) throw new CodecError(`Tweet: ${end - cursor.at} bytes are left after the value`)
  }
}

/**
 * Visits the hashtags, and then the phrases, as bytes of the record.
 * @param visit must not read Avro, because reading moves the shared cursor
 */
export function eachTerm({ buffer, hashtagsAt }: TweetBytes, visit: (start: number, end: number) => void): void {
  let at = hashtagsAt
  for (let lists = 0; lists < 2; lists++) {
    for (let left = readBlockCount(buffer, at, buffer.length, 1); left > 0; left = readBlockCount(buffer, at, buffer.length, 1)) {
      at = cursor.at
      for (; left > 0; left--) {
        const length = readLength(buffer, at, buffer.length)
        const start = cursor.at
        at = start + length
        visit(start, at)
      }
    }
    at = cursor.at
  }
}

/**
 * Checks that the bytes are an Avro array of UTF-8 strings.
 * @returns the position at which the array ends
 */
function checkTexts(buffer: Buffer, start: number, end: number, field: string): number {
  let at = start
  for (;;) {
    const count = checked(readBlockCount(buffer, at, end, 1), field)
    at = cursor.at
    if (count === 0) return at
    const until = lastBlockEnd()
    for (let left = count; left > 0; left--) {
      const length = checked(readLength(buffer, at, end), field)
      const textAt = cursor.at
      at = textAt + length
      checkUtf8(buffer, textAt, at, field)
    }
    if (until >= 0 && at !== until) throw malformed(field, 'a block does not have its declared size')
  }
}

function checkUtf8(buffer: Buffer, start: number, end: number, field: string): void {
  for (let at = start; at < end; at++) {
    if (buffer[at] < ASCII_END) continue
    if (!isUtf8(buffer.subarray(start, end))) throw malformed(field, 'the string is not valid UTF-8')
    return
  }
}

/**
 * Returns the value that was just read.
 * @throws CodecError if the value is malformed
 */
function checked<T>(value: T, field: string): T {
  if (cursor.at < 0) throw malformed(field, cursor.why)
  return value
}

function malformed(field: string, why: string): CodecError {
  return new CodecError(`Tweet.${field}: ${why}`)
}

/** The topic of tweets as this pipeline reads it. */
export const tweetsAsBytes = { ...tweets, value: bodyReader(tweets.value, (buffer, start, end) => new TweetBytes(buffer, start, end)) }
