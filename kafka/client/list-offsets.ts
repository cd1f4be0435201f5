import { partitionKey, type TopicPartition, TransportError } from '../transport.ts'
import type { Cluster } from './cluster.ts'
import { ask, type Broker } from './connections.ts'
import { classify, Disconnected, errorName, fatal, throwIfClosed } from './errors.ts'
import type { Context } from './options.ts'
import { listOffsetsV9 } from './protocol.ts'
import { backoff } from './retry.ts'

const TIMESTAMPS = { earliest: -2n, end: -1n } as const
const NOT_A_FOLLOWER = -1
/** The broker accepts it instead of the leader's epoch. */
const UNKNOWN_EPOCH = -1
/**
 * Isolation level that returns the high watermark. With level 1 the broker would return the last stable offset, and a
 * restore would miss the last commit.
 */
const READ_UNCOMMITTED = 0
const LEADER_WAIT_MS = 20

/**
 * Returns the log start or the high watermark of every partition. Repeats the requests until all leaders have answered.
 */
export async function listOffsets(
  context: Context,
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  at: keyof typeof TIMESTAMPS,
  signal: AbortSignal = context.closing,
): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  const topics = [...new Set(partitions.map(({ topic }) => topic))]
  const retry = backoff(context, LEADER_WAIT_MS)
  const deadline = context.runtime.monotonic() + context.options.deliveryTimeoutMs
  let lastReason = 'no leader'
  for (;;) {
    try {
      await cluster.refresh(topics)
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error
      lastReason = error.message
    }
    const missing = partitions.filter(({ topic, partition }) => !found.has(partitionKey(topic, partition)))
    const byLeader = Map.groupBy(missing, ({ topic, partition }) => cluster.leader(topic, partition)?.broker)
    const reasons = await Promise.all([...byLeader].map(([broker, asked]) => broker && askLeader(cluster, broker, asked, at, found)))
    if (found.size === new Set(partitions.map(({ topic, partition }) => partitionKey(topic, partition))).size) return found
    lastReason = reasons.find((reason) => reason !== undefined) ?? lastReason
    throwIfClosed(signal)
    if (context.runtime.monotonic() > deadline) {
      const names = missing.map(({ topic, partition }) => partitionKey(topic, partition)).join(', ')
      throw new TransportError('TIMED_OUT', `offsets of ${names}: still no answer at the deadline (${lastReason})`, { fatal: false })
    }
    await retry.wait(signal)
  }
}

/** @returns the reason why an offset is still missing; undefined when none is */
async function askLeader(
  cluster: Cluster,
  broker: Broker,
  asked: readonly TopicPartition[],
  at: keyof typeof TIMESTAMPS,
  found: Map<string, number>,
): Promise<string | undefined> {
  const topics = Map.groupBy(asked, ({ topic }) => topic)
  let missing: string | undefined
  try {
    const connection = await cluster.connectionTo(broker)
    const answer = await ask(
      connection,
      listOffsetsV9.api,
      NOT_A_FOLLOWER,
      READ_UNCOMMITTED,
      [...topics].map(([name, entries]) => ({
        name,
        partitions: entries.map(({ partition }) => ({
          partitionIndex: partition,
          currentLeaderEpoch: cluster.leader(name, partition)?.epoch ?? UNKNOWN_EPOCH,
          timestamp: TIMESTAMPS[at],
        })),
      })),
    )
    for (const { name, partitions } of answer.topics) {
      for (const { partitionIndex, errorCode, offset } of partitions) {
        const reason = errorName(errorCode)
        if (reason === 'NONE') found.set(partitionKey(name, partitionIndex), Number(offset))
        else if (classify(reason) === 'fatal') throw fatal(reason, `offsets of ${partitionKey(name, partitionIndex)}`)
        else missing = reason
      }
    }
  } catch (error) {
    if (!(error instanceof Disconnected)) throw error
    missing = error.message
  }
  return missing
}
