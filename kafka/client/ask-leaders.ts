import { partitionKey, type TopicPartition, TransportError } from '../transport.ts'
import { type Cluster, REFUSALS_OF_OUTDATED } from './cluster.ts'
import type { Broker } from './connections.ts'
import { classify, Disconnected, errorName, fatal, throwIfClosed } from './errors.ts'
import type { Context } from './options.ts'
import type { Connection } from './protocol.ts'
import { backoff } from './retry.ts'

const LEADER_WAIT_MS = 20

/** A leader's answer for one partition. */
export interface LeaderAnswer {
  readonly errorCode: number
  readonly offset: number
}

/** Sends a broker one request for all of the given partitions. Returns the answers, keyed by `partitionKey`. */
export type AskLeader<Asked> = (connection: Connection, asked: readonly Asked[]) => Promise<Map<string, LeaderAnswer>>

/**
 * Asks the leader of each partition for an offset. Repeats the requests until every offset is known or the delivery
 * timeout has passed.
 * @param doing describes the request in error messages
 * @param signal ends the repetition
 * @returns the offsets, keyed by `partitionKey`
 * @throws a fatal TransportError when a broker refuses a request; TransportError with code TIMED_OUT after the delivery
 * timeout, or CLOSED when `signal` fires
 */
export async function askLeaders<Asked extends TopicPartition>(
  context: Context,
  cluster: Cluster,
  partitions: readonly Asked[],
  doing: string,
  askOne: AskLeader<Asked>,
  signal: AbortSignal = context.closing,
): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  if (partitions.length === 0) return found
  const topics = [...new Set(partitions.map(({ topic }) => topic))]
  const wanted = new Set(partitions.map(({ topic, partition }) => partitionKey(topic, partition)))
  const retry = backoff(context, LEADER_WAIT_MS)
  const deadline = context.runtime.monotonic() + context.options.deliveryTimeoutMs
  let lastReason = 'no leader'
  /** Number of requests that a leader has refused or not answered. */
  let refusals = 0

  /**
   * Asks one broker for the offsets of the given partitions.
   * @returns why one of these offsets is still missing; undefined when the broker has returned all of them
   */
  async function askBroker(broker: Broker, asked: readonly Asked[]): Promise<string | undefined> {
    let missing: string | undefined
    let isRefused = false
    try {
      const answers = await askOne(await cluster.connectionTo(broker), asked)
      for (const [key, { errorCode, offset }] of answers) {
        const reason = errorName(errorCode)
        if (reason === 'NONE') found.set(key, offset)
        // Like the Java client, this client asks again after UNKNOWN_SERVER_ERROR.
        else if (classify(reason) === 'fatal' && reason !== 'UNKNOWN_SERVER_ERROR') throw fatal(reason, `${doing} of ${key}`)
        else missing = reason
        if (classify(reason) === 'stale-leader') isRefused = true
      }
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error
      missing = error.message
      isRefused = true
    }
    if (isRefused && ++refusals >= REFUSALS_OF_OUTDATED) cluster.distrust()
    return missing
  }

  for (;;) {
    try {
      await cluster.refresh(topics)
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error
      lastReason = error.message
    }
    const missing = partitions.filter(({ topic, partition }) => !found.has(partitionKey(topic, partition)))
    const byLeader = Map.groupBy(missing, ({ topic, partition }) => cluster.leader(topic, partition)?.broker)
    const reasons = await Promise.all([...byLeader].map(([broker, asked]) => broker && askBroker(broker, asked)))
    if (found.size === wanted.size) return found
    lastReason = reasons.find((reason) => reason !== undefined) ?? lastReason
    throwIfClosed(signal)
    if (context.runtime.monotonic() > deadline) {
      const names = missing.map(({ topic, partition }) => partitionKey(topic, partition)).join(', ')
      throw new TransportError('TIMED_OUT', `${doing} of ${names}: still no answer at the deadline (${lastReason})`, { fatal: false })
    }
    await retry.wait(signal)
  }
}
