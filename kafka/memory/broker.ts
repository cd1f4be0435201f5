import type { Runtime } from '../../runtime/runtime.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { DEFAULT_MAX_BATCH_BYTES } from '../../schemas/topic.ts'
import { RECORDS_AT } from '../record-batch/format.ts'
import { recordBytesBound } from '../record-batch/writer.ts'
import {
  FencedError,
  type OffsetToCommit,
  type PartitionData,
  partitionKey,
  ReplacedError,
  recordTooLarge,
  type TopicPartition,
  type TopicSpec,
  TransportError,
} from '../transport.ts'
import { type MemoryGroups, memoryGroups } from './groups.ts'
import { chunksOf, type LogRecord, type NewRecord, type PartitionLog, partitionLog } from './log.ts'

export interface MemoryBrokerOptions {
  /** The runtime of the broker. The default is the system's runtime, without a log. */
  readonly runtime?: Runtime
}

/** Records of one partition that a transaction appends when it commits. */
export interface PartitionAppends extends TopicPartition {
  readonly records: readonly NewRecord[]
}

/** Offsets that a transaction commits for a group member. */
export interface TransactionOffsets {
  readonly groupId: string
  readonly memberId: string
  readonly offsets: readonly OffsetToCommit[]
}

/**
 * A synchronous Kafka broker in memory, for tests. Transactions are atomic and write a control record to every
 * partition that received their records.
 */
export interface MemoryBroker {
  readonly runtime: Runtime
  readonly groups: MemoryGroups
  /**
   * Creates a topic. Does nothing if the topic exists with the same partition count, and throws if it exists with a
   * different one.
   */
  createTopic(spec: TopicSpec): void
  deleteTopic(name: string): void
  /** Raises the partition count of a topic. */
  addPartitions(name: string, partitions: number): void
  partitionCount(topic: string): number | undefined
  topicId(topic: string): string | undefined
  topics(): string[]
  topic(name: string): TopicSpec
  log(topic: string, partition: number): PartitionLog
  /** Returns the topic's `max.message.bytes`, or the brokers' default if the topic does not set it. */
  maxBatchBytes(topic: string): number
  /**
   * Checks that the topic accepts a record of this size.
   * @throws TransportError `MESSAGE_TOO_LARGE` when it does not
   */
  checkSize(topic: string, record: NewRecord): void
  /** Appends a record outside any transaction, like a plain producer. */
  append(topic: string, partition: number, record: NewRecord): void
  /**
   * Returns the result of a fetch from `offset`. The result contains at least one record if the log has one at or after
   * `offset`.
   */
  fetch(topic: string, partition: number, offset: number, maxRecords: number, maxBytes?: number): PartitionData
  /** Returns all records of a topic, partition by partition. */
  records(topic: string): (LogRecord & TopicPartition)[]
  /**
   * Initialises a producer like InitProducerId, and fences earlier producers with the same id.
   * @returns the epoch of the new producer
   */
  initProducer(transactionalId: string): number
  /** Throws ReplacedError when another producer has initialised the transactional id after this one. */
  checkNotReplaced(transactionalId: string, epoch: number): void
  /** Throws FencedError when another producer has initialised the transactional id after this one. */
  checkProducer(transactionalId: string, epoch: number): void
  /**
   * Appends all records and commits the offsets, in one atomic step.
   * @param control true to append a commit marker to each partition of `appends`
   * @returns for each partition key, the offset after the records of the transaction
   */
  commitTransaction(appends: readonly PartitionAppends[], offsets: TransactionOffsets | undefined, control: boolean): Map<string, number>
  /**
   * While this promise is set, commits of workers wait for it to resolve. If the promise rejects, they fail with the
   * same reason.
   */
  commitGate: Promise<void> | undefined
  /** Number of commits that are waiting for `commitGate`. */
  waitingCommits: number
  /**
   * While this promise is set, published records are appended and acknowledged only when it resolves. If the promise
   * rejects with a TransportError, they fail with this error. After any other rejection, they fail with code `REFUSED`.
   */
  publishGate: Promise<void> | undefined
  /**
   * Adds a listener. It is called after every change that may affect a waiting reader.
   * @returns a function that removes the listener
   */
  onChange(listener: () => void): () => void
}

export function memoryBroker(options: MemoryBrokerOptions = {}): MemoryBroker {
  const { runtime = systemRuntime() } = options
  const topics = new Map<string, { id: string; spec: TopicSpec; logs: PartitionLog[] }>()
  let created = 0
  const producerEpochs = new Map<string, number>()
  const listeners = new Set<() => void>()
  const groups = memoryGroups((topic) => topics.get(topic)?.spec.partitions)

  function known(topic: string): { id: string; spec: TopicSpec; logs: PartitionLog[] } {
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

  function maxBatchBytes(topic: string): number {
    return Number(known(topic).spec.config?.['max.message.bytes'] ?? DEFAULT_MAX_BATCH_BYTES)
  }

  /**
   * Checks an upper bound for the size of a batch that contains only this record. A real broker checks the exact size
   * of a whole batch.
   */
  function checkSize(topic: string, { key, value, headers }: NewRecord): void {
    const limit = maxBatchBytes(topic)
    const bytes = RECORDS_AT + recordBytesBound(key?.length ?? 0, value?.length ?? 0, headers)
    if (bytes > limit) throw recordTooLarge(topic, limit, bytes)
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
          'PARTITION_COUNT_MISMATCH',
          `topic ${spec.name} has ${existing.spec.partitions} partitions, not ${spec.partitions}`,
          {
            fatal: true,
          },
        )
      }
      topics.set(spec.name, { id: `${spec.name}/${++created}`, spec, logs: Array.from({ length: spec.partitions }, partitionLog) })
      changed()
    },
    addPartitions(name, partitions) {
      const topic = known(name)
      topic.spec = { ...topic.spec, partitions }
      while (topic.logs.length < partitions) topic.logs.push(partitionLog())
      changed()
    },
    deleteTopic(name) {
      topics.delete(name)
      changed()
    },
    partitionCount: (topic) => topics.get(topic)?.spec.partitions,
    topicId: (topic) => topics.get(topic)?.id,
    topics: () => [...topics.keys()],
    topic: (name) => known(name).spec,
    log,
    maxBatchBytes,
    checkSize,
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
        throw new ReplacedError(`another process has initialised the transactional id ${transactionalId}`)
    },
    checkProducer(transactionalId, epoch) {
      if (producerEpochs.get(transactionalId) !== epoch) throw new FencedError(`a newer producer uses transactional id ${transactionalId}`)
    },
    commitTransaction(appends, offsets, control) {
      if (offsets !== undefined) groups.check(offsets.groupId, offsets.memberId)
      // An unknown partition must make the whole transaction fail.
      for (const { topic, partition } of offsets?.offsets ?? []) log(topic, partition)
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
