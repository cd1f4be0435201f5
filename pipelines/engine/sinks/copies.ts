import type { Transport } from '../../../kafka/transport.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import { openLane } from './lane.ts'
import { laneTools } from './lane-tools.ts'
import type { SinkKind, SinkParts } from './sink-kind.ts'
import type { SinkTarget } from './target.ts'
import { prepareSinkTopics } from './topics.ts'

/**
 * Interval between commits. It can be long, because most targets store their offsets themselves. Only lag monitors,
 * tables, and targets that store no offsets use the offsets in Kafka.
 */
const COMMIT_EVERY_MS = 1_000

/** Describes a sink that copies topics into an external database. Most targets store the offsets as well. */
export function copies(name: string, topics: readonly AnyTopic[], target: SinkTarget, transport: Transport): SinkKind {
  const byName = new Map(topics.map((topic) => [topic.name, topic]))

  function lanes({ fetcher, metrics, runtime, deadLetters, ...connections }: SinkParts) {
    const toolsFor = laneTools(connections)
    const shared = { target, fetcher, metrics, runtime, deadLetters: deadLetters?.send }
    return (partition: { readonly topic: string; readonly partition: number }) =>
      openLane(partition, { ...shared, ...toolsFor(byName.get(partition.topic) as AnyTopic) })
  }

  return {
    topics,
    confirmsOwnership: target.confirmsOwnership === true,
    collectMs: target.collectMs ?? 0,
    commitEveryMs: COMMIT_EVERY_MS,
    prepareTopics: () => prepareSinkTopics(transport, name, topics, target),
    lanes,
    async close() {},
  }
}
