import { partitionKey, type TopicPartition } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import type { ViewPosition, ViewStore } from '../../../state/views/apply.ts'
import type { View } from '../../../state/views/view.ts'
import type { PartitionFacts, SinkBatch, SinkTarget, WriteResult } from './target.ts'

export interface ViewTargetOptions<K, V> {
  readonly view: View<K, V>
  /** All topics that feed the view. */
  readonly topics: readonly AnyTopic[]
}

export interface ViewTargetDeps {
  readonly store: ViewStore
  readonly runtime: Pick<Runtime, 'now' | 'log'>
}

interface FactsToCompare extends Pick<PartitionFacts, 'end' | 'isBeyondEnd'> {
  readonly topicId: string | undefined
  readonly retentionMs: number
}

/**
 * How far the time at which a view was last complete may be ahead of this machine's clock. If it is further ahead, it
 * comes from a wrong clock, so the view may have missed tombstones. Clocks that use NTP differ by less than a second.
 */
const MAX_AHEAD_MS = 3_600_000
/**
 * Limits of a batch. The script call for a batch of this size blocks the single thread of Redis for about a
 * millisecond.
 */
const LIMITS = { maxRecords: 500, maxBytes: 256 * 1024, lingerMs: 0 }
/** Interval between probes. The sink notices an emptied Redis within this time, even if the topic is idle. */
const PROBE_EVERY_MS = 1_000
/** How long changes are collected when no caller waits for them, so that they share a fetch and a script call. */
const COLLECT_MS = 20
/** Kafka's default for `delete.retention.ms`. */
const DELETE_RETENTION_MS = 24 * 3_600_000

/**
 * Writes records into a view. Each batch is one script call. The call either applies the batch and moves the offset, or
 * applies nothing. If it applies nothing because the view has lost data, it also removes the view's caught-up flag.
 */
export function viewTarget<K, V>({ view, topics }: ViewTargetOptions<K, V>, { store, runtime }: ViewTargetDeps): SinkTarget {
  const viewTopics = topics.map((topic) => topic.name)
  const retentions = new Map(topics.map((topic) => [topic.name, tombstoneRetentionMs(topic)]))

  const topicIds = new Map<string, string>()
  /**
   * For each partition of a topic, the last time (epoch ms) at which the view contained the whole log. A partition has
   * no entry while the view is built from it.
   */
  const completeAts = new Map<string, number>()

  async function open({ topic, partition }: TopicPartition, facts: PartitionFacts): Promise<number | undefined> {
    const { end, isBeyondEnd } = facts
    const topicId = facts.topicId === '' ? undefined : facts.topicId
    if (topicId !== undefined) topicIds.set(topic, topicId)
    const stored = await store.position(view.name, partition, topic)
    const key = partitionKey(topic, partition)
    completeAts.delete(key)
    if (stored === undefined) {
      await store.finishClearing(view.name, partition, view.keeps)
      return undefined
    }
    const reason = await reasonToClear(stored, { end, isBeyondEnd, topicId, retentionMs: retentions.get(topic)! })
    if (reason === undefined) {
      completeAts.set(key, stored.next >= end ? runtime.now() : stored.at)
      return stored.next
    }
    runtime.log.warn({ view: view.name, topic, partition, stored, end, reason }, 'sink_view_cleared')
    await store.clear(view.name, partition, topic, stored, view.keeps)
    return undefined
  }

  async function reasonToClear(stored: ViewPosition, { end, isBeyondEnd, topicId, retentionMs }: FactsToCompare) {
    if (stored.topicId !== undefined && topicId !== undefined && stored.topicId !== topicId) return 'topic_recreated'
    if (await isBeyondEnd(stored.next)) return 'ahead_of_log'
    // A view that has reached the end of the log has missed no tombstone. If the topic is not compacted, the retention
    // is infinite.
    if (stored.next >= end || !Number.isFinite(retentionMs)) return undefined
    const age = runtime.now() - stored.at
    if (age < -MAX_AHEAD_MS) return 'confirmed_in_future'
    return age > retentionMs ? 'missed_tombstones' : undefined
  }

  function prepare(given: SinkBatch): () => Promise<WriteResult> {
    const { records, expected, next, caughtUp, completeAt } = given
    const { topic, partition } = given.partition
    const known = records as readonly { readonly key: K; readonly value: V | null }[]
    const key = partitionKey(topic, partition)

    async function write(): Promise<WriteResult> {
      const operations = await operationsOf(partition, known)
      const topicId = topicIds.get(topic)
      const place = { view: view.name, partition, topic, topicId, viewTopics }
      const batch = { ...place, expected, next, operations, caughtUp, completeAt, now: runtime.now() }
      const result = await store.apply(batch)
      if (result.applied) return { outcome: 'applied' }
      // If the view is already at the new position, an earlier attempt was applied and only its answer was lost. For a
      // batch that does not move the offset, the position proves nothing.
      if (result.position === next && next !== expected) return { outcome: 'applied' }
      return { outcome: 'offset-mismatch' }
    }

    return async function applyToView() {
      // After a long outage, this batch or a later one may lack tombstones that compaction has removed in the meantime.
      // After this outcome, the sink opens the partition again, and `open` compares the view with the log.
      if (next !== expected && isOutdated(topic, key)) return { outcome: 'offset-mismatch' }
      const written = await write()
      if (written.outcome === 'applied' && completeAt !== undefined) completeAts.set(key, completeAt)
      return written
    }
  }

  function isOutdated(topic: string, key: string): boolean {
    return runtime.now() - (completeAts.get(key) ?? Number.POSITIVE_INFINITY) > retentions.get(topic)!
  }

  /**
   * Reads those values of the view on which the operations of a batch depend (`View.heldKey`), and computes the
   * operations. Another process may write to the view between this read and the script call. In that case the view is
   * at a different position, so the script call applies no operation.
   */
  async function operationsOf(partition: number, records: readonly { readonly key: K; readonly value: V | null }[]) {
    const now = runtime.now()
    const keys = records.map(({ key, value }) => view.heldKey?.(partition, key, value))
    const wanted = [...new Set(keys.filter((key) => key !== undefined))]
    const held = new Map<string, string | null>()
    if (wanted.length > 0) {
      const found = await store.read(wanted)
      for (const [index, key] of wanted.entries()) held.set(key, found[index])
    }
    return records.flatMap(({ key, value }, index) => {
      const heldKey = keys[index]
      const operations = view.operationsFor(partition, key, value, { held: (heldKey && held.get(heldKey)) ?? null, now })
      for (const operation of operations) {
        if (operation.op === 'set' && held.has(operation.key)) held.set(operation.key, String(operation.value))
        else if (operation.op === 'del' && held.has(operation.key)) held.set(operation.key, null)
      }
      return operations
    })
  }

  return {
    name: `view ${view.name}`,
    limits: LIMITS,
    collectMs: view.isAwaited ? 0 : COLLECT_MS,
    probeEveryMs: PROBE_EVERY_MS,
    needsEqualPartitions: true,
    neededMs: view.neededMs,
    open,
    prepare,
  }
}

/**
 * Returns how long a view may stay behind its topic. After that, the view may have missed tombstones that compaction
 * has removed. For topics that are not compacted, the result is Infinity.
 */
function tombstoneRetentionMs({ config }: AnyTopic): number {
  if (!config?.['cleanup.policy']?.includes('compact')) return Number.POSITIVE_INFINITY
  return Number(config['delete.retention.ms'] ?? DELETE_RETENTION_MS)
}
