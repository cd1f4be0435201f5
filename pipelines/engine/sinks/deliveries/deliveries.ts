import type { TopicPartition, Transport } from '../../../../kafka/transport.ts'
import { DAY_MS, HOUR_MS, keptFor } from '../../../../schemas/retention.ts'
import { type AnyTopic, LARGE_RECORDS } from '../../../../schemas/topic.ts'
import { laneTools } from '../lane-tools.ts'
import type { SinkKind, SinkParts } from '../sink-kind.ts'
import { type DeliveryCounts, deliveryCounts } from './counts.ts'
import { type Courier, courier } from './courier.ts'
import type { DeliveryTarget } from './delivery.ts'
import { openDeliveryLane } from './lane.ts'
import { RETRY_STEPS } from './retry-schedule.ts'
import { deliverySlots } from './slots.ts'

/**
 * Shortest time between two commits. After a crash, the deliveries since the last commit are repeated. Receivers
 * tolerate repetitions, so a commit may wait for a moment to include more offsets.
 */
const COMMIT_EVERY_MS = 20
/**
 * How many partitions the retry topic has for each pause length in production. Only one process reads a partition, so
 * this number limits how many processes can share the retries with the same pause.
 */
const PRODUCTION_PARTITIONS_PER_STEP = 4
/**
 * Retention of the retry topic. By default, records are retried for only a day. The longer retention leaves time to
 * repair a stopped sink without losing records.
 */
const RETRIES_KEPT_MS = 7 * DAY_MS

export interface DeliveryStatus extends Readonly<DeliveryCounts> {
  /** Number of deliveries in progress. */
  readonly running: number
}

/** A sink that delivers single records. */
export interface DeliveringSink extends SinkKind {
  status(): DeliveryStatus
}

/** Returns the topic in which failed records of a sink wait; see retry-schedule.ts. */
export function retryTopic(sink: string, source: AnyTopic): AnyTopic {
  return {
    name: `${sink}-retries`,
    key: source.key,
    value: source.value,
    partitions: RETRY_STEPS,
    productionPartitions: RETRY_STEPS * PRODUCTION_PARTITIONS_PER_STEP,
    config: { ...keptFor(RETRIES_KEPT_MS, HOUR_MS), ...LARGE_RECORDS },
  }
}

/**
 * Describes a sink that delivers the records of a topic.
 * @throws Error if there is not exactly one topic. The retry topic needs a single source topic, because its records
 * have the formats of that topic
 */
export function deliveries(name: string, topics: readonly AnyTopic[], target: DeliveryTarget, transport: Transport): DeliveringSink {
  const [source] = topics
  if (topics.length !== 1)
    throw new Error(`sink ${name}: ${target.name} delivers the records of exactly one topic, but the sink has ${topics.length} topics`)
  const retries = retryTopic(name, source)
  const counts = deliveryCounts()
  const slots = deliverySlots(target.concurrency)
  let retryPartitions = retries.partitions
  let open: Courier | undefined

  async function prepareTopics(): Promise<void> {
    const all = [source, retries]
    const existing = await transport.partitionCounts(all.map((topic) => topic.name))
    const missing = all.filter((topic) => !existing.has(topic.name))
    await transport.ensureTopics(missing.map((topic) => ({ name: topic.name, partitions: topic.partitions, config: topic.config })))
    retryPartitions = existing.get(retries.name) ?? retries.partitions
  }

  function lanes({ fetcher, metrics, runtime, deadLetters, ...connections }: SinkParts) {
    // Records in the retry topic have the keys and values of the original records, so they also have the same schemas.
    const tools = laneTools(connections)(source)
    const taking = courier({
      target,
      transport,
      retryTopic: retries.name,
      retryPartitions: () => retryPartitions,
      deadLetters,
      counts,
      runtime,
    })
    open = taking
    const shared = { ...tools, courier: taking, slots, fetcher, metrics, commitEveryMs: COMMIT_EVERY_MS, runtime }
    return (partition: TopicPartition) => openDeliveryLane(partition, { ...shared, isRetry: partition.topic === retries.name })
  }

  return {
    topics: [source, retries],
    confirmsOwnership: true,
    collectMs: 0,
    commitEveryMs: COMMIT_EVERY_MS,
    prepareTopics,
    lanes,
    close: async () => open?.close(),
    status: () => ({ ...counts, running: slots.running }),
  }
}
