import { writeDouble, writeInt64, writeLong } from '../../schemas/avro/write.ts'
import { type ByteWriter, byteWriter } from '../../schemas/codec.ts'
import { EncodedBody } from '../engine/index.ts'
import { ABSENT, PRESENT } from './candidate.ts'
import type { Topic } from './fold.ts'
import type { RankedTerm } from './ranking.ts'
import { labelOf, velocityOf, velocityVsUsual } from './score.ts'
import { NO_BASELINE } from './term-state.ts'

/** Since when a topic has been trending, and how its rank has changed. */
export interface Standing {
  /** Epoch ms. */
  readonly trendingSince: number
  readonly rankChange: number | null
  readonly peakRank: number | null
}

/** The data that all entries of a list share. */
export interface ListHead {
  readonly woeid: number
  readonly windowEnd: number
  readonly missing: number
  readonly meanOfNewTerms: number
  /** Whether the region has enough history for labels. */
  readonly mayLabel: boolean
}

/** Maximum size of a 64-bit variable-length integer, in bytes. */
const MAX_VARINT = 10
/** Number of bytes that are reserved for the numbers and the label of an entry. */
const NUMBERS_BYTES = 160
/** Index of the symbol `pipeline` in the enum `TrendSource`. */
const PIPELINE = 0

/**
 * Writes `TrendOutput` directly as Avro. Most fields of the hundreds of entries are bytes that partitions have sent,
 * and creating an object for each entry would cost more than all other work on the list.
 */
export function listWriter() {
  const body = byteWriter()

  function entry(topic: Topic, standing: Standing, { meanOfNewTerms, mayLabel }: ListHead): void {
    const { leader, variants, related, typicalTweet } = topic
    const { details, count, baseline, score } = leader
    const { buffer, termAt, nameEnd, langAt, langEnd, samplesEnd, day, hourAgo, users } = details
    const velocity = velocityVsUsual(count, baseline === NO_BASELINE ? meanOfNewTerms : baseline)
    body.reserve(NUMBERS_BYTES + samplesEnd - termAt)
    const out = body.buffer
    let at = body.length + buffer.copy(out, body.length, termAt, nameEnd)
    at = writeLong(out, at, count)
    at = writeLong(out, at, day)
    at = writeDouble(out, at, velocityOf(count, hourAgo))
    at = writeDouble(out, at, velocity)
    at = writeDouble(out, at, score)
    at = writeLabel(out, at, mayLabel ? labelOf(velocity, users) : null)
    at = writeLong(out, at, standing.trendingSince)
    at += buffer.copy(out, at, langEnd, samplesEnd)
    at = writeOptional(out, at, standing.rankChange)
    at = writeOptional(out, at, standing.peakRank)
    at += buffer.copy(out, at, langAt, langEnd)
    body.length = writeOptional(out, at, users)
    writeNames(variants, body)
    writeNames(related, body)
    body.reserve(1 + MAX_VARINT)
    if (typicalTweet === null) {
      body.buffer[body.length++] = ABSENT
      return
    }
    body.buffer[body.length++] = PRESENT
    body.length = writeInt64(body.buffer, body.length, typicalTweet)
  }

  return {
    /** Returns the list. It is valid until the next call. */
    write(head: ListHead, topics: readonly Topic[], standingOf: (topic: Topic, rank: number) => Standing): EncodedBody {
      body.length = 0
      body.reserve(4 * MAX_VARINT + 1)
      let at = writeLong(body.buffer, 0, head.woeid)
      at = writeLong(body.buffer, at, head.windowEnd)
      body.buffer[at++] = PIPELINE
      at = writeLong(body.buffer, at, head.missing)
      if (topics.length > 0) at = writeLong(body.buffer, at, topics.length)
      body.length = at
      for (const [index, topic] of topics.entries()) entry(topic, standingOf(topic, index + 1), head)
      body.reserve(1)
      body.buffer[body.length++] = 0
      return new EncodedBody(body)
    },
  }
}

function writeOptional(out: Buffer, at: number, value: number | null): number {
  if (value === null) {
    out[at] = ABSENT
    return at + 1
  }
  out[at] = PRESENT
  return writeLong(out, at + 1, value)
}

function writeLabel(out: Buffer, at: number, label: string | null): number {
  if (label === null) {
    out[at] = ABSENT
    return at + 1
  }
  out[at] = PRESENT
  const start = writeLong(out, at + 1, label.length)
  return start + out.write(label, start, 'latin1')
}

/** Writes the names of terms as an array. */
function writeNames(terms: readonly RankedTerm[], out: ByteWriter): void {
  out.reserve(MAX_VARINT)
  if (terms.length > 0) out.length = writeLong(out.buffer, out.length, terms.length)
  for (const { details } of terms) {
    const { buffer, nameAt, nameEnd } = details
    out.reserve(nameEnd - nameAt)
    out.length += buffer.copy(out.buffer, out.length, nameAt, nameEnd)
  }
  out.reserve(1)
  out.buffer[out.length++] = 0
}
