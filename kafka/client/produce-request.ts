import { Disconnected } from './errors.ts'
import { type Connection, produceV11, ResponseError, Writer } from './protocol.ts'

/** Produce v11 with a request of our own: finished batches go in as they are. */
const PRODUCE_KEY = 0
const PRODUCE_VERSION = 11
const ALL_REPLICAS = -1

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
  /** -1 when the broker does not know it any more. */
  readonly baseOffset: number
}

/** At most one batch per partition. @throws Disconnected when there is no answer */
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
