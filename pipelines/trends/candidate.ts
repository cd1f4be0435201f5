import { cursor } from '../../schemas/avro/cursor.ts'
import { readLength, readLong, readString, skipLong } from '../../schemas/avro/read.ts'
import { writeInt64, writeLong, writeString } from '../../schemas/avro/write.ts'
import { type ByteWriter, CodecError } from '../../schemas/codec.ts'
import { hashOf } from './drawn-tweets.ts'

/** A term that may belong in a region's list, with the data that one partition of the terms has about it. */
export interface TrendCandidate {
  readonly term: string
  /** The most frequent spelling. */
  readonly name: string
  /** Contributions in the window. */
  readonly count: number
  /** Contributions in the window one hour ago. */
  readonly hour_ago: number
  /** Contributions in the 24 whole hours before the current hour, and in the current hour so far. */
  readonly day: number
  /** The usual count in this window; -1 if there is none. */
  readonly baseline: number
  readonly tracked: boolean
  /** Distinct users in the window. */
  readonly users: number
  readonly sample_tweets: readonly bigint[]
  /** The most common language of the newest tweets of up to 20 users; empty if there is none. */
  readonly lang: string
  /**
   * The tweets of the window with the lowest hashes, at most 24, in the order of their hashes. Terms with fewer than
   * `LEAST_DRAWN` tweets have none, and terms that cannot be among the region's best 100 may lack them.
   */
  drawn: readonly bigint[]
}

/** Maximum size of a 64-bit variable-length integer, in bytes. */
const MAX_VARINT = 10
const ID_BYTES = 8
/** First byte of an optional value in Avro. */
export const ABSENT = 0
export const PRESENT = 2

/**
 * Appends the details of a candidate. The count, the baseline and whether the term is tracked are not details, because
 * they change while everything else stays the same. The name, the language and the samples are written as Avro, so that
 * they can be copied into the list.
 */
export function writeDetails(candidate: TrendCandidate, out: ByteWriter): void {
  const { term, name, hour_ago, day, users, lang, sample_tweets, drawn } = candidate
  let at = wellFormed(writeString(out, out.length, term))
  at = wellFormed(writeString(out, at, name))
  out.length = at
  out.reserve(MAX_VARINT * (6 + sample_tweets.length) + ID_BYTES * drawn.length + lang.length)
  const { buffer } = out
  at = writeLong(buffer, at, hour_ago)
  at = writeLong(buffer, at, day)
  at = writeLong(buffer, at, users)
  if (lang === '') buffer[at++] = ABSENT
  else {
    buffer[at++] = PRESENT
    at = wellFormed(writeString(out, at, lang))
  }
  if (sample_tweets.length > 0) {
    at = writeLong(buffer, at, sample_tweets.length)
    for (const id of sample_tweets) at = writeInt64(buffer, at, id)
  }
  buffer[at++] = 0
  at = writeLong(buffer, at, drawn.length)
  for (const id of drawn) at = buffer.writeBigInt64LE(id, at)
  out.length = at
}

function wellFormed(at: number): number {
  if (at < 0) throw new CodecError(cursor.why)
  return at
}

/** Reads the output of `writeDetails`. Texts and ids are decoded only when they are needed. */
export class CandidateDetails {
  readonly buffer: Buffer
  /** Position of the term's length. The term follows. */
  readonly termAt: number
  readonly nameAt: number
  readonly nameEnd: number
  readonly hourAgo: number
  readonly day: number
  readonly users: number
  readonly langAt: number
  readonly langEnd: number
  readonly samplesEnd: number
  readonly #drawn: number
  readonly #drawnAt: number

  constructor(buffer: Buffer, at: number) {
    const end = buffer.length
    this.buffer = buffer
    this.termAt = at
    this.nameAt = skipText(buffer, at)
    this.nameEnd = skipText(buffer, this.nameAt)
    this.hourAgo = readLong(buffer, this.nameEnd, end)
    this.day = readLong(buffer, cursor.at, end)
    this.users = readLong(buffer, cursor.at, end)
    this.langAt = cursor.at
    this.langEnd = buffer[this.langAt] === ABSENT ? this.langAt + 1 : skipText(buffer, this.langAt + 1)
    let next = this.langEnd
    for (let left = readLong(buffer, next, end); left > 0; left = readLong(buffer, next, end)) {
      next = cursor.at
      for (; left > 0; left--) {
        skipLong(buffer, next, end)
        next = cursor.at
      }
    }
    this.samplesEnd = cursor.at
    this.#drawn = readLong(buffer, cursor.at, end)
    this.#drawnAt = cursor.at
    if (cursor.at < 0) throw new CodecError(cursor.why)
  }

  get term(): string {
    return readString(this.buffer, this.termAt, this.buffer.length)
  }

  get name(): string {
    return readString(this.buffer, this.nameAt, this.buffer.length)
  }

  /** Returns the hashes of the drawn tweets, in ascending order. */
  drawnHashes(): number[] {
    const hashes: number[] = []
    for (let at = this.#drawnAt; hashes.length < this.#drawn; at += ID_BYTES)
      hashes.push(hashOf(this.buffer.readUInt32LE(at), this.buffer.readUInt32LE(at + ID_BYTES / 2)))
    return hashes
  }

  /** Returns the id of a drawn tweet. */
  drawnTweet(index: number): bigint {
    return this.buffer.readBigInt64LE(this.#drawnAt + index * ID_BYTES)
  }
}

function skipText(buffer: Buffer, at: number): number {
  const length = readLength(buffer, at, buffer.length)
  return cursor.at + length
}

/**
 * The first UTF-8 byte of U+E000. The UTF-16 units of the characters from U+E000 to U+FFFF are above the surrogates.
 */
const AFTER_SURROGATES = 0xee
const SURROGATES = 0xf0

/**
 * Compares the terms in two encoded details, in the order of JavaScript strings.
 * @param aAt,bAt see `CandidateDetails.termAt`
 */
export function compareTerms(a: Buffer, aAt: number, b: Buffer, bAt: number): number {
  const aLength = readLength(a, aAt, a.length)
  const aStart = cursor.at
  const bLength = readLength(b, bAt, b.length)
  const bStart = cursor.at
  return compareUtf8(a, aStart, aStart + aLength, b, bStart, bStart + bLength)
}

/** Compares UTF-8 texts in the order of JavaScript strings, that is, by UTF-16 code units. */
export function compareUtf8(a: Buffer, aStart: number, aEnd: number, b: Buffer, bStart: number, bEnd: number): number {
  const common = Math.min(aEnd - aStart, bEnd - bStart)
  for (let i = 0; i < common; i++) {
    const left = a[aStart + i]
    const right = b[bStart + i]
    if (left === right) continue
    // In UTF-16, a character above U+FFFF is a pair of surrogates, which are less than the units from U+E000 to U+FFFF.
    if (left >= AFTER_SURROGATES && right >= AFTER_SURROGATES && left >= SURROGATES !== right >= SURROGATES) return right - left
    return left - right
  }
  return aEnd - aStart - (bEnd - bStart)
}
