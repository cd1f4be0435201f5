import { ask } from '../../../kafka/client/connections.ts'
import { errorName } from '../../../kafka/client/errors.ts'
import { fetch } from '../../../kafka/client/fetch-request.ts'
import { produce } from '../../../kafka/client/produce-request.ts'
import {
  addOffsetsToTxnV4,
  addPartitionsToTxnV3,
  type Connection,
  consumerGroupHeartbeatV1,
  createTopicsV7,
  describeTransactionsV0,
  endTxnV4,
  findCoordinatorV4,
  initProducerIdV4,
  metadataV12,
  offsetCommitV9,
  offsetFetchV9,
  txnOffsetCommitV4,
} from '../../../kafka/client/protocol.ts'
import { endTxnV5, txnOffsetCommitV5 } from '../../../kafka/client/transactions-v2.ts'
import { readChunks } from '../../../kafka/record-batch/reader.ts'
import { BatchWriter } from '../../../kafka/record-batch/writer.ts'
import type { Runtime } from '../../../runtime/runtime.ts'

/** Errors that a broker may return while it starts. */
const STARTING: ReadonlySet<string> = new Set(['COORDINATOR_NOT_AVAILABLE', 'COORDINATOR_LOAD_IN_PROGRESS', 'NOT_COORDINATOR'])
const PAUSE_MS = 10
const PATIENCE_MS = 30_000
const REQUEST_TIMEOUT_MS = 10_000
const TRANSACTION_TIMEOUT_MS = 60_000
const REBALANCE_TIMEOUT_MS = 60_000
const MAX_BYTES = 1_048_576
const NO_EPOCH = -1
const NOBODY = { memberId: '', epoch: -1 }

export interface Producer {
  readonly id: string | null
  readonly producerId: number
  readonly epoch: number
}

export interface Member {
  readonly memberId: string
  readonly epoch: number
}

export interface Initialised extends Producer {
  readonly error: string
}

/** Version of the transaction protocol. Version 2 uses Produce v12, TxnOffsetCommit v5 and EndTxn v5. */
export type Version = 1 | 2

/** Sends single requests to a cluster of one broker, and returns the names of the errors in the answers. */
export class Wire {
  readonly #connection: Connection
  readonly #runtime: Pick<Runtime, 'sleep' | 'monotonic'>
  readonly #unique: (prefix: string) => string

  constructor(connection: Connection, runtime: Pick<Runtime, 'sleep' | 'monotonic'>, unique: (prefix: string) => string) {
    this.#connection = connection
    this.#runtime = runtime
    this.#unique = unique
  }

  name(prefix: string): string {
    return this.#unique(prefix)
  }

  /** Repeats a step until `isWanted` accepts its result or the time limit is reached. Returns the last result. */
  async until<Result>(step: () => Promise<Result>, isWanted: (result: Result) => boolean): Promise<Result> {
    const deadline = this.#runtime.monotonic() + PATIENCE_MS
    for (;;) {
      const result = await step()
      if (isWanted(result) || this.#runtime.monotonic() > deadline) return result
      await this.#runtime.sleep(PAUSE_MS)
    }
  }

  /** Retries a step while the coordinator is ending another transaction. */
  patiently<Result>(step: () => Promise<Result>): Promise<Result> {
    return this.until(step, (result) => errorOf(result) !== 'CONCURRENT_TRANSACTIONS')
  }

  /** Retries a request while the broker starts. */
  #started<Result>(step: () => Promise<Result>): Promise<Result> {
    return this.until(step, (result) => !STARTING.has(errorOf(result)))
  }

  async topic(): Promise<string> {
    const name = this.name('topic')
    const topic = { name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }
    await ask(this.#connection, createTopicsV7.api, [topic], REQUEST_TIMEOUT_MS, false)
    await this.until(
      () => this.#topicId(name),
      (id) => id !== undefined,
    )
    // The metadata may name a topic shortly before the broker becomes the leader of its partition.
    await this.until(
      () => this.#fetch(name, 'read_committed'),
      ({ errorCode }) => errorCode === 0,
    )
    return name
  }

  async #topicId(name: string): Promise<string | undefined> {
    const { topics } = await ask(this.#connection, metadataV12.api, [name])
    const [{ topicId, errorCode, partitions }] = topics
    return errorCode === 0 && partitions[0]?.errorCode === 0 ? topicId : undefined
  }

  /** @param expected the identity that the caller had; undefined to fence every other producer */
  async init(id: string | null, expected?: Producer, timeoutMs = TRANSACTION_TIMEOUT_MS): Promise<Initialised> {
    if (id !== null) await this.#find('transaction', id)
    return this.#started(async () => {
      const { producerId, epoch } = expected ?? { producerId: -1, epoch: -1 }
      const answer = await ask(this.#connection, initProducerIdV4.api, id, timeoutMs, BigInt(producerId), epoch)
      return { id, producerId: Number(answer.producerId), epoch: answer.producerEpoch, error: errorName(answer.errorCode) }
    })
  }

  /**
   * Asks for the coordinator of a key. The first such request makes the broker create the coordinator's internal topic.
   */
  async #find(kind: 'group' | 'transaction', key: string): Promise<void> {
    await this.#started(async () => {
      const { coordinators } = await ask(this.#connection, findCoordinatorV4.api, kind === 'group' ? 0 : 1, [key])
      return errorName(coordinators[0].errorCode)
    })
  }

  /** Sends a batch. Returns the offset of its first record, or the name of an error. */
  async produce(
    topic: string,
    producer: Producer,
    sequence: number,
    texts: readonly string[],
    version: Version = 1,
  ): Promise<number | string> {
    const batch = new BatchWriter()
    for (const text of texts) batch.append(Date.now(), null, 0, 0, Buffer.from(text), 0, text.length)
    const { id, producerId, epoch } = producer
    const stamp = { producerId, producerEpoch: epoch, baseSequence: sequence, transactional: id !== null }
    const target = { transactionalId: id, addsPartitions: version === 2 }
    const bytes = batch.finish(stamp, 'none')
    const answers = await produce(this.#connection, target, REQUEST_TIMEOUT_MS, [{ topic, partition: 0, batch: bytes }])
    const [{ errorCode, baseOffset }] = answers.values()
    return errorCode === 0 ? baseOffset : errorName(errorCode)
  }

  async addPartition({ id, producerId, epoch }: Producer, topic: string): Promise<string> {
    const topics = [{ name: topic, partitions: [0] }]
    const producer = { transactionalId: id ?? '', producerId: BigInt(producerId), producerEpoch: epoch }
    const answer = await ask(this.#connection, addPartitionsToTxnV3.api, [{ ...producer, verifyOnly: false, topics }])
    return errorName(answer.resultsByTransaction[0].topicResults[0].resultsByPartition[0].partitionErrorCode)
  }

  async addGroup({ id, producerId, epoch }: Producer, group: string): Promise<string> {
    await this.#find('group', group)
    const answer = await ask(this.#connection, addOffsetsToTxnV4.api, id ?? '', BigInt(producerId), epoch, group)
    return errorName(answer.errorCode)
  }

  async commitInTransaction(
    { id, producerId, epoch }: Producer,
    group: string,
    topic: string,
    offset: number,
    version: Version,
    member: Member = NOBODY,
  ): Promise<string> {
    await this.#find('group', group)
    const api = version === 2 ? txnOffsetCommitV5 : txnOffsetCommitV4.api
    return this.#started(async () => {
      const { topics } = await ask(
        this.#connection,
        api,
        id ?? '',
        group,
        BigInt(producerId),
        epoch,
        member.epoch,
        member.memberId,
        null,
        offsetsOf(topic, offset),
      )
      return errorName(topics[0].partitions[0].errorCode)
    })
  }

  /**
   * Ends a transaction. Returns the producer's identity for the next transaction. With version 1, the identity stays
   * the same.
   */
  async end(producer: Producer, outcome: 'commit' | 'abort', version: Version): Promise<Initialised> {
    const { id, producerId, epoch } = producer
    const args = [id ?? '', BigInt(producerId), epoch, outcome === 'commit'] as const
    if (version === 1) {
      const { errorCode } = await ask(this.#connection, endTxnV4.api, ...args)
      return { ...producer, error: errorName(errorCode) }
    }
    const answer = await ask(this.#connection, endTxnV5, ...args)
    return { id, producerId: Number(answer.producerId), epoch: answer.producerEpoch, error: errorName(answer.errorCode) }
  }

  async describe(id: string): Promise<{ state: string; producerId: number; epoch: number; error: string }> {
    const { transactionStates } = await ask(this.#connection, describeTransactionsV0.api, [id])
    const [{ transactionState: state, producerId, producerEpoch: epoch, errorCode }] = transactionStates
    return { state, producerId: Number(producerId), epoch, error: errorName(errorCode) }
  }

  /** Returns the records of a topic that a consumer can read now. */
  async read(topic: string, isolation: 'read_committed' | 'read_uncommitted' = 'read_committed'): Promise<string[]> {
    const { records, aborted } = await this.#fetch(topic, isolation)
    const ranges = isolation === 'read_committed' ? aborted : null
    const chunks = readChunks({ topic, partition: 0, records, from: 0, aborted: ranges, verifyChecksums: true })
    return chunks.flatMap(({ buffer, count, valueStart, valueEnd }) =>
      Array.from({ length: count }, (_, i) => buffer.toString('utf8', valueStart[i], valueEnd[i])),
    )
  }

  /**
   * Returns the high watermark and last stable offset of a topic, and the first offsets of its aborted transactions.
   */
  async offsets(topic: string): Promise<{ end: number; stable: number; aborted: number[] }> {
    const { highWatermark: end, lastStableOffset: stable, aborted } = await this.#fetch(topic, 'read_committed')
    return { end, stable, aborted: aborted.map(({ firstOffset }) => firstOffset) }
  }

  async #fetch(topic: string, isolation: 'read_committed' | 'read_uncommitted') {
    const topicId = (await this.#topicId(topic)) ?? ''
    const limits = { maxWaitMs: 0, maxBytes: MAX_BYTES, maxPartitionBytes: MAX_BYTES }
    const partitions = [{ partition: 0, leaderEpoch: NO_EPOCH, offset: 0, lastEpoch: NO_EPOCH }]
    const answer = await fetch(this.#connection, { isolation, ...limits, topics: [{ topicId, partitions }] })
    return answer.partitions[0]
  }

  /**
   * @param topics undefined for a heartbeat that does not name the member's topics
   * @param owned names of the topics whose only partition the member owns; undefined if the heartbeat omits them
   */
  async heartbeat(group: string, { memberId, epoch }: Member, topics?: readonly string[], owned?: readonly string[]) {
    await this.#find('group', group)
    const ids = await Promise.all((owned ?? []).map((topic) => this.#topicId(topic)))
    return this.#started(async () => {
      const answer = await ask(
        this.#connection,
        consumerGroupHeartbeatV1.api,
        group,
        memberId,
        epoch,
        null,
        null,
        topics === undefined ? -1 : REBALANCE_TIMEOUT_MS,
        topics === undefined ? null : [...topics],
        null,
        topics === undefined ? null : 'range',
        owned === undefined ? null : ids.map((topicId) => ({ topicId: topicId ?? '', partitions: [0] })),
      )
      const assigned = answer.assignment?.topicPartitions.flatMap(({ partitions }) => partitions)
      return { error: errorName(answer.errorCode), epoch: answer.memberEpoch, assigned }
    })
  }

  async commit(group: string, topic: string, offset: number, member: Member = NOBODY): Promise<string> {
    await this.#find('group', group)
    return this.#started(async () => {
      const { epoch, memberId } = member
      const { topics } = await ask(this.#connection, offsetCommitV9.api, group, epoch, memberId, null, offsetsOf(topic, offset))
      return errorName(topics[0].partitions[0].errorCode)
    })
  }

  /**
   * Returns the committed offset, -1 if there is none, or the name of an error. For example, there is an error while an
   * open transaction has pending offsets.
   */
  async committed(group: string, topic: string, member?: Member): Promise<number | string> {
    await this.#find('group', group)
    return this.#started(async () => {
      const asked = { groupId: group, memberId: member?.memberId ?? null, memberEpoch: member?.epoch ?? NO_EPOCH }
      const topics = [{ name: topic, partitionIndexes: [0] }]
      const { groups } = await ask(this.#connection, offsetFetchV9.api, [{ ...asked, topics }], true)
      if (groups[0].errorCode !== 0) return errorName(groups[0].errorCode)
      const [{ errorCode, committedOffset }] = groups[0].topics[0].partitions
      return errorCode === 0 ? Number(committedOffset) : errorName(errorCode)
    })
  }
}

function offsetsOf(name: string, offset: number) {
  return [
    {
      name,
      partitions: [{ partitionIndex: 0, committedOffset: BigInt(offset), committedLeaderEpoch: NO_EPOCH, committedMetadata: null }],
    },
  ]
}

function errorOf(result: unknown): string {
  return typeof result === 'object' && result !== null ? String((result as { error?: unknown }).error) : String(result)
}
