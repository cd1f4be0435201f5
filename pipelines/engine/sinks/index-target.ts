import { partitionKey, type TopicPartition } from '../../../kafka/transport.ts'
import type { Index } from '../../../state/indexes/search-index.ts'
import { type DocumentChange, INDEX_GONE, type IndexWriter, POSITION_MOVED, type PositionStamp } from '../../../state/indexes/writer.ts'
import { type PartitionFacts, type SinkBatch, type SinkTarget, TargetUnavailableError, type WriteResult } from './target.ts'

/** Determines which index of the search server the target writes to. */
export interface IndexPlace {
  /**
   * True if searches use the index. Such an index contains a position for every partition, so a missing position means
   * that the index has lost its data. The sink must not refill such an index in place, because searches would show
   * incomplete results.
   */
  readonly isSearched?: boolean
  /**
   * Returns the writer of the index that the sink currently fills.
   * @throws TargetUnavailableError when there is none at the moment; any other error stops the sink
   */
  writer(): Promise<IndexWriter>
  /** Returns false if the sink should now write to a different index. */
  isStill(writer: IndexWriter): Promise<boolean>
  /** Called when the server has refused a request because the index no longer exists or belongs to another process. */
  onLost?(): void
}

/**
 * Limits of a batch. 1,000 documents are about a megabyte. The server indexes them in 50 ms. Changes appear in searches
 * only after the server's next refresh, up to a second later, so a batch can wait for further changes without much
 * harm. Small batches are expensive: each batch costs two fsyncs, so 200 changes/s in batches of 20 would take half a
 * core.
 */
const LIMITS = { maxRecords: 2_000, maxBytes: 4 * 1024 * 1024, lingerMs: 250 }
/**
 * Interval at which an idle partition checks whether its index has been replaced. The first checks after a start of the
 * search server take 4 to 8 ms of CPU time each, because the server has not compiled their code yet. A partition with
 * changes needs no checks, because the server refuses writes to a replaced index.
 */
const PROBE_EVERY_MS = 5_000
/** A position beyond the end of every topic. The keeper replaces an index that has such a position. */
const BEYOND_EVERY_END = Number.MAX_SAFE_INTEGER

/** The position of one partition in an index, and the writer that stores it. */
interface OpenPartition {
  readonly writer: IndexWriter
  readonly topicId: string
  /** The stamp of the stored position; undefined while the index contains no position of the partition. */
  stamp: PositionStamp | undefined
}

/**
 * Copies a topic into an index: one document per key, with the record's offset as its version. A repeated or late write
 * therefore changes nothing. After each acknowledged batch, the sink stores its position, unless another process has
 * stored one in the meantime. The sink therefore notices when it has lost the partition. An empty index contains no
 * position, so the sink does not continue in the middle of the topic.
 */
export function indexTarget<K, V>(index: Index<K, V>, place: IndexPlace): SinkTarget {
  const open = new Map<string, OpenPartition>()

  async function openPartition({ topic, partition }: TopicPartition, { end, topicId }: PartitionFacts): Promise<number | undefined> {
    const writer = await place.writer()
    const stored = await writer.position(topic, partition)
    if (stored === INDEX_GONE) place.onLost?.()
    if (stored === INDEX_GONE) throw new TargetUnavailableError(`index ${index.name} has just been replaced`)
    if (stored === undefined && place.isSearched) {
      throw new TargetUnavailableError(`index ${index.name} has lost its data; the sink waits until it is rebuilt`)
    }
    open.set(partitionKey(topic, partition), { writer, topicId, stamp: stored?.stamp })
    if (stored === undefined) return undefined
    if (stored.topicId !== topicId || stored.next > end) {
      throw new TargetUnavailableError(
        `index ${index.name} contains records that are not in topic ${topic}, which was recreated or has lost records; the sink waits until the index is rebuilt`,
      )
    }
    return stored.next
  }

  function prepare(batch: SinkBatch): () => Promise<WriteResult> {
    const changes = batch.records.map((record) => changeOf(index, record.key as K, record.value as V | null, record.offset))
    return () => apply(batch, changes)
  }

  async function apply(batch: SinkBatch, changes: readonly DocumentChange[]): Promise<WriteResult> {
    const { topic, partition } = batch.partition
    const target = open.get(partitionKey(topic, partition)) as OpenPartition
    if (batch.records.some(({ offset }) => offset < (batch.expected ?? 0))) return await giveUp(batch, target)
    if (changes.length === 0 && !(await place.isStill(target.writer))) return { outcome: 'offset-mismatch' }
    if (changes.length > 0) {
      const refused = await target.writer.write(changes)
      if (refused === INDEX_GONE) return lost()
      if (refused.length > 0) await batch.refuse?.(refused)
    }
    if (batch.next === batch.expected) return { outcome: 'applied' }
    return storePosition(batch, target)
  }

  async function storePosition({ partition: { topic, partition }, next }: SinkBatch, target: OpenPartition): Promise<WriteResult> {
    const stamp = await target.writer.putPosition({ topic, partition, topicId: target.topicId, next }, target.stamp)
    // This sink may have stored the position itself, in a request whose response was lost. Reading then continues from
    // the stored position and repeats nothing.
    if (stamp === POSITION_MOVED) return { outcome: 'offset-mismatch' }
    if (stamp === INDEX_GONE) return lost()
    target.stamp = stamp
    return { outcome: 'applied' }
  }

  /**
   * Called when the topic has lost records that the index contains, so that new records have the same offsets. The
   * index would ignore the new records, because their versions are too low. The stored position makes the keeper
   * replace the index. If searches do not use the index yet, the sink stops, because it cannot continue to fill this
   * index.
   */
  async function giveUp(batch: SinkBatch, target: OpenPartition): Promise<WriteResult> {
    const result = await storePosition({ ...batch, next: BEYOND_EVERY_END }, target)
    if (!place.isSearched) throw new Error(`topic ${batch.partition.topic} has lost records while index ${index.name} was filled from it`)
    return result.outcome === 'applied' ? { outcome: 'offset-mismatch' } : result
  }

  function lost(): WriteResult {
    place.onLost?.()
    return { outcome: 'offset-mismatch' }
  }

  return { name: `index ${index.name}`, limits: LIMITS, probeEveryMs: PROBE_EVERY_MS, open: openPartition, prepare }
}

function changeOf<K, V>(index: Index<K, V>, key: K, value: V | null, offset: number): DocumentChange {
  const document = value === null ? null : index.documentOf(key, value)
  return { id: String(key), version: offset, source: document === null ? null : JSON.stringify(document) }
}
