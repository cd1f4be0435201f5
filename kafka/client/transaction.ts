import { FencedError, type GroupMember, type OffsetToCommit, partitionKey, type TopicPartition, TransportError } from '../transport.ts'
import type { Cluster } from './cluster.ts'
import { type Coordinator, openCoordinator } from './coordinator.ts'
import { classify, Disconnected, type ErrorName, errorName, fatal, throwIfClosed } from './errors.ts'
import { getOrAdd } from './get-or-add.ts'
import { type OffsetOwner, repeat } from './group-offsets.ts'
import { offsetTopics } from './offset-topics.ts'
import type { Context } from './options.ts'
import {
  addOffsetsToTxnV4,
  addPartitionsToTxnV3,
  describeTransactionsV0,
  endTxnV4,
  initProducerIdV4,
  txnOffsetCommitV4,
} from './protocol.ts'
import { backoff } from './retry.ts'

/** A commit's markers are written a few milliseconds after EndTxn was answered; until then CONCURRENT_TRANSACTIONS comes back. */
const MARKER_WAIT_MS = 1
const LONGEST_MARKER_WAIT_MS = 20
/** Kafka's coordinator stumbles over a request that comes while it is ending the transaction itself (an IllegalStateException, for some ten milliseconds). */
const UNEXPLAINED = 'UNKNOWN_SERVER_ERROR'
const MAX_UNEXPLAINED = 20
/** "No producer id known": the coordinator gives one, or raises the epoch of the one it knows, whoever had it. */
const UNKNOWN_PRODUCER_ID = -1n
const UNKNOWN_EPOCH = -1
/** What a transaction is in that the coordinator ends itself. A new life begins with `Empty` and goes on from there. */
const ABORTED: ReadonlySet<string> = new Set(['PrepareEpochFence', 'PrepareAbort', 'CompleteAbort'])
/** Epochs that the end of a transaction by the coordinator takes; two where it follows transaction version 2. */
const EPOCHS_OF_AN_ABORT = 2

export interface ProducerId {
  readonly producerId: number
  readonly producerEpoch: number
}

/** The coordinator's side of one transactional id. */
export interface TransactionLog {
  /** Fences whoever has the id, and ends its transaction. */
  init(): Promise<ProducerId>
  /** True when another life has been given the id since. A transaction that the coordinator has ended (time-out, an heir) is no such life. */
  isReplaced(id: ProducerId): Promise<boolean>
  /** True once the coordinator knows of the open transaction: it must be ended then. */
  readonly isOpen: boolean
  addPartitions(id: ProducerId, partitions: readonly TopicPartition[]): Promise<void>
  addOffsets(id: ProducerId, offsets: ReadonlyMap<string, OffsetToCommit>, member: GroupMember): Promise<void>
  /** Repeats the same request until the outcome is known. */
  end(id: ProducerId, outcome: 'commit' | 'abort'): Promise<void>
  close(): Promise<void>
}

export function openTransactionLog(context: Context, cluster: Cluster, transactionalId: string, timeoutMs: number): TransactionLog {
  const { options, runtime } = context
  const { log } = runtime
  const coordinator = openCoordinator(context, cluster, 'transaction', transactionalId)
  const groups = new Map<string, Coordinator>()
  const closing = new AbortController()
  let opened = false
  /** Partitions and groups that the coordinator knows in the open transaction. */
  const members = new Set<string>()
  const offsetGroups = new Set<string>()

  function deadline(): number {
    return runtime.monotonic() + options.deliveryTimeoutMs
  }

  /** Sends until the answer is good. Every part of the answer counts; a fatal part wins. */
  async function sendUntilAnswered<Answer>(
    doing: string,
    until: number,
    request: () => Promise<Answer>,
    namesOf: (answer: Answer) => ErrorName[],
  ): Promise<Answer> {
    const retry = backoff(context, MARKER_WAIT_MS, LONGEST_MARKER_WAIT_MS)
    const outage = backoff(context, LONGEST_MARKER_WAIT_MS)
    let unexplained = 0
    for (;;) {
      throwIfClosed(closing.signal)
      let names: ErrorName[]
      try {
        const answer = await request()
        names = namesOf(answer)
        if (names.every((name) => name === 'NONE')) return answer
      } catch (error) {
        if (!(error instanceof Disconnected)) throw error
        names = ['NETWORK_EXCEPTION']
      }
      // OPERATION_NOT_ATTEMPTED only says that another part of the request was refused.
      const bad = names.filter((name) => name !== 'NONE' && name !== 'OPERATION_NOT_ATTEMPTED')
      const kinds = new Map(bad.map((name) => [classify(name), name]))
      const lost = kinds.get('producer-lost')
      if (lost !== undefined) throw new FencedError(`${doing}: the broker answered ${lost}`)
      const hopeless = kinds.get('fatal')
      const isPassing = hopeless === UNEXPLAINED && ++unexplained <= MAX_UNEXPLAINED
      if (hopeless !== undefined && !isPassing) throw fatal(hopeless, doing)
      const reason = bad[0] ?? 'OPERATION_NOT_ATTEMPTED'
      if (runtime.monotonic() > until) throw new TransportError(reason, `${doing}: still ${reason} when the time was up`, { fatal: false })
      log.debug({ transactionalId, doing, reason }, 'kafka_transaction_retried')
      if (kinds.has('stale-coordinator')) coordinator.forget()
      await (reason === 'CONCURRENT_TRANSACTIONS' ? retry : outage).wait(closing.signal)
    }
  }

  async function init(): Promise<ProducerId> {
    const answer = await sendUntilAnswered(
      `InitProducerId of ${transactionalId}`,
      deadline(),
      () => coordinator.send(initProducerIdV4.api, transactionalId, timeoutMs, UNKNOWN_PRODUCER_ID, UNKNOWN_EPOCH),
      ({ errorCode }) => [errorName(errorCode)],
    )
    forgetTransaction()
    return { producerId: Number(answer.producerId), producerEpoch: answer.producerEpoch }
  }

  async function isReplaced({ producerId, producerEpoch }: ProducerId): Promise<boolean> {
    const { transactionStates } = await sendUntilAnswered(
      `DescribeTransactions of ${transactionalId}`,
      deadline(),
      () => coordinator.send(describeTransactionsV0.api, [transactionalId]),
      (answer) =>
        answer.transactionStates.map(({ errorCode }) => errorName(errorCode)).filter((name) => name !== 'TRANSACTIONAL_ID_NOT_FOUND'),
    )
    const [now] = transactionStates
    // Expired: nobody has it.
    if (now.errorCode !== 0) return false
    if (Number(now.producerId) !== producerId) return true
    const ahead = now.producerEpoch - producerEpoch
    return ahead > (ABORTED.has(now.transactionState) ? EPOCHS_OF_AN_ABORT : 0)
  }

  async function addPartitions(id: ProducerId, partitions: readonly TopicPartition[]): Promise<void> {
    const fresh = partitions.filter(({ topic, partition }) => !members.has(partitionKey(topic, partition)))
    if (fresh.length === 0) return
    const topics = [...Map.groupBy(fresh, ({ topic }) => topic)].map(([name, entries]) => ({
      name,
      partitions: entries.map(({ partition }) => partition),
    }))
    // Noted before it is sent: an unanswered request may have opened the transaction.
    opened = true
    await sendUntilAnswered(
      `AddPartitionsToTxn of ${transactionalId}`,
      deadline(),
      () =>
        coordinator.send(addPartitionsToTxnV3.api, [
          { transactionalId, producerId: BigInt(id.producerId), producerEpoch: id.producerEpoch, verifyOnly: false, topics },
        ]),
      (answer) =>
        answer.resultsByTransaction.flatMap(({ topicResults }) =>
          topicResults.flatMap(({ resultsByPartition }) =>
            resultsByPartition.map(({ partitionErrorCode }) => errorName(partitionErrorCode)),
          ),
        ),
    )
    for (const { topic, partition } of fresh) members.add(partitionKey(topic, partition))
  }

  async function addOffsets(id: ProducerId, offsets: ReadonlyMap<string, OffsetToCommit>, member: GroupMember): Promise<void> {
    const { groupId } = member
    if (!offsetGroups.has(groupId)) {
      opened = true
      await sendUntilAnswered(
        `AddOffsetsToTxn of ${transactionalId}`,
        deadline(),
        () => coordinator.send(addOffsetsToTxnV4.api, transactionalId, BigInt(id.producerId), id.producerEpoch, groupId),
        ({ errorCode }) => [errorName(errorCode)],
      )
      offsetGroups.add(groupId)
    }
    const topics = offsetTopics(offsets.values())
    const group = groupCoordinator(groupId)
    const owner: OffsetOwner = {
      groupId,
      get memberId() {
        return member.memberId
      },
      get epoch() {
        return member.epoch
      },
      heartbeat: () => member.heartbeat(),
      signal: closing.signal,
    }
    await repeat(
      context,
      group,
      owner,
      `TxnOffsetCommit for group ${groupId}`,
      async () => {
        const answer = await group.send(
          txnOffsetCommitV4.api,
          transactionalId,
          groupId,
          BigInt(id.producerId),
          id.producerEpoch,
          owner.epoch,
          owner.memberId,
          null,
          topics,
        )
        return answer.topics.flatMap(({ partitions }) => partitions.map(({ errorCode }) => errorName(errorCode)))
      },
      deadline(),
    )
  }

  function groupCoordinator(groupId: string): Coordinator {
    return getOrAdd(groups, groupId, () => openCoordinator(context, cluster, 'group', groupId))
  }

  async function end(id: ProducerId, outcome: 'commit' | 'abort'): Promise<void> {
    // No deadline: once it was sent, only an answer tells whether the transaction is committed.
    await sendUntilAnswered(
      `EndTxn (${outcome}) of ${transactionalId}`,
      Number.POSITIVE_INFINITY,
      () => coordinator.send(endTxnV4.api, transactionalId, BigInt(id.producerId), id.producerEpoch, outcome === 'commit'),
      ({ errorCode }) => [errorName(errorCode)],
    )
    forgetTransaction()
  }

  function forgetTransaction(): void {
    opened = false
    members.clear()
    offsetGroups.clear()
  }

  async function close(): Promise<void> {
    closing.abort()
    await Promise.all([coordinator.close(), ...[...groups.values()].map((group) => group.close())])
  }

  return {
    init,
    isReplaced,
    get isOpen() {
      return opened
    },
    addPartitions,
    addOffsets,
    end,
    close,
  }
}
