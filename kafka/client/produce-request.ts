import type { TransportError } from '../transport.ts'
import { Disconnected, type ErrorName, fatal } from './errors.ts'
import { type Connection, produceV11, ResponseError, Writer } from './protocol.ts'

/** Produce v11 with a custom writer that sends finished batches unchanged. */
const PRODUCE_KEY = 0
const PRODUCE_VERSION = 11
const ALL_REPLICAS = -1
/**
 * Maximum size of a produce request. It is well below the broker's socket.request.max.bytes (100 MiB), and large enough
 * to make the round trip cheap.
 */
export const REQUEST_LIMIT_BYTES = 8 * 1_048_576
/** Replaces the broker's message, which names neither the record nor the limit. */
const BAD_TIMES =
  'records are further ahead of its clock than message.timestamp.after.max.ms, one hour unless the topic says otherwise: is the clock of this machine right?'

/** Creates the error for a batch that the broker refuses permanently. */
export function refusedBatch(name: ErrorName, doing: string, answer: ProducedPartition | undefined): TransportError {
  return fatal(name, doing, name === 'INVALID_TIMESTAMP' ? BAD_TIMES : answer?.errorMessage)
}

export interface ProducePartition {
  readonly topic: string
  readonly partition: number
  readonly batch: Buffer
}

export interface ProducedPartition {
  readonly topic: string
  readonly partition: number
  readonly errorCode: number
  readonly errorMessage: string | null
  /** -1 when the broker no longer knows it. */
  readonly baseOffset: number
}

/** Accepts at most one batch per partition. @throws Disconnected when there is no answer */
export function produce(
  connection: Connection,
  transactionalId: string | null,
  timeoutMs: number,
  partitions: readonly ProducePartition[],
): Promise<ProducedPartition[]> {
  return new Promise((resolve, reject) => {
    connection.send<produceV11.ProduceResponse>(
      PRODUCE_KEY,
      PRODUCE_VERSION,
      () => writeRequest(transactionalId, timeoutMs, partitions),
      produceV11.parseResponse,
      true,
      true,
      (error, response) => {
        if (error instanceof ResponseError) resolve(read((error as ResponseError & { response: produceV11.ProduceResponse }).response))
        else if (error) reject(new Disconnected('produce was not answered', error))
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

function read(response: produceV11.ProduceResponse): ProducedPartition[] {
  return response.responses.flatMap(({ name, partitionResponses }) =>
    partitionResponses.map(({ index, errorCode, errorMessage, baseOffset }) => ({
      topic: name,
      partition: index,
      errorCode,
      errorMessage: errorMessage ?? null,
      baseOffset: Number(baseOffset),
    })),
  )
}
