import {
  FencedError,
  type GroupMember,
  type OffsetToCommit,
  type ProducerOptions,
  partitionKey,
  ReplacedError,
  type TopicPartition,
  TransportError,
  type WorkerProducer,
} from '../transport.ts'
import { anonymousProducerId } from './anonymous-id.ts'
import { bufferPool, PartitionAppender, type TransactionPhase } from './appender.ts'
import type { Cluster } from './cluster.ts'
import { MemberFenced } from './errors.ts'
import { getOrAdd } from './get-or-add.ts'
import { listOffsets } from './list-offsets.ts'
import type { Context } from './options.ts'
import { openSender, STOPPED } from './sender.ts'
import { openTransactionLog, type ProducerId, type TransactionLog } from './transaction.ts'

/**
 * Default of `transactionTimeoutMs` (Kafka's transaction.timeout.ms). If a worker dies during a transaction, readers of
 * the partitions in this transaction wait for up to this time.
 */
const TRANSACTION_TIMEOUT_MS = 10_000

/**
 * - `new`: the producer has no valid identity, because `init` was not called, or because the last request for an
 *   identity has not succeeded
 * - `ready`: records may be committed
 * - `fenced`: nothing may be committed, for example because another producer has the transactional id or because an
 *   abort has failed. Only `init` makes the producer usable again
 */
type Status = 'new' | 'ready' | 'fenced'

/** Opens the producer of one worker; see `WorkerProducer`. */
export function openProducer(context: Context, cluster: Cluster, options: ProducerOptions): WorkerProducer {
  const { log } = context.runtime
  const { transactionalId } = options
  const codec = options.compression ?? 'none'
  const pool = bufferPool()
  const phase: TransactionPhase = { committing: false }
  const appenders = new Map<string, PartitionAppender>()
  const transactions =
    transactionalId === undefined
      ? undefined
      : openTransactionLog(context, cluster, transactionalId, options.transactionTimeoutMs ?? TRANSACTION_TIMEOUT_MS)
  const closing = new AbortController()
  let status: Status = 'new'
  let id: ProducerId = { producerId: -1, producerEpoch: -1 }
  /** The member that confirms its membership before records are sent without a transaction. */
  let confirming: GroupMember | undefined

  const sender = openSender(context, cluster, {
    identity: () => ({ ...id, transactional: transactions !== undefined, codec }),
    target: () => ({ transactionalId: transactionalId ?? null, addsPartitions: transactions?.isVersion2 === true }),
    appenders: () => appenders.values(),
    admit: async () => (transactions === undefined ? confirm() : transactions.addPartitions(id, pending())),
    confirm,
  })

  /**
   * Without a transaction, brokers accept records from any producer. Only the group coordinator can tell whether
   * another worker has replaced this one.
   */
  async function confirm(): Promise<void> {
    if (transactions === undefined) await confirming?.confirm()
  }

  async function init(): Promise<void> {
    await sender.settle()
    await takeIdentity()
  }

  async function takeIdentity(): Promise<void> {
    if (transactions !== undefined && status !== 'new' && (await transactions.isReplaced(id))) {
      status = 'fenced'
      throw new ReplacedError(
        `another process has initialised the transactional id ${transactionalId} after this one. Stop one of the two processes. If one of them ` +
          'uses a copied state folder, delete identity-*.json in the copy, because the copy contains the same identity',
      )
    }
    // An unanswered request may already have raised the epoch, so a higher epoch now does not prove that another
    // process exists.
    status = 'new'
    id = transactions === undefined ? await anonymousProducerId(context, cluster, closing.signal) : await transactions.init()
    dropRecords()
    for (const appender of appenders.values()) {
      appender.restartSequence()
      appender.forgetLogEnd()
    }
    status = 'ready'
    log.debug({ transactionalId, ...id }, 'kafka_producer_initialized')
  }

  async function end(log: TransactionLog, outcome: 'commit' | 'abort'): Promise<void> {
    const next = await log.end(id, outcome)
    if (next !== undefined) adopt(next)
    else await renewIdentity(log)
  }

  /**
   * Renews the identity between two transactions, if that is necessary. Does not throw. If the renewal fails, the next
   * transaction fails too.
   */
  async function renewIdentity(log: TransactionLog): Promise<void> {
    try {
      const next = await log.renew(id)
      if (next !== id) adopt(next)
    } catch (error) {
      // An unanswered request may have raised the epoch, so a higher epoch later does not prove that another process
      // exists.
      status = error instanceof FencedError ? 'fenced' : 'new'
      context.runtime.log.warn({ err: error, transactionalId }, 'kafka_epoch_not_renewed')
    }
  }

  function adopt(next: ProducerId): void {
    id = next
    for (const known of appenders.values()) known.restartSequence()
  }

  function appender(topic: string, partition: number): PartitionAppender {
    return getOrAdd(
      appenders,
      partitionKey(topic, partition),
      () => new PartitionAppender(topic, partition, { pool, phase, codec, maxBatchBytes: options.maxBatchBytes?.get(topic) }),
    )
  }

  /** Returns the appenders that have records of the open transaction. */
  function pending(): PartitionAppender[] {
    return [...appenders.values()].filter((known) => known.admittedRecords > 0)
  }

  /** Returns the leader epochs as a string. If a partition gets a new leader, the string changes. */
  function epochsOf(partitions: readonly TopicPartition[]): string {
    return partitions.map(({ topic, partition }) => cluster.latestEpoch(topic, partition)).join()
  }

  const endOffsets = (partitions: readonly TopicPartition[]) => listOffsets(context, cluster, partitions, 'end', closing.signal)

  function requireReady(): void {
    if (status === 'ready') return
    const fenced = transactionalId === undefined ? 'the producer' : `producer ${transactionalId}`
    throw new FencedError(status === 'new' ? 'the producer is not initialised: call init first' : `${fenced} was fenced: call init`)
  }

  /** Runs a step of the producer. If the broker fences the producer in a step, all further steps fail until `init`. */
  async function fenceAware<Result>(step: () => Promise<Result>): Promise<Result> {
    requireReady()
    try {
      return await step()
    } catch (error) {
      if (error instanceof FencedError && !(error instanceof MemberFenced)) status = 'fenced'
      throw error
    }
  }

  async function flushFull(member: GroupMember | undefined = confirming): Promise<void> {
    await fenceAware(async () => {
      if (phase.committing) return
      confirming = member
      for (const known of appenders.values()) known.sealLarge()
      await sender.drain()
    })
  }

  async function commit(offsets: ReadonlyMap<string, OffsetToCommit>, member: GroupMember | undefined): Promise<Map<string, number>> {
    if (offsets.size > 0 && member === undefined) {
      throw new TransportError('ILLEGAL_ARGUMENT', 'only a group member can commit offsets: pass the member', { fatal: true })
    }
    if (phase.committing) throw new Error('the producer is still committing the previous transaction')
    try {
      return await fenceAware(() => commitPending(offsets, member))
    } catch (error) {
      phase.committing = false
      for (const known of appenders.values()) known.stopHolding()
      throw error
    }
  }

  async function commitPending(
    offsets: ReadonlyMap<string, OffsetToCommit>,
    member: GroupMember | undefined,
  ): Promise<Map<string, number>> {
    const dirty = pending()
    for (const known of dirty) known.seal()
    phase.committing = true
    const withOffsets = offsets.size > 0 && member !== undefined
    if (transactions === undefined) {
      confirming = member
      await sender.drain()
      options.onCommitStep?.('produced')
      const next = await nextOffsets(dirty, endOffsets)
      if (withOffsets) await member.commit(offsets)
      finish()
      options.onCommitStep?.('offsets-added')
      options.onCommitStep?.('committed')
      return next
    }
    const produce = () => sender.drain().then(() => options.onCommitStep?.('produced'))
    const addOffsets = () =>
      (withOffsets ? transactions.addOffsets(id, offsets, member) : Promise.resolve()).then(() => options.onCommitStep?.('offsets-added'))
    if (transactions.isVersion2) {
      // In transaction version 2, brokers themselves report partitions and groups to the transaction coordinator. If a
      // broker still has an earlier report about the transaction in its queue, a new report replaces it, and the
      // request that caused the earlier report fails. The two steps therefore do not run in parallel.
      await produce()
      await addOffsets()
    } else {
      // The two steps run in parallel, and both must finish before EndTxn.
      const adding = addOffsets()
      adding.catch(() => sender.settle())
      const epochs = epochsOf(dirty)
      throwWorst(await Promise.allSettled([produce(), adding]))
      // The metadata of the offsets may contain leader epochs. If a leader has changed in the meantime, the offsets are
      // sent again.
      if (withOffsets && epochsOf(dirty) !== epochs) await transactions.addOffsets(id, offsets, member)
    }
    const next = await nextOffsets(dirty, endOffsets)
    if (transactions.isOpen) await end(transactions, 'commit')
    options.onCommitStep?.('committed')
    finish()
    return next
  }

  function finish(): void {
    phase.committing = false
    for (const known of appenders.values()) known.endTransaction()
  }

  /** Drops all records, including those that are held back for the next transaction. */
  function dropRecords(): void {
    phase.committing = false
    for (const known of appenders.values()) known.clear()
  }

  async function abort(): Promise<void> {
    await sender.settle()
    const uncertain = [...appenders.values()].some((known) => known.hasUnacknowledged)
    dropRecords()
    if (status !== 'ready') return
    try {
      if (uncertain) await takeIdentity()
      else if (transactions?.isOpen) await end(transactions, 'abort')
    } catch (error) {
      // A transaction that may still be open must not be committed together with later records. A producer without a
      // new identity stays `new`, because its epoch may have been raised.
      if (status === 'ready') status = 'fenced'
      if (!(error instanceof FencedError)) throw error
      // The broker has already aborted the transaction or refuses this producer. Either way, the broker commits
      // nothing.
      log.warn({ err: error, transactionalId }, 'kafka_abort_fenced')
    }
  }

  async function close(): Promise<void> {
    closing.abort()
    // Closes the sender and the transactions in parallel, because the sender's last step may wait for the transaction
    // to be opened.
    await Promise.all([sender.close(), transactions?.close()])
  }

  return {
    init,
    appender,
    get pendingBytes() {
      let bytes = 0
      for (const known of appenders.values()) bytes += known.pendingBytes
      return bytes
    },
    flushFull,
    commit,
    abort,
    close,
  }
}

/**
 * Returns the offset after the transaction's last record in each partition. If a broker did not return this offset, the
 * result is the end of the log, which may be higher.
 */
async function nextOffsets(
  dirty: readonly PartitionAppender[],
  endOffsets: (partitions: readonly TopicPartition[]) => Promise<Map<string, number>>,
): Promise<Map<string, number>> {
  const next = new Map<string, number>()
  const unknown: PartitionAppender[] = []
  for (const known of dirty) {
    if (known.nextOffset === undefined || known.nextOffset < 0) unknown.push(known)
    else next.set(known.key, known.nextOffset)
  }
  // The acknowledgement of a repeated batch (DUPLICATE_SEQUENCE_NUMBER) contains no offset. Because the log already
  // contains this batch, the end of the log is a safe upper bound for its offsets.
  if (unknown.length > 0) for (const [key, offset] of await endOffsets(unknown)) next.set(key, offset)
  return next
}

/**
 * Throws the most significant failure, if there is one. A FencedError takes precedence, because a fence explains all
 * other failures. A step that was stopped comes last, because the failure of the other step has stopped it.
 */
function throwWorst(steps: readonly PromiseSettledResult<void>[]): void {
  const reasons: unknown[] = steps.filter((step) => step.status === 'rejected').map((step) => step.reason)
  const isCause = (reason: unknown) => !(reason instanceof TransportError && reason.code === STOPPED)
  if (reasons.length > 0) throw reasons.find((reason) => reason instanceof FencedError) ?? reasons.find(isCause) ?? reasons[0]
}
