import { Writer } from '../../../kafka/client/protocol.ts'
import type { ClientRequest } from '../network.ts'
import type { SimulatedBroker } from './broker.ts'
import type { Cluster } from './cluster.ts'
import { codeFrom, codeOf, Refused } from './errors.ts'
import { type Joining, join } from './join.ts'
import { type EpochEnd, PartitionLog, type ReadableLog } from './partition-log.ts'
import type { Identity } from './transactions.ts'

/** First version of Produce in which the leader adds its partition to the transaction. */
const ADDING_VERSION = 12
const PASSING_ERRORS: ReadonlySet<string> = new Set(['NOT_COORDINATOR', 'COORDINATOR_NOT_AVAILABLE', 'COORDINATOR_LOAD_IN_PROGRESS'])
const NO_OFFSET = -1n
const NO_EPOCH = -1
const EARLIEST = -2n
const LATEST = -1n
const READ_COMMITTED = 1
const NO_THROTTLE = 0

interface Produced {
  readonly index: number
  code: number
  baseOffset: number
}

/**
 * Handles Produce v11 and v12 with acks=all. Answers once each batch has been refused or is on all replicas, or the
 * leader of its log has changed while the batch was waiting for the replicas.
 */
export function produce({ apiVersion, body, reply }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  const transactionalId = body.readNullableString()
  body.readInt16()
  body.readInt32()
  let missing = 1
  const topics = body.readArray((topic) => {
    const name = topic.readString()
    const partitions = topic.readArray((entry): Produced => {
      const index = entry.readInt32()
      const batch = entry.readBytes()
      const answer: Produced = { index, code: 0, baseOffset: -1 }
      missing++
      const refused = (error: string) => {
        answer.code = codeOf(error)
        finish()
      }
      answer.code = codeFrom(() => {
        const log = leading(cluster, broker, name, index, NO_EPOCH)
        // This broker is a former leader. The replicas now follow the new leader, so they never acknowledge the batch.
        if (!(log instanceof PartitionLog)) return cluster.whenInformed(broker, () => refused('NOT_LEADER_OR_FOLLOWER'))
        const opens = log.opens(batch)
        if (opens === undefined) return appended(answer, log, batch)
        if (transactionalId === null) throw new Refused('INVALID_TXN_STATE')
        const { leaderEpoch } = log
        const joining = partitionJoining(cluster, transactionalId, opens, log, batch, apiVersion >= ADDING_VERSION)
        join(cluster, broker, joining, (error) => {
          if (error !== undefined) return refused(asProduceError(error, apiVersion))
          if (log.leaderEpoch !== leaderEpoch) return refused('NOT_LEADER_OR_FOLLOWER')
          answer.code = codeFrom(() => appended(answer, log, batch))
          if (answer.code !== 0) finish()
        })
      })
      if (answer.code !== 0) finish()
      return answer
    })
    return { name, partitions }
  })
  finish()

  function appended(answer: Produced, log: PartitionLog, batch: Buffer): void {
    answer.baseOffset = log.append(batch)
    whenReplicated(log, cluster, (code) => {
      answer.code = code
      if (code !== 0) answer.baseOffset = -1
      // If the broker does not know about the election, it continues to wait for its replicas.
      if (code === 0) finish()
      else cluster.whenInformed(broker, finish)
    })
  }

  function finish(): void {
    if (--missing > 0) return
    const answer = Writer.create().appendArray(topics, (w, { name, partitions }) => {
      w.appendString(name).appendArray(partitions, (inner, { index, code, baseOffset }) => {
        inner.appendInt32(index).appendInt16(code).appendInt64(BigInt(baseOffset)).appendInt64(NO_OFFSET).appendInt64(0n)
        inner.appendArray([], () => {}).appendString(null)
      })
    })
    reply(answer.appendInt32(NO_THROTTLE).appendTaggedFields())
  }
}

function partitionJoining(
  { transactions }: Cluster,
  id: string,
  producer: Identity,
  log: PartitionLog,
  batch: Buffer,
  adds: boolean,
): Joining {
  const { topic, partition } = log
  const what = `${topic}-${partition}`
  return {
    id,
    producer,
    what,
    adds,
    expect: () => log.expect(batch, producer, adds),
    isPart: ({ partitions }) => partitions.has(what),
    add: () => transactions.addPartition(id, producer, topic, partition),
  }
}

/**
 * Returns the error to report to a client of this API version. A temporary error that such a client would not retry is
 * replaced with an error that every client retries.
 */
function asProduceError(error: string, apiVersion: number): string {
  if (error === 'CONCURRENT_TRANSACTIONS') return apiVersion >= ADDING_VERSION ? error : 'NOT_ENOUGH_REPLICAS'
  return PASSING_ERRORS.has(error) ? 'NOT_ENOUGH_REPLICAS' : error
}

function whenReplicated(log: PartitionLog, cluster: Cluster, done: (code: number) => void): void {
  const { end, leaderEpoch } = log
  const stop = log.onChange(() => {
    const isLost = log.leaderEpoch !== leaderEpoch
    if (!isLost && log.highWatermark < end) return
    stop()
    done(isLost ? codeOf('NOT_LEADER_OR_FOLLOWER') : 0)
  })
  cluster.replicate(log)
  if (log.highWatermark >= end && stop()) done(0)
}

function leading(cluster: Cluster, broker: SimulatedBroker, topic: string, partition: number, epoch: number): ReadableLog {
  const log = cluster.logAt(broker, topic, partition)
  if (log === undefined) throw new Refused('UNKNOWN_TOPIC_OR_PARTITION')
  if (log.leader !== broker.nodeId) throw new Refused('NOT_LEADER_OR_FOLLOWER')
  if (epoch !== NO_EPOCH && epoch < log.leaderEpoch) throw new Refused('FENCED_LEADER_EPOCH')
  if (epoch > log.leaderEpoch) throw new Refused('UNKNOWN_LEADER_EPOCH')
  return log
}

interface Wanted {
  readonly topicId: string
  readonly topic: string | undefined
  readonly partition: number
  readonly epoch: number
  readonly offset: number
  readonly lastEpoch: number
  readonly maxBytes: number
}

/**
 * Handles Fetch v17 without sessions. Waits until there is data, an error or a diverging epoch, or until the request's
 * maximum wait (`max_wait_ms`) has passed.
 */
export function fetch({ body, reply, isOpen }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  const maxWaitMs = body.readInt32()
  body.readInt32()
  const maxBytes = body.readInt32()
  const committedOnly = body.readInt8() === READ_COMMITTED
  body.readInt32()
  body.readInt32()
  const wanted = body.readArray((topic) => {
    const topicId = topic.readUUID()
    const name = cluster.topicById(topicId)?.name
    return topic.readArray((entry): Wanted => {
      const partition = entry.readInt32()
      const epoch = entry.readInt32()
      const offset = Number(entry.readInt64())
      const lastEpoch = entry.readInt32()
      entry.readInt64()
      return { topicId, topic: name, partition, epoch, offset, lastEpoch, maxBytes: entry.readInt32() }
    })
  })
  const logs = wanted.flat().flatMap(({ topic, partition }) => cluster.log(topic ?? '', partition) ?? [])
  const stops = logs.map((log) => log.onChange(tryAnswer))
  const cancel = cluster.scheduler.after(maxWaitMs, broker.actor, 'fetch waits no longer', () => answer(read()))
  tryAnswer()

  function read() {
    let left = maxBytes
    return wanted.map((partitions) =>
      partitions.map((entry) => {
        const found: Found = {
          ...entry,
          diverging: undefined,
          code: 0,
          highWatermark: -1,
          lastStable: -1,
          records: Buffer.alloc(0),
          aborted: [],
        }
        found.code = codeFrom(() => {
          if (entry.topic === undefined) throw new Refused('UNKNOWN_TOPIC_ID')
          const log = leading(cluster, broker, entry.topic, entry.partition, entry.epoch)
          found.diverging = divergingEnd(log, entry)
          if (found.diverging !== undefined) return
          if (entry.offset < log.start || entry.offset > log.end) throw new Refused('OFFSET_OUT_OF_RANGE')
          found.highWatermark = log.highWatermark
          found.lastStable = log.lastStable
          if (left <= 0) return
          Object.assign(found, log.read(entry.offset, committedOnly ? log.lastStable : log.highWatermark, Math.min(left, entry.maxBytes)))
          left -= found.records.length
        })
        return found
      }),
    )
  }

  function tryAnswer(): void {
    if (!isOpen()) {
      stop()
      return
    }
    const found = read()
    if (found.flat().some(({ code, records, diverging }) => code !== 0 || records.length > 0 || diverging !== undefined)) answer(found)
  }

  function stop(): void {
    for (const end of stops) end()
    cancel()
  }

  function answer(found: ReturnType<typeof read>): void {
    stop()
    const writer = Writer.create().appendInt32(NO_THROTTLE).appendInt16(0).appendInt32(0)
    writer.appendArray(found, (w, partitions) => {
      w.appendUUID(partitions[0]?.topicId).appendArray(
        partitions,
        (inner, each) => {
          inner.appendInt32(each.partition).appendInt16(each.code)
          inner.appendInt64(BigInt(each.highWatermark)).appendInt64(BigInt(each.lastStable)).appendInt64(0n)
          inner.appendArray(each.aborted, (one, { producerId, first }) => {
            one.appendInt64(BigInt(producerId)).appendInt64(BigInt(first))
          })
          inner
            .appendInt32(-1)
            .appendUnsignedVarInt(each.records.length + 1)
            .append(each.records)
          appendDiverging(inner, each.diverging)
        },
        true,
        false,
      )
    })
    reply(writer.appendTaggedFields())
  }
}

interface Found extends Wanted {
  diverging: EpochEnd | undefined
  code: number
  highWatermark: number
  lastStable: number
  records: Buffer
  aborted: ReturnType<ReadableLog['read']>['aborted']
}

function divergingEnd(log: ReadableLog, { offset, lastEpoch }: Wanted): EpochEnd | undefined {
  if (lastEpoch === NO_EPOCH) return undefined
  const end = log.endOf(lastEpoch)
  if (end === undefined) throw new Refused('OFFSET_OUT_OF_RANGE')
  return end.epoch < lastEpoch || end.offset < offset ? end : undefined
}

/**
 * Appends the tagged fields of a partition: the diverging epoch, if any, with tag 0 and 13 bytes. The last of these
 * bytes means that there are no nested tagged fields.
 */
function appendDiverging(writer: Writer, diverging: EpochEnd | undefined): void {
  if (diverging === undefined) {
    writer.appendTaggedFields()
    return
  }
  writer.appendUnsignedVarInt(1).appendUnsignedVarInt(0).appendUnsignedVarInt(13)
  writer.appendInt32(diverging.epoch).appendInt64(BigInt(diverging.offset)).appendTaggedFields()
}

/** Handles OffsetForLeaderEpoch v4. */
export function epochEnds({ body, reply }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  body.readInt32()
  const topics = body.readArray((topic) => {
    const name = topic.readString()
    const partitions = topic.readArray((entry) => {
      const [index, currentEpoch, epoch] = [entry.readInt32(), entry.readInt32(), entry.readInt32()]
      let end: EpochEnd | undefined
      const code = codeFrom(() => {
        end = leading(cluster, broker, name, index, currentEpoch).endOf(epoch)
      })
      return { index, code, end: end ?? { epoch: NO_EPOCH, offset: -1 } }
    })
    return { name, partitions }
  })
  const answer = Writer.create().appendInt32(NO_THROTTLE)
  answer.appendArray(topics, (w, { name, partitions }) => {
    w.appendString(name).appendArray(partitions, (inner, { index, code, end }) => {
      inner.appendInt16(code).appendInt32(index).appendInt32(end.epoch).appendInt64(BigInt(end.offset))
    })
  })
  reply(answer.appendTaggedFields())
}

/** Handles ListOffsets v9: returns the first offset of each log, or its high watermark or last stable offset. */
export function listOffsets({ body, reply }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  body.readInt32()
  const stableOnly = body.readInt8() === READ_COMMITTED
  const topics = body.readArray((topic) => {
    const name = topic.readString()
    const partitions = topic.readArray((entry) => {
      const index = entry.readInt32()
      const epoch = entry.readInt32()
      const timestamp = entry.readInt64()
      if (timestamp !== EARLIEST && timestamp !== LATEST) throw new Error('simulated brokers do not search for timestamps')
      let offset = -1
      const code = codeFrom(() => {
        const log = leading(cluster, broker, name, index, epoch)
        if (timestamp === EARLIEST) offset = log.start
        else offset = stableOnly ? log.lastStable : log.highWatermark
      })
      return { index, code, offset }
    })
    return { name, partitions }
  })
  const answer = Writer.create().appendInt32(NO_THROTTLE)
  answer.appendArray(topics, (w, { name, partitions }) => {
    w.appendString(name).appendArray(partitions, (inner, { index, code, offset }) => {
      inner.appendInt32(index).appendInt16(code).appendInt64(NO_OFFSET).appendInt64(BigInt(offset)).appendInt32(NO_EPOCH)
    })
  })
  reply(answer.appendTaggedFields())
}
