import type { Topic } from '../../schemas/topic.ts'
import type { ReadinessProbe } from './readiness.ts'
import { recordApplier, recordValue } from './record-values.ts'
import { openValues, type SnapshotTablesOptions } from './snapshots/open-values.ts'
import { topicContents } from './topic-contents.ts'

/** A position in a topic. */
export interface FeedPosition {
  /** The offset of the next record in each partition. */
  readonly offsets: ReadonlyMap<number, number>
  /** The leader epochs of the offsets; see `TopicFollower.epochs`. */
  readonly epochs?: ReadonlyMap<number, number>
  /** The id of the topic that the offsets belong to; undefined before it is known. */
  readonly topicId: string | undefined
  /** When the topic had been read up to the offsets, in monotonic ms. Default: now. */
  readonly readAt?: number
}

/** Passes every record of a compacted topic to a service. The service keeps the values in its own form. */
export interface TopicFeed {
  /**
   * Reports the feed as not ready while it has not yet read the topic up to the end that the topic had at the start.
   */
  readonly probe: ReadinessProbe
  /**
   * Whether the values agree with the topic. False until the topic has been read to its end, and while it is read again
   * from its beginning.
   */
  readonly isCurrent: boolean
  readonly position: FeedPosition
  /** When the partition that has been silent the longest last responded; see `TopicFollower.heardAt`. */
  readonly heardAt: number | undefined
  close(): Promise<void>
}

type ApplyValue<K, V> = (key: K, value: V | undefined, replaces: boolean) => void

/**
 * Opens a feed of a topic. The keys are bigints or strings.
 * @param apply called with each value in log order, and with undefined for a deleted key. If the topic is read again
 * from its beginning, for example because it was deleted and created again, `replaces` is true for the first value of a
 * held key: the new value must replace the held value, even if the new value looks older.
 * @param held returns the keys for which the service has a value. After the topic was read again, `apply` is called
 * with undefined for each of these keys that the topic does not contain.
 * @param from the position up to which the service already has the values. Reading continues there. Default: the
 * beginning
 */
export type OpenTopicFeed = <K extends bigint | string, V>(
  topic: Topic<K, V>,
  apply: ApplyValue<K, V>,
  held: () => Iterable<K>,
  from?: FeedPosition,
) => Promise<TopicFeed>

/** Poll timeout. A poll returns earlier if records arrive. */
const POLL_MS = 5_000

/** Creates the function that the services of a process use to open their feeds. */
export function topicFeedOpener(options: Pick<SnapshotTablesOptions, 'transport' | 'registry' | 'log' | 'monotonic'>): OpenTopicFeed {
  return async function openTopicFeed<K extends bigint | string, V>(
    topic: Topic<K, V>,
    apply: ApplyValue<K, V>,
    held: () => Iterable<K>,
    from?: FeedPosition,
  ): Promise<TopicFeed> {
    const { transport, log, monotonic } = options
    const { values, loadSchema } = await openValues(options, topic)
    const applier = recordApplier<readonly [K, V | undefined]>({
      topic: topic.name,
      log,
      loadSchema,
      decode: (chunk, index) => [
        topic.key.decode(chunk.buffer, chunk.keyStart[index], chunk.keyEnd[index]),
        recordValue(values, chunk, index),
      ],
      apply([key, value]) {
        apply(key, value, contents.seen(key))
      },
    })
    const contents = topicContents<K>({
      transport,
      topic: topic.name,
      log,
      monotonic,
      pollMs: POLL_MS,
      from: from?.offsets,
      fromEpochs: from?.epochs,
      fromTopicId: from?.topicId,
      fromAt: from?.readAt,
      apply: applier,
      held,
      remove: (key) => apply(key, undefined, true),
    })
    return {
      probe: { name: `feed ${topic.name}`, check: async () => contents.missing },
      get isCurrent() {
        return contents.isCurrent
      },
      get position() {
        return contents.position
      },
      get heardAt() {
        return contents.heardAt
      },
      close: contents.close,
    }
  }
}
