import type { Topic } from '../../schemas/topic.ts'
import type { ReadinessProbe } from './readiness.ts'
import { recordApplier, recordValue } from './record-values.ts'
import { openValues, type SnapshotTablesOptions } from './snapshots/open-values.ts'
import { followTopic } from './topic-follower.ts'

/** Passes every record of a compacted topic to a service, which keeps them in a form of its own. */
export interface TopicFeed {
  /** Not ready until the topic is read up to the end that it had at the start. */
  readonly probe: ReadinessProbe
  close(): Promise<void>
}

/** @param apply gets each value in log order, and undefined for a deleted key */
export type OpenTopicFeed = <K, V>(topic: Topic<K, V>, apply: (key: K, value: V | undefined) => void) => Promise<TopicFeed>

/** The longest wait for records. Arriving records end it. */
const POLL_MS = 5_000

/** Creates the function with which the services of a process open their feeds. */
export function topicFeedOpener(options: Pick<SnapshotTablesOptions, 'transport' | 'registry' | 'log' | 'monotonic'>): OpenTopicFeed {
  return async function openTopicFeed<K, V>(topic: Topic<K, V>, apply: (key: K, value: V | undefined) => void) {
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
      apply: ([key, value]) => apply(key, value),
    })
    const follower = followTopic({ transport, topic: topic.name, log, monotonic, pollMs: POLL_MS, apply: applier })
    return {
      probe: { name: `feed ${topic.name}`, check: async () => follower.missing },
      close: follower.close,
    }
  }
}
