import { headersOf } from '../../kafka/record-batch/chunk.ts'
import type { RecordChunk, RecordHeader } from '../../kafka/transport.ts'

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
} as const

/** On a record that came out of a dead-letter topic again: how often it has. */
export const REPLAY_HEADER = 'dead-letter.replays'

/** Long enough for any reason, short enough that a flood of them stays small. */
const MAX_MESSAGE_CHARACTERS = 1_000

export interface DeadLetterCause {
  readonly topology: string
  /** The processor that rejected the record; empty when it could not be decoded. */
  readonly processor: string
  readonly code: string
  readonly message: string
}

/** The headers under which record `row` goes to the dead-letter topic. */
export function deadLetterHeaders(chunk: RecordChunk, row: number, cause: DeadLetterCause): RecordHeader[] {
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
  return [...headersOf(chunk, row), ...fields.map(([key, value]) => ({ key, value: Buffer.from(value, 'utf8') }))]
}

/** On a record in a late output: where it came from. */
export function lateHeaders(chunk: RecordChunk, row: number): RecordHeader[] {
  const source = `${chunk.topic} ${chunk.partition} ${chunk.offsets[row]}`
  return [...headersOf(chunk, row), { key: 'late.source', value: Buffer.from(source, 'utf8') }]
}
