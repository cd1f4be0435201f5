import type { RecordHeader, Transport, WorkerProducer } from '../../../kafka/transport.ts'
import { REPLAY_HEADER, SENT_AT_HEADER } from '../task/dead-letter.ts'
import { deadLetterTopicName } from '../topology/internal-topics.ts'
import {
  DEAD_LETTER_PARTITION,
  type DeadLetterFilter,
  type DeadLetterRecord,
  REPLAY_NOTE_HEADER,
  readDeadLetters,
  recordOf,
} from './read.ts'

/**
 * Maximum number of records per transaction. It is far below the limits of a transaction, but large enough that a
 * replay needs few round trips.
 */
const MAX_TRANSACTION_RECORDS = 500
/**
 * Size at which a transaction is committed. A dead letter can take several MiB, and the transaction's records stay in
 * memory until they are sent.
 */
const FULL_TRANSACTION_BYTES = 8 * 1_048_576

export interface ReplayOptions extends DeadLetterFilter {
  /** True to include records that were already replayed, whether or not they failed again. */
  readonly again?: boolean
}

export interface ReplayResult {
  readonly replayed: number
  /**
   * Number of dead letters that were skipped because their records were already replayed. Another replay would
   * duplicate these records.
   */
  readonly skippedReplayed: number
  /** Number of dead letters that were skipped because this replay sends an earlier dead letter of the same record. */
  readonly skippedDuplicates: number
  /**
   * Number of dead letters that were skipped because their records failed again after an earlier replay. The cause of
   * the failure may still exist, so the records might fail once more.
   */
  readonly skippedReturned: number
  /**
   * Number of dead letters that were skipped because they are incomplete: a replay would send records that differ from
   * the originals.
   */
  readonly skippedCut: number
}

/**
 * Sends dead letters back to their source partitions with their original key, value, timestamp and headers. Additional
 * headers contain the number of replays and the original timestamp. Every reader of the source topics gets the records
 * again. A record with several dead letters is sent only once. Unless `again` is set, no record is replayed twice. The
 * records and the note about their replay are in the same transaction, and a replay fences any earlier replay of the
 * same topology or sink that is still running.
 * @throws Error if the source partition of a dead letter no longer exists; nothing is replayed then
 */
export async function replayDeadLetters(transport: Transport, name: string, options: ReplayOptions = {}): Promise<ReplayResult> {
  const producer = transport.producer({ transactionalId: `millrace-dlq-${name}` })
  try {
    // An earlier replay that is still running cannot commit after this point, so all of its notes are visible to the
    // read that follows.
    await producer.init()
    const found = await readDeadLetters(transport, name, options)
    const letters = found.filter((letter) => letter.cut === undefined)
    const earlier = options.again === true ? [] : letters.filter((letter) => letter.replayed)
    const returned = options.again === true ? [] : letters.filter((letter) => letter.replays > 0 && !letter.replayed)
    const chosen = options.again === true ? letters : letters.filter((letter) => letter.replays === 0 && !letter.replayed)
    const records = [...Map.groupBy(chosen, recordOf).values()]
    const counts = await transport.partitionCounts([...new Set(chosen.map((letter) => letter.source.topic))])
    for (const letter of chosen) requireSource(letter, counts)
    for (const batch of batchesOf(records)) {
      for (const [letter] of batch) append(producer, letter)
      note(producer, name, batch.flat())
      await producer.commit(new Map(), undefined)
    }
    return {
      replayed: records.length,
      skippedReplayed: earlier.length,
      skippedDuplicates: chosen.length - records.length,
      skippedReturned: returned.length,
      skippedCut: found.length - letters.length,
    }
  } finally {
    await producer.close()
  }
}

/** @param records the dead letters of each record */
function* batchesOf(records: readonly DeadLetterRecord[][]): Generator<readonly DeadLetterRecord[][]> {
  let batch: DeadLetterRecord[][] = []
  let bytes = 0
  for (const record of records) {
    const [{ key, value }] = record
    batch.push(record)
    bytes += (key?.length ?? 0) + (value?.length ?? 0)
    if (batch.length < MAX_TRANSACTION_RECORDS && bytes < FULL_TRANSACTION_BYTES) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

function requireSource({ offset, source: { topic, partition } }: DeadLetterRecord, counts: ReadonlyMap<string, number>): void {
  if (partition >= (counts.get(topic) ?? 0)) throw new Error(`dead letter ${offset}: its source ${topic}-${partition} no longer exists`)
}

function append(producer: WorkerProducer, letter: DeadLetterRecord): void {
  const { key, value, timestamp, replays } = letter
  const { topic, partition } = letter.source
  const headers: RecordHeader[] = [
    ...letter.headers,
    { key: REPLAY_HEADER, value: Buffer.from(String(replays + 1)) },
    { key: SENT_AT_HEADER, value: Buffer.from(String(timestamp)) },
  ]
  producer.appender(topic, partition).append(timestamp, key, 0, key?.length ?? 0, value, 0, value?.length ?? 0, headers)
}

function note(producer: WorkerProducer, name: string, letters: readonly DeadLetterRecord[]): void {
  const value = Buffer.from(letters.map((letter) => letter.offset).join(' '))
  const appender = producer.appender(deadLetterTopicName(name), DEAD_LETTER_PARTITION)
  appender.append(letters[0].timestamp, null, 0, 0, null, 0, 0, [{ key: REPLAY_NOTE_HEADER, value }])
}
