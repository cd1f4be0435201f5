import { headersOf } from '../../../../kafka/record-batch/chunk.ts'
import type { RecordChunk, RecordHeader, TopicPartition } from '../../../../kafka/transport.ts'

/**
 * Headers of a record in a retry topic. They are appended to the record's own headers. The key and value come from
 * the original record.
 */
const RETRY_HEADERS = {
  topic: 'retry.topic',
  partition: 'retry.partition',
  offset: 'retry.offset',
  /** Header with the timestamp of the original record, epoch ms. */
  timestamp: 'retry.timestamp',
  /** Header with the number of failed attempts. */
  failures: 'retry.failures',
  /** Header with the time of the first attempt, epoch ms. */
  firstAt: 'retry.first-at',
  /** Header with the earliest time of the next attempt, epoch ms. */
  notBefore: 'retry.not-before',
  /** Header with the code of the last failure. */
  reason: 'retry.reason',
} as const

const NAMES: ReadonlySet<string> = new Set(Object.values(RETRY_HEADERS))

/** The topic, partition, offset, timestamp and headers that a record had before it was moved to a retry topic. */
export interface RecordOrigin extends TopicPartition {
  readonly offset: number
  /** Epoch ms. */
  readonly timestamp: number
  readonly headers: readonly RecordHeader[]
}

/** A record's failed attempts. */
export interface RetryState {
  readonly origin: RecordOrigin
  /** Number of failed attempts. */
  readonly failures: number
  /** Time of the first attempt, epoch ms. */
  readonly firstAt: number
  /** Earliest time of the next attempt, epoch ms. */
  readonly notBefore: number
}

/**
 * Returns the topic, partition and offset from which a record was read, its timestamp, and its headers without the
 * retry headers. This is the record's origin unless it was read from a retry topic.
 */
export function originOf(chunk: RecordChunk, row: number): RecordOrigin {
  const headers = headersOf(chunk, row).filter(({ key }) => !NAMES.has(key))
  return { topic: chunk.topic, partition: chunk.partition, offset: chunk.offsets[row], timestamp: chunk.timestamps[row], headers }
}

/**
 * Reads the retry headers of a record. Uses defaults for headers that are missing or invalid, for example in a record
 * that was written by hand. Without a valid header `retry.not-before`, the record is due at once.
 */
export function retryStateOf(chunk: RecordChunk, row: number): RetryState {
  const texts = new Map(headersOf(chunk, row).map(({ key, value }) => [key, String(value ?? '')]))
  const here = originOf(chunk, row)
  const number = (name: string, otherwise: number) => {
    const value = Number(texts.get(name) ?? Number.NaN)
    return Number.isSafeInteger(value) && value >= 0 ? value : otherwise
  }
  const names = RETRY_HEADERS
  return {
    origin: {
      topic: texts.get(names.topic) ?? here.topic,
      partition: number(names.partition, here.partition),
      offset: number(names.offset, here.offset),
      timestamp: number(names.timestamp, here.timestamp),
      headers: here.headers,
    },
    failures: number(names.failures, 1),
    firstAt: number(names.firstAt, here.timestamp),
    notBefore: number(names.notBefore, 0),
  }
}

export function retryHeaders({ origin, failures, firstAt, notBefore }: RetryState, reason: string): RecordHeader[] {
  const names = RETRY_HEADERS
  const fields: [string, string | number][] = [
    [names.topic, origin.topic],
    [names.partition, origin.partition],
    [names.offset, origin.offset],
    [names.timestamp, origin.timestamp],
    [names.failures, failures],
    [names.firstAt, firstAt],
    [names.notBefore, notBefore],
    [names.reason, reason],
  ]
  return [...origin.headers, ...fields.map(([key, value]) => ({ key, value: Buffer.from(String(value)) }))]
}
