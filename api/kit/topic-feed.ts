import type { Topic } from '../../schemas/topic.ts'
import type { ReadinessProbe } from './readiness.ts'
import { recordApplier, recordValue } from './record-values.ts'
import { openValues, type SnapshotTablesOptions } from './snapshots/open-values.ts'
import { topicContents } from './topic-contents.ts'

/** Passes every record of a compacted topic to a service. The service keeps the values in its own form. */
export interface TopicFeed {
  /**
   * Reports the feed as not ready while it has not yet read the topic up to the end that the topic had at the start.
   */
  readonly probe: ReadinessProbe
  close(): Promise<void>
}

type ApplyValue<K, V> = (key: K, value: V | undefined, replaces: boolean) => void

/**
 * Opens a feed of a topic. The keys are bigints or strings.
 * @param apply called with each value in log order, and with undefined for a deleted key. If the topic is read again
 * from its beginning, for example because it was deleted and created again, `replaces` is true for the first value of a
 * held key: the new value must replace the held value, even if it looks older
 * @param held returns the keys for which the service has a value. After the topic was read again, `apply` is called
 * with undefined for each of these keys that the topic does not contain.
 */
export type OpenTopicFeed = <K extends bigint | string, V>(
  topic: Topic<K, V>,
  apply: ApplyValue<K, V>,
  held: () => Iterable<K>,
) => Promise<TopicFeed>

/** Poll timeout. A poll returns earlier if records arrive. */
const POLL_MS = 5_000

/** Creates the function that the services of a process use to open their feeds. */
export function topicFeedOpener(options: Pick<SnapshotTablesOptions, 'transport' | 'registry' | 'log' | 'monotonic'>): OpenTopicFeed {
  return async function openTopicFeed<K extends bigint | string, V>(topic: Topic<K, V>, apply: ApplyValue<K, V>, held: () => Iterable<K>) {
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
      apply: applier,
      held,
      remove: (key) => apply(key, undefined, true),
    })
    return { probe: { name: `feed ${topic.name}`, check: async () => contents.missing }, close: contents.close }
  }
}
