import type { AbortedTransaction } from '../record-batch/committed.ts'
import { Disconnected } from './errors.ts'
import { type Connection, type Reader, Writer } from './protocol.ts'

/**
 * API key and version of Fetch requests. This module parses the responses itself, so that the record bytes of each
 * partition stay in one buffer. The parser of the protocol package would create an object per record.
 */
const FETCH_KEY = 1
const FETCH_VERSION = 17
/** Requests use no fetch session, so every request names all of its partitions. */
const NO_SESSION_ID = 0
const NO_SESSION_EPOCH = -1
const NO_LOG_START = -1n
const NO_RACK = ''
const DIVERGING_EPOCH_TAG = 0
const ISOLATION = { read_uncommitted: 0, read_committed: 1 } as const

export interface FetchPartition {
  readonly partition: number
  readonly leaderEpoch: number
  readonly offset: number
  /** The epoch of the leader that appended the last fetched batch; -1 when it is unknown. */
  readonly lastEpoch: number
}

export interface FetchTopic {
  readonly topicId: string
  readonly partitions: readonly FetchPartition[]
}

export interface FetchRequest {
  readonly isolation: keyof typeof ISOLATION
  readonly maxWaitMs: number
  readonly maxBytes: number
  readonly maxPartitionBytes: number
  readonly topics: readonly FetchTopic[]
}

/** The end of a leader epoch in a log. */
export interface EpochEnd {
  readonly leaderEpoch: number
  /** The first offset of the next epoch, or the end of the log. */
  readonly offset: number
}

export interface FetchedPartition {
  readonly topicId: string
  readonly partition: number
  readonly errorCode: number
  readonly highWatermark: number
  readonly lastStableOffset: number
  readonly aborted: readonly AbortedTransaction[]
  /** The records in one contiguous buffer, which is empty when the response has none. */
  readonly records: Buffer
  /**
   * Set when the log has no batch of the request's `lastEpoch`, or when that epoch ends below the requested offset. The
   * value is the end of the last epoch in the log that is not later than `lastEpoch`. The response then contains no
   * data.
   */
  readonly diverging: EpochEnd | undefined
}

export interface FetchResponse {
  readonly errorCode: number
  readonly partitions: readonly FetchedPartition[]
}

const NO_RECORDS = Buffer.alloc(0)

/**
 * Sends a fetch request.
 * @throws Disconnected when there is no answer
 */
export function fetch(connection: Connection, request: FetchRequest): Promise<FetchResponse> {
  return new Promise((resolve, reject) => {
    connection.send<FetchResponse>(
      FETCH_KEY,
      FETCH_VERSION,
      () => writeRequest(request),
      (_correlation, _key, _version, reader) => readResponse(reader),
      true,
      true,
      (error, response) => {
        if (error) reject(new Disconnected('fetch was not answered', error))
        else resolve(response as FetchResponse)
      },
    )
  })
}

function writeRequest(request: FetchRequest): Writer {
  const minBytes = 1
  return Writer.create()
    .appendInt32(request.maxWaitMs)
    .appendInt32(minBytes)
    .appendInt32(request.maxBytes)
    .appendInt8(ISOLATION[request.isolation])
    .appendInt32(NO_SESSION_ID)
    .appendInt32(NO_SESSION_EPOCH)
    .appendArray([...request.topics], (writer, topic) => {
      writer.appendUUID(topic.topicId).appendArray([...topic.partitions], (inner, partition) => {
        inner
          .appendInt32(partition.partition)
          .appendInt32(partition.leaderEpoch)
          .appendInt64(BigInt(partition.offset))
          .appendInt32(partition.lastEpoch)
          .appendInt64(NO_LOG_START)
          .appendInt32(request.maxPartitionBytes)
      })
    })
    .appendArray([], () => {})
    .appendString(NO_RACK)
    .appendTaggedFields()
}

function readResponse(reader: Reader): FetchResponse {
  reader.readInt32() // throttle time; ignored, because the broker itself enforces it
  const errorCode = reader.readInt16()
  reader.readInt32() // session id
  const partitions: FetchedPartition[] = []
  reader.readArray((topic) => {
    const topicId = topic.readUUID()
    topic.readArray((entry) => partitions.push(readPartition(entry, topicId)), true, false)
  })
  reader.readTaggedFields()
  return { errorCode, partitions }
}

function readPartition(reader: Reader, topicId: string): FetchedPartition {
  const partition = reader.readInt32()
  const errorCode = reader.readInt16()
  const highWatermark = Number(reader.readInt64())
  const lastStableOffset = Number(reader.readInt64())
  reader.readInt64() // log start offset
  const aborted = reader.readArray((entry) => ({ producerId: Number(entry.readInt64()), firstOffset: Number(entry.readInt64()) }))
  reader.readInt32() // preferred read replica
  const size = reader.readUnsignedVarInt() - 1
  let records: Buffer = NO_RECORDS
  if (size > 0) {
    // `slice` returns a real Buffer; indexing the DynamicBuffer itself would return undefined.
    records = reader.buffer.slice(reader.position, reader.position + size)
    reader.skip(size)
  }
  const diverging = readDiverging(reader)
  return { topicId, partition, errorCode, highWatermark, lastStableOffset, aborted, records, diverging }
}

/** Reads the tagged fields of a partition. This client uses only one of them, the diverging epoch. */
function readDiverging(reader: Reader): EpochEnd | undefined {
  let diverging: EpochEnd | undefined
  for (let left = reader.readUnsignedVarInt(); left > 0; left--) {
    const tag = reader.readUnsignedVarInt()
    const size = reader.readUnsignedVarInt()
    const end = reader.position + size
    if (tag === DIVERGING_EPOCH_TAG) diverging = { leaderEpoch: reader.readInt32(), offset: Number(reader.readInt64()) }
    reader.position = end
  }
  return diverging
}
