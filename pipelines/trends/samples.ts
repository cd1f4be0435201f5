import type { ByteWriter } from '../../schemas/codec.ts'
import { copyBytes } from '../../schemas/copy-bytes.ts'
import type { Tweet } from '../../schemas/trends/types.ts'
import { type LanguageCode, languageCode } from './languages.ts'
import { USERS_FOR_LABEL } from './score.ts'

/** Maximum number of sample tweets per trend: docs/services/trends.md#sample-tweets */
export const SAMPLES = 3
/**
 * Maximum number of samples kept per term. The samples also determine the language of a term. As long as a term has
 * fewer samples than this, its number of users is at most its number of samples (`usersIn`).
 */
export const KEPT_SAMPLES = USERS_FOR_LABEL

/** A tweet in which a term was used. */
export interface SampleTweet {
  readonly tweet_id: bigint
  readonly user_id: bigint
  /** Epoch ms. */
  readonly created_at: number
  readonly lang: LanguageCode
}

/**
 * The newest tweets of distinct users, newest first, as bytes. A sample has the ids of the tweet and of its user (8
 * bytes each, in the machine's order, which is little-endian on x64 and ARM), its time (6 bytes) and its language (2
 * bytes). Samples are changed with every contribution, but their values are needed only for lists. Objects with two
 * BigInts per sample would cost more than all other work on a term.
 */
export type Samples = Buffer

export const NO_SAMPLES: Samples = Buffer.alloc(0)

const ID_BYTES = 8
const TIME_AT = 2 * ID_BYTES
const TIME_BYTES = 6
const LANGUAGE_AT = TIME_AT + TIME_BYTES
/** Size of a language code. Codes are less than 27³. */
const LANGUAGE_BYTES = 2
export const SAMPLE_BYTES = LANGUAGE_AT + LANGUAGE_BYTES
const FULL_BYTES = KEPT_SAMPLES * SAMPLE_BYTES

/**
 * A tweet from which a sample is made, or a sample that was read. In a tweet, `lang` is the tag of the language; in a
 * sample, it is the code.
 */
export type SampledTweet = SampleTweet | Pick<Tweet, 'tweet_id' | 'user_id' | 'created_at' | 'lang'>

/** Scratch buffer for reading and writing ids. Node's own 64-bit functions would allocate several BigInts per call. */
const ids = new BigInt64Array(2)
const idBytes = new Uint8Array(ids.buffer)
/** The sample that the last call of `addSample` left out. */
const leftOut = Buffer.alloc(SAMPLE_BYTES)

/** Appends a sample. The caller must have reserved enough bytes. */
export function writeSample(tweet: SampledTweet, out: ByteWriter): void {
  writeAt(tweet, out.buffer, out.length)
  out.length += SAMPLE_BYTES
}

export function samplesOf(tweet: SampledTweet): Samples {
  const samples = Buffer.allocUnsafe(SAMPLE_BYTES)
  writeAt(tweet, samples, 0)
  return samples
}

function writeAt({ tweet_id, user_id, created_at, lang }: SampledTweet, buffer: Buffer, at: number): void {
  ids[0] = tweet_id
  ids[1] = user_id
  for (let i = 0; i < TIME_AT; i++) buffer[at + i] = idBytes[i]
  buffer.writeUIntLE(created_at, at + TIME_AT, TIME_BYTES)
  buffer.writeUInt16LE(codeOf(lang), at + LANGUAGE_AT)
}

function codeOf(lang: SampledTweet['lang']): LanguageCode {
  return typeof lang === 'number' ? lang : languageCode(lang)
}

export function readSample(buffer: Buffer, at: number): SampleTweet {
  for (let i = 0; i < TIME_AT; i++) idBytes[i] = buffer[at + i]
  return { tweet_id: ids[0], user_id: ids[1], created_at: sampleTime(buffer, at), lang: buffer.readUInt16LE(at + LANGUAGE_AT) }
}

/** Returns the time of a sample, epoch ms. */
export function sampleTime(buffer: Buffer, at: number): number {
  return buffer.readUIntLE(at + TIME_AT, TIME_BYTES)
}

export function sampledTweets(samples: Samples): SampleTweet[] {
  return Array.from({ length: samples.length / SAMPLE_BYTES }, (_, i) => readSample(samples, i * SAMPLE_BYTES))
}

/**
 * Adds a sample. A sample that was left out once would always be left out again, so the result does not depend on the
 * order or repetition of samples. The bytes of `to.samples` are changed, so nothing else may use them.
 * @returns the sample that is left out, valid until the next call; undefined if all samples are kept
 */
export function addSample(to: { samples: Samples }, from: Buffer, at: number): Buffer | undefined {
  const { samples } = to
  const isFull = samples.length === FULL_BYTES
  if (isFull && !isNewer(from, at, samples, FULL_BYTES - SAMPLE_BYTES)) return leaveOut(from, at)
  let own = 0
  while (own < samples.length && !isSameUser(samples, own, from, at)) own += SAMPLE_BYTES
  // An added sample is usually among the newest, so the search begins with the newest.
  let place = 0
  while (place < own && !isNewer(from, at, samples, place)) place += SAMPLE_BYTES
  if (own === samples.length && !isFull) {
    to.samples = grown(samples, place, from, at)
    return undefined
  }
  if (place === own && !isNewer(from, at, samples, own)) return leaveOut(from, at)
  const removed = Math.min(own, FULL_BYTES - SAMPLE_BYTES)
  leaveOut(samples, removed)
  samples.copyWithin(place + SAMPLE_BYTES, place, removed)
  copyBytes(from, at, at + SAMPLE_BYTES, samples, place)
  return leftOut
}

function leaveOut(from: Buffer, at: number): Buffer {
  copyBytes(from, at, at + SAMPLE_BYTES, leftOut, 0)
  return leftOut
}

function grown(samples: Samples, place: number, from: Buffer, at: number): Samples {
  const more = Buffer.allocUnsafe(samples.length + SAMPLE_BYTES)
  if (place > 0) samples.copy(more, 0, 0, place)
  copyBytes(from, at, at + SAMPLE_BYTES, more, place)
  if (place < samples.length) samples.copy(more, place + SAMPLE_BYTES, place)
  return more
}

function isSameUser(a: Buffer, atA: number, b: Buffer, atB: number): boolean {
  for (let i = ID_BYTES; i < TIME_AT; i++) if (a[atA + i] !== b[atB + i]) return false
  return true
}

/**
 * Returns whether `a` is newer than `b`. Of two tweets of the same millisecond, the tweet with the higher id counts as
 * newer.
 */
function isNewer(a: Buffer, atA: number, b: Buffer, atB: number): boolean {
  for (let i = LANGUAGE_AT - 1; i >= TIME_AT; i--) if (a[atA + i] !== b[atB + i]) return a[atA + i] > b[atB + i]
  // The highest byte of an id contains the sign.
  const sign = ID_BYTES - 1
  if (a[atA + sign] !== b[atB + sign]) return a.readInt8(atA + sign) > b.readInt8(atB + sign)
  for (let i = sign - 1; i >= 0; i--) if (a[atA + i] !== b[atB + i]) return a[atA + i] > b[atB + i]
  return false
}
