import { FencedError, type GroupMember, type OffsetToCommit, partitionKey, type TopicPartition, TransportError } from '../transport.ts'
import { LEADERS_ADD } from './broker-version.ts'
import type { Cluster } from './cluster.ts'
import { type Coordinator, openCoordinator } from './coordinator.ts'
import { classify, Disconnected, type ErrorName, errorName, fatal, throwIfClosed } from './errors.ts'
import { getOrAdd } from './get-or-add.ts'
import { type OffsetOwner, repeat } from './group-offsets.ts'
import { offsetTopics } from './offset-topics.ts'
import type { Context } from './options.ts'
import {
  type API,
  addOffsetsToTxnV4,
  addPartitionsToTxnV3,
  describeTransactionsV0,
  endTxnV4,
  initProducerIdV4,
  txnOffsetCommitV4,
} from './protocol.ts'
import { backoff, LONGEST_MARKER_WAIT_MS, markerBackoff } from './retry.ts'
import { type EndTxnResponse, endTxnV5, txnOffsetCommitV5 } from './transactions-v2.ts'

/**
 * Error code for requests that arrive while the coordinator is ending a transaction on its own initiative. This takes
 * about ten milliseconds. In the meantime, the coordinator throws an IllegalStateException internally and reports it
 * with this code.
 */
const UNEXPLAINED = 'UNKNOWN_SERVER_ERROR'
const MAX_UNEXPLAINED = 20
/**
 * The value that means "unknown producer id" in InitProducerId. With this value, the coordinator assigns a producer id.
 * If the transactional id already has a producer id, the coordinator raises the epoch instead, no matter which process
 * used the id before.
 */
const UNKNOWN_PRODUCER_ID = -1n
const UNKNOWN_EPOCH = -1
/**
 * States of a transaction that the coordinator is aborting or has aborted on its own. If the transactional id was
 * initialised again, the state is `Empty` instead.
 */
const ABORTED: ReadonlySet<string> = new Set(['PrepareEpochFence', 'PrepareAbort', 'CompleteAbort'])
/**
 * Maximum increase of the epoch when the coordinator aborts a transaction. Only transaction version 2 reaches this
 * maximum.
 */
const EPOCHS_OF_AN_ABORT = 2

/** The answer to EndTxn. Version 4 changes neither producer id nor epoch, so its answer contains neither. */
type EndTxnAnswer = Pick<EndTxnResponse, 'errorCode'> & Partial<EndTxnResponse>

export interface ProducerId {
  readonly producerId: number
  readonly producerEpoch: number
}

export type TransactionLog = ReturnType<typeof openTransactionLog>

/** Sends the requests of one transactional id to its coordinators. */
export function openTransactionLog(context: Context, cluster: Cluster, transactionalId: string, timeoutMs: number) {
  const { options, runtime } = context
  const { log } = runtime
  const coordinator = openCoordinator(context, cluster, 'transaction', transactionalId)
  const groups = new Map<string, Coordinator>()
  const closing = new AbortController()
  let opened = false
  /** True if transaction version 2 is in use. The value changes only in `init`. */
  let isVersion2 = false
  /** The previous producer id, which the coordinator replaced because its epochs were used up. */
  let formerProducerId: number | undefined
  /** True if a request with the current epoch got no answer, so that the brokers may still execute it later. */
  let unanswered = false
  /** Partitions that the coordinator has added to the open transaction. */
  const members = new Set<string>()
  /** Groups that the coordinator has added to the open transaction. */
  const offsetGroups = new Set<string>()

  function deadline(): number {
    return runtime.monotonic() + options.deliveryTimeoutMs
  }

  /**
   * Repeats a request until the answer contains no errors. Throws when an error in the answer is fatal or means that
   * the producer is fenced, and when the deadline `until` has passed.
   */
  async function sendUntilAnswered<Answer>(
    doing: string,
    until: number,
    request: () => Promise<Answer>,
    namesOf: (answer: Answer) => ErrorName[],
  ): Promise<Answer> {
    const retry = markerBackoff(context)
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
        unanswered = true
        names = ['NETWORK_EXCEPTION']
      }
      // OPERATION_NOT_ATTEMPTED only means that the coordinator refused a different part of the request.
      const bad = names.filter((name) => name !== 'NONE' && name !== 'OPERATION_NOT_ATTEMPTED')
      const kinds = new Map(bad.map((name) => [classify(name), name]))
      const lost = kinds.get('producer-lost')
      if (lost !== undefined) throw new FencedError(`${doing}: the broker answered ${lost}`)
      const hopeless = kinds.get('fatal')
      const isPassing = hopeless === UNEXPLAINED && ++unexplained <= MAX_UNEXPLAINED
      if (hopeless !== undefined && !isPassing) throw fatal(hopeless, doing)
      const reason = bad[0] ?? 'OPERATION_NOT_ATTEMPTED'
      if (runtime.monotonic() > until) throw new TransportError(reason, `${doing}: still ${reason} at the deadline`, { fatal: false })
      log.debug({ transactionalId, doing, reason }, 'kafka_transaction_retried')
      if (kinds.has('stale-coordinator')) coordinator.forget()
      await (reason === 'CONCURRENT_TRANSACTIONS' ? retry : outage).wait(closing.signal)
    }
  }

  /**
   * Fences the earlier producers with this transactional id, and aborts their open transaction. Returns the new
   * identity.
   */
  async function init(): Promise<ProducerId> {
    isVersion2 = cluster.transactionVersion() >= LEADERS_ADD
    const answer = await sendUntilAnswered(
      `InitProducerId of ${transactionalId}`,
      deadline(),
      () => coordinator.send(initProducerIdV4.api, transactionalId, timeoutMs, UNKNOWN_PRODUCER_ID, UNKNOWN_EPOCH),
      ({ errorCode }) => [errorName(errorCode)],
    )
    forgetTransaction()
    unanswered = false
    return { producerId: Number(answer.producerId), producerEpoch: answer.producerEpoch }
  }

  /**
   * Returns the identity for the next transaction. Under transaction version 1 all transactions of a producer have the
   * same epoch. If a request got no answer and was retried, a broker may still execute the first copy late, in the
   * next transaction. A late EndTxn would commit that transaction before its records are in the log. A late
   * TxnOffsetCommit would replace the offsets of that transaction with earlier ones (KIP-890). After an unanswered
   * request, the next transaction therefore gets a new epoch.
   * @throws FencedError when another process has initialised the transactional id after this one
   */
  async function renew(id: ProducerId): Promise<ProducerId> {
    if (!unanswered) return id
    const answer = await sendUntilAnswered(
      `InitProducerId of ${transactionalId} for a new epoch`,
      deadline(),
      () => coordinator.send(initProducerIdV4.api, transactionalId, timeoutMs, BigInt(id.producerId), id.producerEpoch),
      ({ errorCode }) => [errorName(errorCode)],
    )
    unanswered = false
    return { producerId: Number(answer.producerId), producerEpoch: answer.producerEpoch }
  }

  /**
   * Returns true if another process has initialised the transactional id after this one. An abort by the coordinator,
   * after a timeout or on behalf of another worker, does not count.
   */
  async function isReplaced({ producerId, producerEpoch }: ProducerId): Promise<boolean> {
    const { transactionStates } = await sendUntilAnswered(
      `DescribeTransactions of ${transactionalId}`,
      deadline(),
      () => coordinator.send(describeTransactionsV0.api, [transactionalId]),
      (answer) =>
        answer.transactionStates.map(({ errorCode }) => errorName(errorCode)).filter((name) => name !== 'TRANSACTIONAL_ID_NOT_FOUND'),
    )
    const [now] = transactionStates
    // The transactional id has expired, so no other process has initialised it.
    if (now.errorCode !== 0) return false
    // The coordinator is still writing the markers that end the last transaction of the former producer id.
    if (Number(now.producerId) === formerProducerId) return false
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
    // The flag is set before the request is sent, because even an unanswered request may have opened the transaction.
    opened = true
    if (isVersion2) return
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
    opened = true
    if (!isVersion2 && !offsetGroups.has(groupId)) {
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
        const { producerId, producerEpoch } = id
        const answer = await group
          .send(
            isVersion2 ? txnOffsetCommitV5 : txnOffsetCommitV4.api,
            transactionalId,
            groupId,
            BigInt(producerId),
            producerEpoch,
            owner.epoch,
            owner.memberId,
            null,
            topics,
          )
          .catch(noteUnanswered)
        return answer.topics.flatMap(({ partitions }) => partitions.map(({ errorCode }) => errorName(errorCode)))
      },
      deadline(),
    )
  }

  function noteUnanswered(error: unknown): never {
    if (error instanceof Disconnected) unanswered = true
    throw error
  }

  function groupCoordinator(groupId: string): Coordinator {
    return getOrAdd(groups, groupId, () => openCoordinator(context, cluster, 'group', groupId))
  }

  /**
   * Ends the transaction. Repeats the request until the outcome is known.
   * @returns the identity of the next transaction if the coordinator has raised the epoch
   */
  async function end(id: ProducerId, outcome: 'commit' | 'abort'): Promise<ProducerId | undefined> {
    const api: API<Parameters<typeof endTxnV4.createRequest>, EndTxnAnswer> = isVersion2 ? endTxnV5 : endTxnV4.api
    // The request is retried without a deadline, because only its answer shows whether the transaction is committed.
    const { producerId, producerEpoch } = await sendUntilAnswered(
      `EndTxn (${outcome}) of ${transactionalId}`,
      Number.POSITIVE_INFINITY,
      () => coordinator.send(api, transactionalId, BigInt(id.producerId), id.producerEpoch, outcome === 'commit'),
      ({ errorCode }) => [errorName(errorCode)],
    )
    forgetTransaction()
    if (producerId === undefined || producerEpoch === undefined) return undefined
    if (Number(producerId) !== id.producerId) formerProducerId = id.producerId
    return { producerId: Number(producerId), producerEpoch }
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
    get isVersion2() {
      return isVersion2
    },
    renew,
    /** True if the coordinator may have opened the transaction. In this case, it must be ended with `end` or `init`. */
    get isOpen() {
      return opened
    },
    addPartitions,
    addOffsets,
    end,
    close,
  }
}
