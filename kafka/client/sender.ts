import { FencedError, TransportError } from '../transport.ts'
import type { PartitionAppender, ProducerIdentity, SentBatch } from './appender.ts'
import { type Cluster, REFUSALS_OF_OUTDATED } from './cluster.ts'
import { type Broker, openConnections } from './connections.ts'
import { classify, Disconnected, untilClosed } from './errors.ts'
import type { Context } from './options.ts'
import { NOT_REPLICATED, outcomeOf, type ProducedPartition, type ProduceTarget, produce, REQUEST_LIMIT_BYTES } from './produce-request.ts'
import type { Connection } from './protocol.ts'

/** How long the broker waits for its replicas before it answers REQUEST_TIMED_OUT and the batch is sent again. */
const REPLICATION_TIMEOUT_MS = 10_000
/**
 * First wait before a retry. It is short because the broker error "Unable to verify the partition has been added to the
 * transaction" disappears within milliseconds.
 */
const FIRST_RETRY_MS = 3
const LONGEST_RETRY_MS = 1_000
/** The reason for a retry when the metadata names no leader. */
const NO_LEADER = 'LEADER_NOT_AVAILABLE'

/** Error code of a `drain` that `settle` has stopped. */
export const STOPPED = 'STOPPED'

/** Data and callbacks that the producer provides to its sender. */
export interface SenderHooks {
  identity(): ProducerIdentity
  target(): ProduceTarget
  appenders(): Iterable<PartitionAppender>
  /**
   * Called before batches are sent. Adds all partitions with records to the transaction. Without a transaction,
   * confirms the group membership instead.
   */
  admit(): Promise<void>
  /** Confirms the group membership if there is no transaction. */
  confirm(): Promise<void>
}

/**
 * Sends ready batches to their leaders, in order within each partition, until all are acknowledged or one has failed.
 */
export function openSender(context: Context, cluster: Cluster, hooks: SenderHooks) {
  const { options, runtime } = context
  const { log } = runtime
  const connections = openConnections(context)
  const underWay = new Set<Promise<void>>()
  let draining: Promise<void> | undefined
  let failure: Error | undefined
  let stopping = new AbortController()

  /** Sends everything that is ready, including batches that become ready in the meantime. */
  async function drain(): Promise<void> {
    // A loop that is about to end may miss batches that have just become ready, so the condition is checked again after
    // the loop.
    do {
      draining ??= loop().finally(() => {
        draining = undefined
      })
      await draining
    } while (withWork().length > 0)
  }

  function withWork(): PartitionAppender[] {
    return [...hooks.appenders()].filter((appender) => appender.hasWork)
  }

  async function loop(): Promise<void> {
    failure = undefined
    stopping = new AbortController()
    try {
      for (let waiting = withWork(); waiting.length > 0; waiting = withWork()) {
        await hooks.admit()
        if (isOver()) break
        // While `admit` waited, the last batch of a partition may have been acknowledged.
        await sendDue(waiting.filter((appender) => appender.hasWork && !appender.inFlight))
        if (underWay.size > 0) await Promise.race(underWay)
        else await untilRetry(waiting)
        if (isOver()) break
      }
    } catch (error) {
      failure ??= error as Error
    }
    await Promise.all(underWay)
    if (failure !== undefined) throw failure
    // Without an error, the caller would treat unacknowledged records as acknowledged.
    if (stopping.signal.aborted)
      throw new TransportError(STOPPED, 'sending was stopped before all records were acknowledged', { fatal: false })
  }

  function isOver(): boolean {
    return failure !== undefined || stopping.signal.aborted
  }

  async function sendDue(idle: readonly PartitionAppender[]): Promise<void> {
    const now = runtime.monotonic()
    const due = idle.filter((appender) => appender.retryAt <= now)
    if (due.some(({ topic, partition, leaderLost }) => leaderLost || cluster.leader(topic, partition) === undefined)) {
      await refresh(due).catch((error) => {
        if (!(error instanceof Disconnected)) failure = error
      })
      if (stopping.signal.aborted) return
      // The last confirmation of the membership may have expired during the refresh.
      await hooks.confirm()
      if (stopping.signal.aborted) return
    }
    for (const [broker, appenders] of Map.groupBy(due, ({ topic, partition }) => cluster.leader(topic, partition)?.broker)) {
      if (broker !== undefined) sendTo(broker, appenders)
      else for (const appender of appenders) postpone(appender, NO_LEADER)
    }
  }

  /** Refreshes the metadata of these partitions. Ends early if sending is stopped. */
  async function refresh(appenders: readonly PartitionAppender[]): Promise<void> {
    const { signal } = stopping
    const refreshed = cluster.refresh([...new Set(appenders.map(({ topic }) => topic))])
    await untilClosed(refreshed, signal).catch((error) => {
      if (!signal.aborted) throw error
    })
  }

  /** Sends batches to a leader. If they exceed the size limit of a request, they are split across several requests. */
  function sendTo(broker: Broker, appenders: readonly PartitionAppender[]): void {
    const identity = hooks.identity()
    let request: Entry[] = []
    let bytes = 0
    for (const appender of appenders) {
      const batch = appender.take(identity)
      if (bytes > 0 && bytes + batch.bytes.length > REQUEST_LIMIT_BYTES) {
        track(exchange(broker, request))
        request = []
        bytes = 0
      }
      appender.inFlight = true
      request.push({ appender, batch })
      bytes += batch.bytes.length
    }
    if (request.length > 0) track(exchange(broker, request))
  }

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => underWay.delete(tracked))
    underWay.add(tracked)
  }

  async function exchange(broker: Broker, request: readonly Entry[]): Promise<void> {
    let answers: ReadonlyMap<string, ProducedPartition> = new Map()
    try {
      const connection = connections.established(broker) ?? (await reconnect(broker, request))
      answers = await produce(
        connection,
        hooks.target(),
        REPLICATION_TIMEOUT_MS,
        request.map(({ appender, batch }) => ({ topic: appender.topic, partition: appender.partition, batch: batch.bytes })),
      )
    } catch (error) {
      if (!(error instanceof Disconnected)) failure ??= error as Error
    }
    for (const { appender } of request) {
      appender.inFlight = false
      settleOne(appender, answers.get(appender.key))
    }
  }

  /**
   * Opens the connection again and refreshes the leaders' epochs, since a broker that restarted may lead the same
   * partitions in a new epoch. Afterwards confirms the membership again, because the last confirmation may have expired
   * during these steps.
   */
  async function reconnect(broker: Broker, request: readonly Entry[]): Promise<Connection> {
    const connection = await connections.get(broker)
    await refresh(request.map(({ appender }) => appender))
    await hooks.confirm()
    return connection
  }

  function settleOne(appender: PartitionAppender, answer: ProducedPartition | undefined): void {
    const doing = `produce to ${appender.key}`
    const outcome = outcomeOf(doing, answer)
    if (outcome.kind === 'appended') acknowledge(appender, outcome.baseOffset ?? -1, doing)
    else if (outcome.kind === 'out-of-sequence') failure ??= new FencedError(`${doing}: the broker answered ${outcome.reason}`)
    else if (outcome.kind === 'refused') failure ??= outcome.error
    else {
      const { topic, partition } = appender
      log.debug({ topic, partition, reason: outcome.reason, detail: answer?.errorMessage }, 'kafka_produce_retried')
      postpone(appender, outcome.reason)
    }
  }

  /**
   * Handles an acknowledgement. If its offset is below the known end of the log, an unclean leader election has removed
   * acknowledged records from the log. The transaction must then not be committed, because the worker's state may be
   * ahead of its changelog.
   */
  function acknowledge(appender: PartitionAppender, baseOffset: number, doing: string): void {
    if (appender.isBelowLogEnd(baseOffset)) {
      log.error({ topic: appender.topic, partition: appender.partition, base_offset: baseOffset }, 'kafka_log_truncated')
      failure ??= new FencedError(
        `${doing}: the log has lost acknowledged records: the broker appended this batch at offset ${baseOffset}, below the known end of the log`,
      )
    }
    appender.acknowledge(baseOffset)
  }

  function postpone(appender: PartitionAppender, reason: string): void {
    const now = runtime.monotonic()
    appender.troubledSince ??= now
    appender.leaderLost = classify(reason) === 'stale-leader' || reason === 'NETWORK_EXCEPTION' || reason === NOT_REPLICATED
    const isOften = appender.attempts >= REFUSALS_OF_OUTDATED
    if (reason === NOT_REPLICATED || (appender.leaderLost && reason !== NO_LEADER && isOften)) cluster.distrust()
    if (now - appender.troubledSince > options.deliveryTimeoutMs) {
      failure ??= new TransportError(reason, `produce to ${appender.key}: still ${reason} after ${options.deliveryTimeoutMs} ms`, {
        fatal: false,
      })
      return
    }
    const wait = Math.min(FIRST_RETRY_MS * 2 ** Math.min(appender.attempts++, 10), LONGEST_RETRY_MS)
    appender.retryAt = now + wait * (0.9 + 0.2 * runtime.random())
  }

  async function untilRetry(waiting: readonly PartitionAppender[]): Promise<void> {
    const next = Math.min(...waiting.map(({ retryAt }) => retryAt))
    const wait = next - runtime.monotonic()
    if (wait > 0) await runtime.sleep(wait, stopping.signal)
  }

  /** Stops sending. Resolves when no request is in flight. Failed requests are not sent again. */
  async function settle(): Promise<void> {
    stopping.abort()
    await Promise.all(underWay)
    await draining?.catch(() => {})
  }

  async function close(): Promise<void> {
    stopping.abort()
    await connections.close()
    await settle()
  }

  return { drain, settle, close }
}

interface Entry {
  readonly appender: PartitionAppender
  readonly batch: SentBatch
}
