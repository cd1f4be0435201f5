import {
  type CommitStep,
  type GroupMember,
  type OffsetToCommit,
  type ProducerOptions,
  partitionKey,
  type RecordAppender,
  type RecordFields,
  type RecordHeader,
  type WorkerProducer,
} from '../transport.ts'
import type { MemoryBroker, PartitionAppends } from './broker.ts'
import type { NewRecord } from './log.ts'

interface MemoryAppender extends RecordAppender {
  take(): NewRecord[]
}

/** A producer of the in-memory broker. The test driver uses its synchronous methods. */
export interface MemoryProducer extends WorkerProducer {
  initSync(): void
  commitSync(offsets: Iterable<OffsetToCommit>, member: Pick<GroupMember, 'groupId' | 'memberId'> | undefined): Map<string, number>
  abortSync(): void
}

/**
 * Minimum overhead of a record in format v2, in addition to its key and value. Because of this overhead, even a record
 * without key and value counts towards the pending bytes.
 */
const RECORD_OVERHEAD_BYTES = 7
const NO_HEADERS: readonly RecordHeader[] = []

export function memoryProducer(broker: MemoryBroker, options: ProducerOptions): MemoryProducer {
  const { transactionalId, onCommitStep } = options
  const appenders = new Map<string, MemoryAppender>()
  let epoch = -1
  let pendingBytes = 0

  function createAppender(topic: string, partition: number): MemoryAppender {
    let records: NewRecord[] = []

    function checked(...[timestamp, key, keyStart, keyEnd, value, valueStart, valueEnd, headers]: RecordFields): NewRecord {
      const record = {
        timestamp,
        key: key === null ? null : Buffer.from(key.subarray(keyStart, keyEnd)),
        value: value === null ? null : Buffer.from(value.subarray(valueStart, valueEnd)),
        headers: headers ?? NO_HEADERS,
      }
      broker.checkSize(topic, record)
      return record
    }

    return {
      topic,
      partition,
      append(...record) {
        const { key, value } = records[records.push(checked(...record)) - 1]
        pendingBytes += RECORD_OVERHEAD_BYTES + (key?.length ?? 0) + (value?.length ?? 0)
      },
      check: checked,
      get pendingRecords() {
        return records.length
      },
      take() {
        const taken = records
        records = []
        return taken
      },
    }
  }

  function takeAll(): PartitionAppends[] {
    pendingBytes = 0
    return [...appenders.values()]
      .map((appender) => ({ topic: appender.topic, partition: appender.partition, records: appender.take() }))
      .filter((append) => append.records.length > 0)
  }

  function step(name: CommitStep): void {
    onCommitStep?.(name)
  }

  function commitTaken(
    appends: readonly PartitionAppends[],
    offsets: Iterable<OffsetToCommit>,
    member: Pick<GroupMember, 'groupId' | 'memberId'> | undefined,
  ): Map<string, number> {
    if (transactionalId !== undefined) broker.checkProducer(transactionalId, epoch)
    step('produced')
    step('offsets-added')
    const memberOffsets = member === undefined ? undefined : { groupId: member.groupId, memberId: member.memberId, offsets: [...offsets] }
    const ends = broker.commitTransaction(appends, memberOffsets, transactionalId !== undefined)
    step('committed')
    return ends
  }

  const producer: MemoryProducer = {
    initSync() {
      takeAll()
      if (transactionalId !== undefined && epoch >= 0) broker.checkNotReplaced(transactionalId, epoch)
      if (transactionalId !== undefined) epoch = broker.initProducer(transactionalId)
    },
    commitSync: (offsets, member) => commitTaken(takeAll(), offsets, member),
    abortSync() {
      takeAll()
    },
    async init() {
      producer.initSync()
    },
    appender(topic, partition) {
      const key = partitionKey(topic, partition)
      let appender = appenders.get(key)
      if (appender === undefined) {
        appender = createAppender(topic, partition)
        appenders.set(key, appender)
      }
      return appender
    },
    get pendingBytes() {
      return pendingBytes
    },
    async flushFull() {},
    async commit(offsets, member) {
      const appends = takeAll()
      broker.waitingCommits++
      try {
        await broker.commitGate
      } finally {
        broker.waitingCommits--
      }
      return commitTaken(appends, offsets.values(), member)
    },
    async abort() {
      producer.abortSync()
    },
    async close() {
      producer.abortSync()
    },
  }
  return producer
}
