import { headersOf } from '../../../kafka/record-batch/chunk.ts'
import { recordBytesBound } from '../../../kafka/record-batch/writer.ts'
import type { RecordChunk, RecordHeader } from '../../../kafka/transport.ts'
import { LARGE_MAX_BATCH_BYTES } from '../../../schemas/topic.ts'
import type { RecordContext } from '../topology/api.ts'

/** Header names of a dead letter. The record's own headers are kept beside them. */
export const DEAD_LETTER_HEADERS = {
  topic: 'dead-letter.topic',
  partition: 'dead-letter.partition',
  offset: 'dead-letter.offset',
  /** Epoch ms of the original record. */
  timestamp: 'dead-letter.timestamp',
  code: 'dead-letter.code',
  message: 'dead-letter.message',
  topology: 'dead-letter.topology',
  processor: 'dead-letter.processor',
  /** Only on a record that did not fit whole: what was cut, each with its bytes before, e.g. `value=5000000`. */
  cut: 'dead-letter.cut',
} as const

/** On a record that came out of a dead-letter topic again: how often it has. */
export const REPLAY_HEADER = 'dead-letter.replays'
/** Beside it: the timestamp (epoch ms) that the record had at first, since a topic may stamp records with the time at which they come. */
export const SENT_AT_HEADER = 'dead-letter.sent-at'

/** Long enough for any reason, short enough that a flood of them stays small. */
const MAX_MESSAGE_CHARACTERS = 1_000

/** Below the topic's `max.message.bytes`: the batch around the record, and a codec that makes it larger, take some. */
const MAX_DEAD_LETTER_BYTES = LARGE_MAX_BATCH_BYTES - 64 * 1_024
/** Of a dead letter that must be cut: more than this of a key, or of the record's own headers, leaves no room for its value. */
const MAX_CUT_PART_BYTES = 1_048_576

export interface DeadLetterCause {
  readonly topology: string
  /** The processor that rejected the record; empty when it could not be decoded. */
  readonly processor: string
  readonly code: string
  readonly message: string
}

/** What of a record goes to the dead-letter topic: the headers, and how far key and value reach in the record's chunk. */
export interface DeadLetterParts {
  readonly headers: RecordHeader[]
  readonly keyEnd: number
  readonly valueEnd: number
}

/**
 * A record that cannot be processed must never be one that cannot be put aside either. A source takes up to its broker's limit, compressed: unpacked,
 * or with more headers, a record may not fit the dead-letter topic. Then its value is cut, and a header says so; a key or headers
 * that leave no room for it are cut or left out too.
 */
export function deadLetterParts(chunk: RecordChunk, row: number, cause: DeadLetterCause): DeadLetterParts {
  const keyBytes = Math.max(0, chunk.keyEnd[row] - chunk.keyStart[row])
  const valueBytes = Math.max(0, chunk.valueEnd[row] - chunk.valueStart[row])
  const own = headersOf(chunk, row)
  const about = causeHeaders(chunk, row, cause)
  const whole = [...own, ...about]
  if (recordBytesBound(keyBytes, valueBytes, whole) <= MAX_DEAD_LETTER_BYTES)
    return { headers: whole, keyEnd: chunk.keyEnd[row], valueEnd: chunk.valueEnd[row] }
  const ownBytes = recordBytesBound(0, 0, own)
  const keptOwn = ownBytes > MAX_CUT_PART_BYTES ? [] : own
  const keptKey = Math.min(keyBytes, MAX_CUT_PART_BYTES)
  // With the greatest text that it can have, so that its own size is known.
  const room = MAX_DEAD_LETTER_BYTES - recordBytesBound(keptKey, 0, [...keptOwn, ...about, cutHeader(keyBytes, ownBytes, valueBytes)])
  const keptValue = Math.min(valueBytes, room)
  const cut = cutHeader(
    keptKey < keyBytes ? keyBytes : 0,
    keptOwn.length < own.length ? ownBytes : 0,
    keptValue < valueBytes ? valueBytes : 0,
  )
  return {
    headers: [...keptOwn, ...about, cut],
    keyEnd: chunk.keyEnd[row] - keyBytes + keptKey,
    valueEnd: chunk.valueEnd[row] - valueBytes + keptValue,
  }
}

/** @param key bytes before, 0 where it is whole; so the others */
function cutHeader(key: number, headers: number, value: number): RecordHeader {
  const parts = Object.entries({ key, headers, value }).filter(([, bytes]) => bytes > 0)
  return { key: DEAD_LETTER_HEADERS.cut, value: Buffer.from(parts.map(([name, bytes]) => `${name}=${bytes}`).join(' ')) }
}

function causeHeaders(chunk: RecordChunk, row: number, cause: DeadLetterCause): RecordHeader[] {
  const names = DEAD_LETTER_HEADERS
  const fields: [string, string][] = [
    [names.topic, chunk.topic],
    [names.partition, String(chunk.partition)],
    [names.offset, String(chunk.offsets[row])],
    [names.timestamp, String(chunk.timestamps[row])],
    [names.code, cause.code],
    [names.message, cause.message.slice(0, MAX_MESSAGE_CHARACTERS)],
    [names.topology, cause.topology],
    [names.processor, cause.processor],
  ]
  return fields.map(([key, value]) => ({ key, value: Buffer.from(value, 'utf8') }))
}

/** The timestamp of the record in hand, or, after a replay, the one that it had at first. */
export function originalTimestamp(ctx: Pick<RecordContext<unknown>, 'timestamp' | 'headers'>): number {
  const sentAt = Number(ctx.headers().find((header) => header.key === SENT_AT_HEADER)?.value ?? Number.NaN)
  return Number.isSafeInteger(sentAt) ? sentAt : ctx.timestamp
}

/** On a record in a late output: where it came from. */
export function lateHeaders(chunk: RecordChunk, row: number): RecordHeader[] {
  const source = `${chunk.topic} ${chunk.partition} ${chunk.offsets[row]}`
  return [...headersOf(chunk, row), { key: 'late.source', value: Buffer.from(source, 'utf8') }]
}
