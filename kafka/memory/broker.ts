import type { Runtime } from '../../runtime/runtime.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { DEFAULT_MAX_BATCH_BYTES } from '../../schemas/topic.ts'
import { recordBytesBound } from '../record-batch/writer.ts'
import {
  FencedError,
  type OffsetToCommit,
  type PartitionData,
  partitionKey,
  ReplacedError,
  type TopicPartition,
  type TopicSpec,
  TransportError,
} from '../transport.ts'
import { type MemoryGroups, memoryGroups } from './groups.ts'
import { chunksOf, type LogRecord, type NewRecord, type PartitionLog, partitionLog } from './log.ts'

export interface MemoryBrokerOptions {
  /** Default: the system's, without a log. */
  readonly runtime?: Runtime
}

/** Records of one partition that wait for their transaction's end. */
export interface PartitionAppends extends TopicPartition {
  readonly records: readonly NewRecord[]
}

/** Offsets that a transaction commits for a group's member. */
export interface TransactionOffsets {
  readonly groupId: string
  readonly memberId: string
  readonly offsets: readonly OffsetToCommit[]
}

/** A Kafka broker in memory: synchronous, for tests. Transactions are atomic and leave a control record in every partition they wrote. */
export interface MemoryBroker {
  readonly runtime: Runtime
  readonly groups: MemoryGroups
  /** An existing topic with another partition count is an error. */
  createTopic(spec: TopicSpec): void
  partitionCount(topic: string): number | undefined
  topics(): string[]
  topic(name: string): TopicSpec
  log(topic: string, partition: number): PartitionLog
  /** Appends outside any transaction, as a plain producer does. */
  append(topic: string, partition: number, record: NewRecord): void
  /** What a fetch from `offset` brings: at least one record, if there is one. */
  fetch(topic: string, partition: number, offset: number, maxRecords: number, maxBytes?: number): PartitionData
  /** All records of a topic, partition by partition. */
  records(topic: string): (LogRecord & TopicPartition)[]
  /** InitProducerId: fences earlier lives of the id. @returns the epoch of this life */
  initProducer(transactionalId: string): number
  /** Throws ReplacedError when a later life has taken over. */
  checkNotReplaced(transactionalId: string, epoch: number): void
  /** Throws FencedError when a later life has taken over. */
  checkProducer(transactionalId: string, epoch: number): void
  /** Appends all records and commits the offsets, all or nothing. @returns by partition key the offset after its records */
  commitTransaction(appends: readonly PartitionAppends[], offsets: TransactionOffsets | undefined, control: boolean): Map<string, number>
  /** Until it resolves, commits of workers wait for their answer; rejected, they fail with its reason. Undefined: they do not wait. */
  commitGate: Promise<void> | undefined
  /** Commits that wait at the gate. */
  waitingCommits: number
  /** Until it resolves, published records wait for their acknowledgement; rejected, they fail with its reason. Undefined: they do not wait. */
  publishGate: Promise<void> | undefined
  /** Called after every change that a waiting reader may want to know of. @returns a function that ends it */
  onChange(listener: () => void): () => void
}

export function memoryBroker(options: MemoryBrokerOptions = {}): MemoryBroker {
  const { runtime = systemRuntime() } = options
  const topics = new Map<string, { spec: TopicSpec; logs: PartitionLog[] }>()
  const producerEpochs = new Map<string, number>()
  const listeners = new Set<() => void>()
  const groups = memoryGroups((topic) => topics.get(topic)?.spec.partitions)

  function known(topic: string): { spec: TopicSpec; logs: PartitionLog[] } {
    const found = topics.get(topic)
    if (found === undefined) throw new TransportError('UNKNOWN_TOPIC_OR_PARTITION', `topic ${topic} does not exist`, { fatal: true })
    return found
  }

  function log(topic: string, partition: number): PartitionLog {
    const found = known(topic).logs[partition]
    if (found === undefined)
      throw new TransportError('UNKNOWN_TOPIC_OR_PARTITION', `topic ${topic} has no partition ${partition}`, { fatal: true })
    return found
  }

  /** As a broker does, for a batch that holds nothing else. */
  function checkSize(topic: string, { key, value, headers }: NewRecord): void {
    const limit = Number(known(topic).spec.config?.['max.message.bytes'] ?? DEFAULT_MAX_BATCH_BYTES)
    const bytes = recordBytesBound(key?.length ?? 0, value?.length ?? 0, headers)
    if (bytes > limit) throw new TransportError('MESSAGE_TOO_LARGE', `topic ${topic} takes ${limit} bytes, not ${bytes}`, { fatal: true })
  }

  function append(topic: string, to: PartitionLog, record: NewRecord): void {
    const ownTime = known(topic).spec.config?.['message.timestamp.type'] === 'LogAppendTime'
    to.append(ownTime ? { ...record, timestamp: runtime.now() } : record)
  }

  function changed(): void {
    for (const listener of listeners) listener()
  }

  return {
    runtime,
    groups,
    createTopic(spec) {
      const existing = topics.get(spec.name)
      if (existing !== undefined) {
        if (existing.spec.partitions === spec.partitions) return
        throw new TransportError(
          'PARTITION_COUNT',
          `topic ${spec.name} has ${existing.spec.partitions} partitions, not ${spec.partitions}`,
          {
            fatal: true,
          },
        )
      }
      topics.set(spec.name, { spec, logs: Array.from({ length: spec.partitions }, partitionLog) })
      changed()
    },
    partitionCount: (topic) => topics.get(topic)?.spec.partitions,
    topics: () => [...topics.keys()],
    topic: (name) => known(name).spec,
    log,
    append(topic, partition, record) {
      checkSize(topic, record)
      append(topic, log(topic, partition), record)
      changed()
    },
    fetch(topic, partition, offset, maxRecords, maxBytes) {
      const from = log(topic, partition)
      const fetchedAt = runtime.now()
      const records = from.read(offset, maxRecords, maxBytes)
      const last = records.at(-1)
      const isCut = last !== undefined && from.read(last.offset + 1, 1).length > 0
      return {
        topic,
        partition,
        chunks: chunksOf(topic, partition, records),
        nextOffset: isCut ? last.offset + 1 : Math.max(offset, from.endOffset),
        highWatermark: from.endOffset,
        lastStableOffset: from.endOffset,
        fetchedAt,
      }
    },
    records(topic) {
      return known(topic).logs.flatMap((each, partition) =>
        each.read(each.startOffset, Number.MAX_SAFE_INTEGER).map((record) => ({ ...record, topic, partition })),
      )
    },
    initProducer(transactionalId) {
      const epoch = (producerEpochs.get(transactionalId) ?? -1) + 1
      producerEpochs.set(transactionalId, epoch)
      return epoch
    },
    checkNotReplaced(transactionalId, epoch) {
      if (producerEpochs.get(transactionalId) !== epoch)
        throw new ReplacedError(`another process has begun with the transactional id ${transactionalId}`)
    },
    checkProducer(transactionalId, epoch) {
      if (producerEpochs.get(transactionalId) !== epoch) throw new FencedError(`a newer producer uses transactional id ${transactionalId}`)
    },
    commitTransaction(appends, offsets, control) {
      if (offsets !== undefined) groups.check(offsets.groupId, offsets.memberId)
      const logs = appends.map((append) => log(append.topic, append.partition))
      for (const { topic, records } of appends) for (const record of records) checkSize(topic, record)
      const ends = new Map<string, number>()
      appends.forEach(({ topic, partition, records }, i) => {
        for (const record of records) append(topic, logs[i], record)
        ends.set(partitionKey(topic, partition), logs[i].endOffset)
        if (control) logs[i].appendControl()
      })
      if (offsets !== undefined) groups.commit(offsets.groupId, offsets.memberId, offsets.offsets)
      changed()
      return ends
    },
    commitGate: undefined,
    waitingCommits: 0,
    publishGate: undefined,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
