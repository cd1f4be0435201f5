import { headersOf } from '../../../kafka/record-batch/chunk.ts'
import { partitionKey, type RecordHeader, type TopicPartition, type Transport } from '../../../kafka/transport.ts'
import { DEAD_LETTER_HEADERS, REPLAY_HEADER, SENT_AT_HEADER } from '../task/dead-letter.ts'
import { deadLetterTopicName } from '../topology/internal-topics.ts'

export interface DeadLetterRecord {
  /** The record's offset in the dead-letter topic. `show` and `replay` identify the record by this offset. */
  readonly offset: number
  /** Timestamp (epoch ms) of the original record, before any replay. */
  readonly timestamp: number
  readonly source: TopicPartition & { readonly offset: number }
  readonly code: string
  readonly message: string
  readonly processor: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** The headers of the original record. */
  readonly headers: readonly RecordHeader[]
  /** Number of times that the record had been replayed before it became this dead letter. */
  readonly replays: number
  /** True when the record has already been sent back to its source, for this or another dead letter of the record. */
  readonly replayed: boolean
  /** The parts of the record that were cut (see `DEAD_LETTER_HEADERS.cut`); undefined for a complete record. */
  readonly cut: string | undefined
}

/** Conditions for selecting dead letters. A dead letter must meet all of them. */
export interface DeadLetterFilter {
  readonly offsets?: ReadonlySet<number>
  readonly code?: string
  readonly source?: string
  readonly processor?: string
}

/**
 * A replay writes a note into the dead-letter topic, in the same transaction as the records that it sends back. The
 * header of the note contains the replayed offsets. Even after a crash it is therefore clear which records were
 * replayed.
 */
export const REPLAY_NOTE_HEADER = 'dead-letter.replayed'

/** The only partition of every dead-letter topic. */
export const DEAD_LETTER_PARTITION = 0
const POLL_MS = 500

/**
 * Reads the dead letters of a topology or sink that match the filter, oldest first. All matching dead letters and the
 * sources of all others are kept in memory, so use the filter for large topics.
 * @throws Error if the dead-letter topic does not exist
 */
export async function readDeadLetters(transport: Transport, name: string, filter: DeadLetterFilter = {}): Promise<DeadLetterRecord[]> {
  const partition = { topic: deadLetterTopicName(name), partition: DEAD_LETTER_PARTITION }
  const counts = await transport.partitionCounts([partition.topic])
  if (!counts.has(partition.topic))
    throw new Error(`there is no topic ${partition.topic}: is ${name} the name of a topology or sink that runs here?`)
  const letters: DeadLetterRecord[] = []
  /** The record of every dead letter, keyed by the offset of the dead letter. */
  const records = new Map<number, string>()
  const replayed = new Set<string | undefined>()
  await scan(transport, partition, (record) => {
    const letter = asDeadLetter(record)
    if (letter !== undefined) {
      records.set(letter.offset, recordOf(letter))
      if (fits(letter, filter)) letters.push(letter)
      return
    }
    const note = record.headers.find((header) => header.key === REPLAY_NOTE_HEADER)
    if (note !== undefined) for (const offset of String(note.value).split(' ')) replayed.add(records.get(Number(offset)))
  })
  return letters.map((letter) => ({ ...letter, replayed: replayed.has(recordOf(letter)) }))
}

/**
 * Identifies the record of a dead letter. A sink stores dead letters at least once, so a record may have several. The
 * timestamp distinguishes records at the same offset of topics that were deleted and created again.
 */
export function recordOf({ source: { topic, partition, offset }, timestamp }: DeadLetterRecord): string {
  return `${topic} ${partition} ${offset} ${timestamp}`
}

interface ScannedRecord {
  readonly offset: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
}

/** Visits every committed record up to the current end of the log. */
async function scan(transport: Transport, partition: TopicPartition, visit: (record: ScannedRecord) => void): Promise<void> {
  const key = partitionKey(partition.topic, partition.partition)
  const offsetOf = async (at: 'earliest' | 'end') => (await transport.offsets([partition], at)).get(key) ?? 0
  const start = await offsetOf('earliest')
  let end = await offsetOf('end')
  if (start >= end) return
  const fetcher = transport.fetcher()
  try {
    fetcher.assign(partition, start, 'earliest')
    for (let position = start; position < end; ) {
      const fetched = await fetcher.poll(POLL_MS)
      // After an unclean leader election, the log may be shorter than at the time of the call. The lower end then
      // applies.
      if (fetched.every(({ chunks }) => chunks.length === 0)) end = Math.min(end, await offsetOf('end'))
      for (const { chunks, nextOffset } of fetched) {
        position = nextOffset
        for (const chunk of chunks) {
          const slice = (from: number, to: number) => (from < 0 ? null : chunk.buffer.subarray(from, to))
          for (let i = 0; i < chunk.count; i++) {
            visit({
              offset: chunk.offsets[i],
              key: slice(chunk.keyStart[i], chunk.keyEnd[i]),
              value: slice(chunk.valueStart[i], chunk.valueEnd[i]),
              headers: headersOf(chunk, i),
            })
          }
        }
      }
    }
  } finally {
    await fetcher.close()
  }
}

/**
 * Returns the dead letter; undefined for a note. The headers of the original record come first, and may have the same
 * names as the headers of a dead letter. The dead letter's own headers therefore begin at the last header named
 * `DEAD_LETTER_HEADERS.topic`.
 */
function asDeadLetter({ offset, key, value, headers }: ScannedRecord): DeadLetterRecord | undefined {
  const names = DEAD_LETTER_HEADERS
  const addedAt = headers.findLastIndex((header) => header.key === names.topic)
  if (addedAt < 0) return undefined
  const own = headers.slice(0, addedAt)
  const described = new Map(headers.slice(addedAt).map((header) => [header.key, String(header.value)]))
  return {
    offset,
    timestamp: integerIn(own, SENT_AT_HEADER) ?? Number(described.get(names.timestamp)),
    source: {
      topic: described.get(names.topic) ?? '',
      partition: Number(described.get(names.partition)),
      offset: Number(described.get(names.offset)),
    },
    code: described.get(names.code) ?? '',
    message: described.get(names.message) ?? '',
    processor: described.get(names.processor) ?? '',
    key,
    value,
    headers: own.filter((header) => header.key !== REPLAY_HEADER && header.key !== SENT_AT_HEADER),
    replays: integerIn(own, REPLAY_HEADER) ?? 0,
    replayed: false,
    cut: described.get(names.cut),
  }
}

const INTEGER = /^\d{1,15}$/

/**
 * Returns the integer in the last header with this name. Returns undefined if there is no such header, or if it
 * contains anything else, because a producer may have set a header of the same name to any bytes.
 */
function integerIn(headers: readonly RecordHeader[], name: string): number | undefined {
  const value = headers.findLast((header) => header.key === name)?.value
  const text = String(value ?? '')
  return INTEGER.test(text) ? Number(text) : undefined
}

function fits(letter: DeadLetterRecord, { offsets, code, source, processor }: DeadLetterFilter): boolean {
  return (
    (offsets === undefined || offsets.has(letter.offset)) &&
    (code === undefined || letter.code === code) &&
    (source === undefined || letter.source.topic === source) &&
    (processor === undefined || letter.processor === processor)
  )
}
