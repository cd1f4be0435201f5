import { setTimeout as delay } from 'node:timers/promises'
import { Admin, alterPartitionReassignmentsV0, Connection, metadataV12 } from '@platformatic/kafka'

const INTERNAL = ['__consumer_offsets', '__transaction_state']
const REQUEST_TIMEOUT_MS = 20_000
const RETRY_MS = 500
const DEADLINE_MS = 60_000

/**
 * Moves all partitions of the topics with a prefix, and of the coordinators' topics, to one broker. Repeats the request
 * for up to a minute, until it succeeds.
 */
export function movePartitions(brokers: string, prefix: string, node: number): Promise<void> {
  return patiently(() => reassign(brokers, prefix, () => [node]))
}

/**
 * Makes one broker the preferred leader of all partitions of the topics with a prefix, and of the coordinators' topics.
 * Replicas do not move.
 */
export function leadPartitions(brokers: string, prefix: string, node: number): Promise<void> {
  return patiently(() => reassign(brokers, prefix, (replicas) => [node, ...replicas.filter((other) => other !== node)]))
}

/** Adds partitions to a topic until it has `count` partitions. Does nothing if it has that many or more already. */
export function growTopic(brokers: string, name: string, count: number): Promise<void> {
  return patiently(async () => {
    const admin = new Admin({ clientId: 'chaos', bootstrapBrokers: [brokers], retries: 0 })
    try {
      const [topic] = (await admin.metadata({ topics: [name], forceUpdate: true })).topics.values()
      if (topic.partitionsCount < count) await admin.createPartitions({ topics: [{ name, count, assignments: null }] })
    } finally {
      await admin.close()
    }
  })
}

async function patiently(ask: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (performance.now() > deadline) throw error
      await delay(RETRY_MS)
    }
  }
}

async function reassign(brokers: string, prefix: string, replicasFor: (replicas: readonly number[]) => number[]): Promise<void> {
  const admin = new Admin({ clientId: 'chaos', bootstrapBrokers: [brokers], retries: 0 })
  const connection = new Connection('chaos', { requestTimeout: REQUEST_TIMEOUT_MS })
  try {
    const topics = (await admin.listTopics({ includeInternals: true })).filter((name) => name.startsWith(prefix) || INTERNAL.includes(name))
    const [host, port] = brokers.split(':')
    await connection.connect(host, Number(port))
    // The client's own metadata omits internal topics.
    const known = (await metadataV12.api.async(connection, topics, false, false)).topics
    const moves = known.map(({ name, partitions }) => ({
      name: name as string,
      partitions: partitions.map(({ partitionIndex, replicaNodes }) => ({ partitionIndex, replicas: replicasFor(replicaNodes) })),
    }))
    await alterPartitionReassignmentsV0.api.async(connection, REQUEST_TIMEOUT_MS, false, moves)
  } finally {
    await connection.close()
    await admin.close()
  }
}
