import { headersOf } from '../../../kafka/record-batch/chunk.ts'
import { recordBytesBound } from '../../../kafka/record-batch/writer.ts'
import type { RecordChunk, RecordHeader, TopicPartition } from '../../../kafka/transport.ts'
import { LARGE_MAX_BATCH_BYTES } from '../../../schemas/topic.ts'
import type { RecordContext } from '../topology/api.ts'

/** Names of the headers that are added to a dead letter's original headers. */
export const DEAD_LETTER_HEADERS = {
  topic: 'dead-letter.topic',
  partition: 'dead-letter.partition',
  offset: 'dead-letter.offset',
  /** Header with the timestamp of the original record, epoch ms. */
  timestamp: 'dead-letter.timestamp',
  code: 'dead-letter.code',
  message: 'dead-letter.message',
  topology: 'dead-letter.topology',
  processor: 'dead-letter.processor',
  /**
   * Header of an incomplete dead letter. It lists the parts that were cut, each with its original size in bytes, e.g.
   * `value=5000000`. `batch` stands for all records of a batch that could not be unpacked.
   */
  cut: 'dead-letter.cut',
} as const

/** Header of a replayed record: the number of times that it has been replayed from a dead-letter topic. */
export const REPLAY_HEADER = 'dead-letter.replays'
/**
 * Header of a replayed record: its original timestamp (epoch ms), because a topic may replace timestamps with the
 * append time.
 */
export const SENT_AT_HEADER = 'dead-letter.sent-at'

/** Maximum length of the message. The limit is high enough for all useful messages, and keeps dead letters small. */
const MAX_MESSAGE_CHARACTERS = 1_000

/**
 * Maximum size of a dead letter. It is below the topic's `max.message.bytes`, to leave room for the header of the
 * record batch and for data that grows when it is compressed.
 */
const MAX_DEAD_LETTER_BYTES = LARGE_MAX_BATCH_BYTES - 64 * 1_024
/**
 * Maximum size of the key in a truncated dead letter; the same limit applies to the headers. It leaves room for a part
 * of the value.
 */
const MAX_CUT_PART_BYTES = 1_048_576

/**
 * The original topic, partition, offset, timestamp and headers of a record that a sink may have moved to another topic.
 */
interface EarlierPlace extends TopicPartition {
  readonly offset: number
  readonly timestamp: number
  readonly headers: readonly RecordHeader[]
}

export interface DeadLetterCause {
  /** True if the value must not be kept, because the topic promises to erase it (`Topic.erases`). */
  readonly erases?: boolean | undefined
  /** True if the key must not be kept either (`Topic.erasesKeys`). */
  readonly erasesKeys?: boolean | undefined
  readonly topology: string
  /**
   * The processor that rejected the record or failed on it; empty when the record could not be decoded, and in the dead
   * letters of a sink.
   */
  readonly processor: string
  readonly code: string
  readonly message: string
}

/**
 * The parts of a record that go to the dead-letter topic: the headers, and where key and value end in the record's
 * chunk.
 */
export interface DeadLetterParts {
  readonly headers: RecordHeader[]
  readonly keyEnd: number
  readonly valueEnd: number
}

/**
 * Returns the parts of a record that fit into the dead-letter topic. A record that fitted into its own topic may be too
 * large for the dead-letter topic: topics limit the size of compressed batches, and a dead letter has more headers. In
 * that case, a key of more than 1 MiB is cut, headers of more than 1 MiB are omitted, and the value is cut to the
 * remaining size. Values of topics that erase records are always removed, and so are their keys if the topics also
 * erase keys. If the batch is unreadable, the key, the value and the original headers are removed. A header lists the
 * parts that are incomplete.
 * @param place the record's original topic, partition, offset, timestamp and headers; by default those in the chunk
 */
export function deadLetterParts(
  chunk: RecordChunk,
  row: number,
  cause: DeadLetterCause,
  place: EarlierPlace = placeIn(chunk, row),
): DeadLetterParts {
  const wholeKeyBytes = Math.max(0, chunk.keyEnd[row] - chunk.keyStart[row])
  const keyBytes = cause.erasesKeys ? 0 : wholeKeyBytes
  const wholeValueBytes = Math.max(0, chunk.valueEnd[row] - chunk.valueStart[row])
  const valueBytes = cause.erases ? 0 : wholeValueBytes
  const own = place.headers
  const about = causeHeaders(place, cause)
  // This dead letter contains none of the batch's records, so a replay must skip it.
  if (chunk.unreadable !== undefined)
    return { headers: [...about, { key: DEAD_LETTER_HEADERS.cut, value: Buffer.from('batch') }], keyEnd: -1, valueEnd: -1 }
  const erasedKey = keyBytes < wholeKeyBytes ? wholeKeyBytes : 0
  const erasedValue = valueBytes < wholeValueBytes ? wholeValueBytes : 0
  const whole = [...own, ...about, ...(erasedKey + erasedValue > 0 ? [cutHeader(erasedKey, 0, erasedValue)] : [])]
  if (recordBytesBound(keyBytes, valueBytes, whole) <= MAX_DEAD_LETTER_BYTES)
    return {
      headers: whole,
      keyEnd: chunk.keyEnd[row] - wholeKeyBytes + keyBytes,
      valueEnd: chunk.valueEnd[row] - wholeValueBytes + valueBytes,
    }
  const ownBytes = recordBytesBound(0, 0, own)
  const keptOwn = ownBytes > MAX_CUT_PART_BYTES ? [] : own
  const keptKey = Math.min(keyBytes, MAX_CUT_PART_BYTES)
  // The header that lists the cut parts is added later, so room for its longest possible text is reserved here.
  const room = MAX_DEAD_LETTER_BYTES - recordBytesBound(keptKey, 0, [...keptOwn, ...about, cutHeader(wholeKeyBytes, ownBytes, valueBytes)])
  const keptValue = Math.min(valueBytes, room)
  const cut = cutHeader(
    keptKey < wholeKeyBytes ? wholeKeyBytes : 0,
    keptOwn.length < own.length ? ownBytes : 0,
    keptValue < wholeValueBytes ? wholeValueBytes : 0,
  )
  return {
    headers: [...keptOwn, ...about, cut],
    keyEnd: chunk.keyEnd[row] - wholeKeyBytes + keptKey,
    valueEnd: chunk.valueEnd[row] - wholeValueBytes + keptValue,
  }
}

/**
 * Returns the header that lists the cut parts.
 * @param key original size of the key in bytes, or 0 when the key is complete; the same applies to `headers` and
 * `value`
 */
function cutHeader(key: number, headers: number, value: number): RecordHeader {
  const parts = Object.entries({ key, headers, value }).filter(([, bytes]) => bytes > 0)
  return { key: DEAD_LETTER_HEADERS.cut, value: Buffer.from(parts.map(([name, bytes]) => `${name}=${bytes}`).join(' ')) }
}

function placeIn(chunk: RecordChunk, row: number): EarlierPlace {
  const { topic, partition, offsets, timestamps } = chunk
  return { topic, partition, offset: offsets[row], timestamp: timestamps[row], headers: headersOf(chunk, row) }
}

function causeHeaders(place: EarlierPlace, cause: DeadLetterCause): RecordHeader[] {
  const names = DEAD_LETTER_HEADERS
  const fields: [string, string][] = [
    [names.topic, place.topic],
    [names.partition, String(place.partition)],
    [names.offset, String(place.offset)],
    [names.timestamp, String(place.timestamp)],
    [names.code, cause.code],
    [names.message, cause.message.slice(0, MAX_MESSAGE_CHARACTERS)],
    [names.topology, cause.topology],
    [names.processor, cause.processor],
  ]
  return fields.map(([key, value]) => ({ key, value: Buffer.from(value, 'utf8') }))
}

/** Returns the timestamp of the current record or, after a replay, its original timestamp. */
export function originalTimestamp(ctx: Pick<RecordContext<unknown>, 'timestamp' | 'headers'>): number {
  const sentAt = Number(ctx.headers().find((header) => header.key === SENT_AT_HEADER)?.value ?? Number.NaN)
  return Number.isSafeInteger(sentAt) ? sentAt : ctx.timestamp
}

/**
 * Returns the headers for a record in a late output: the record's own headers, and one that names the record's source.
 */
export function lateHeaders(chunk: RecordChunk, row: number): RecordHeader[] {
  const source = `${chunk.topic} ${chunk.partition} ${chunk.offsets[row]}`
  return [...headersOf(chunk, row), { key: 'late.source', value: Buffer.from(source, 'utf8') }]
}
