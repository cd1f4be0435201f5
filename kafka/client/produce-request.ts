import { partitionKey, type TransportError } from '../transport.ts'
import { classify, Disconnected, type ErrorName, errorName, fatal } from './errors.ts'
import { type Connection, produceV11, ResponseError, Writer } from './protocol.ts'

/**
 * API key and version of Produce requests. This module writes these requests itself, so that finished batches are
 * copied unchanged. Versions 11 and 12 have the same format.
 */
const PRODUCE_KEY = 0
const PRODUCE_VERSION = 11
/** The first version with which a leader itself adds its partition to the transaction (KIP-890). */
const ADDING_PRODUCE_VERSION = 12
const ALL_REPLICAS = -1
/**
 * The answer of a leader whose replicas have not copied the records in time. A leader that is cut off from its replicas
 * and from the controller gives this answer until the connection is restored, although the replicas already follow a
 * new leader.
 */
export const NOT_REPLICATED = 'REQUEST_TIMED_OUT'
/**
 * Maximum size of a produce request. It is well below the broker's socket.request.max.bytes (100 MiB), and large enough
 * to make the round trip cheap.
 */
export const REQUEST_LIMIT_BYTES = 8 * 1_048_576
/** The message for invalid timestamps. The broker's own message does not name the settings with the limits. */
const BAD_TIMES =
  'the timestamp of a record is further from the clock of the broker than message.timestamp.after.max.ms (default: one hour ahead) or message.timestamp.before.max.ms allows. Is the clock of this machine right?'

/**
 * The result of one request for one batch.
 * - `appended`: the log contains the batch and every earlier batch of its producer epoch
 * - `out-of-sequence`: not in the log, because the broker lacks the preceding batches, has lost its state of the
 *   producer, or refuses the producer
 * - `refused`: not in the log, and a retry would not help
 * - `unknown`: there was no answer, or a transient error; the log may contain the batch
 */
export type Outcome =
  | { readonly kind: 'appended'; readonly baseOffset?: number }
  | { readonly kind: 'out-of-sequence'; readonly reason?: ErrorName }
  | { readonly kind: 'refused'; readonly error: TransportError }
  | { readonly kind: 'unknown'; readonly reason: ErrorName; readonly leaderLost: boolean }

/**
 * Interprets the answer for one batch.
 * @param doing describes the request in error messages
 * @param answer undefined when the broker did not answer
 */
export function outcomeOf(doing: string, answer: ProducedPartition | undefined): Outcome {
  const reason = answer === undefined ? 'NETWORK_EXCEPTION' : errorName(answer.errorCode)
  switch (classify(reason)) {
    case 'none':
      return { kind: 'appended', baseOffset: answer?.baseOffset }
    case 'producer-lost':
      return { kind: 'out-of-sequence', reason }
    case 'stale-leader':
      return { kind: 'unknown', reason, leaderLost: true }
    case 'stale-coordinator':
    // A missing answer does not indicate a new leader: if the broker is gone, the next connection attempt fails.
    case 'passing':
      return { kind: 'unknown', reason, leaderLost: reason === NOT_REPLICATED }
  }
  // The checksum is wrong, so the batch was damaged on its way to the broker.
  if (reason === 'CORRUPT_MESSAGE') return { kind: 'unknown', reason, leaderLost: false }
  // An earlier attempt has written the batch to the log.
  if (reason === 'DUPLICATE_SEQUENCE_NUMBER') return { kind: 'appended' }
  return { kind: 'refused', error: fatal(reason, doing, reason === 'INVALID_TIMESTAMP' ? BAD_TIMES : answer?.errorMessage) }
}

export interface ProducePartition {
  readonly topic: string
  readonly partition: number
  readonly batch: Buffer
}

/** The answer for one partition. */
export interface ProducedPartition {
  readonly errorCode: number
  readonly errorMessage: string | null
  /** Offset of the first record of the batch; -1 when the broker no longer remembers it. */
  readonly baseOffset: number
}

export interface ProduceTarget {
  readonly transactionalId: string | null
  /** True if the leaders must add their partitions to the transaction. This requires transaction version 2. */
  readonly addsPartitions: boolean
}

/**
 * Sends the batches, at most one per partition.
 * @param timeoutMs how long the broker waits for its replicas before it answers REQUEST_TIMED_OUT
 * @returns the answers, keyed by `partitionKey`
 * @throws Disconnected when there is no answer
 */
export function produce(
  connection: Connection,
  { transactionalId, addsPartitions }: ProduceTarget,
  timeoutMs: number,
  partitions: readonly ProducePartition[],
): Promise<Map<string, ProducedPartition>> {
  return new Promise((resolve, reject) => {
    connection.send<produceV11.ProduceResponse>(
      PRODUCE_KEY,
      addsPartitions ? ADDING_PRODUCE_VERSION : PRODUCE_VERSION,
      () => writeRequest(transactionalId, timeoutMs, partitions),
      produceV11.parseResponse,
      true,
      true,
      (error, response) => {
        if (error instanceof ResponseError) resolve(read((error as ResponseError & { response: produceV11.ProduceResponse }).response))
        else if (error) reject(new Disconnected('the produce request was not answered', error))
        else resolve(read(response as produceV11.ProduceResponse))
      },
    )
  })
}

function writeRequest(transactionalId: string | null, timeoutMs: number, partitions: readonly ProducePartition[]): Writer {
  return Writer.create()
    .appendString(transactionalId)
    .appendInt16(ALL_REPLICAS)
    .appendInt32(timeoutMs)
    .appendArray([...Map.groupBy(partitions, ({ topic }) => topic)], (writer, [topic, entries]) => {
      writer.appendString(topic).appendArray(entries, (inner, { partition, batch }) => {
        inner
          .appendInt32(partition)
          .appendUnsignedVarInt(batch.length + 1)
          .append(batch)
      })
    })
    .appendTaggedFields()
}

function read(response: produceV11.ProduceResponse): Map<string, ProducedPartition> {
  const answers = response.responses.flatMap(({ name, partitionResponses }) =>
    partitionResponses.map(({ index, errorCode, errorMessage, baseOffset }): [string, ProducedPartition] => [
      partitionKey(name, index),
      { errorCode, errorMessage: errorMessage ?? null, baseOffset: Number(baseOffset) },
    ]),
  )
  return new Map(answers)
}
