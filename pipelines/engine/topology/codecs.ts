import type { AnyValueTopic } from '../../../kafka/serdes.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import type { EngineStore } from '../../../state/stores/store.ts'
import { type Declaration, nodesOf } from './declaration.ts'
import { changelogTopicName } from './internal-topics.ts'

/** The codecs of one topology, opened with the registered ids of their schemas. */
export interface Codecs {
  topicValue(topic: AnyTopic): Codec<unknown>
  storeValue(store: EngineStore): Codec<unknown>
}

/**
 * Returns every topic that the build function names as a source or an output. Topics to which only the engine writes
 * (most changelogs, and the dead-letter topic) are not included.
 */
export function topicsOf(declaration: Declaration): AnyTopic[] {
  const topics = declaration.streams.flatMap((stream) => [
    stream.topic,
    ...nodesOf(stream).flatMap((node) => node.emits),
    ...stream.timeMarks.map((mark) => mark.to),
    ...stream.timeHandlers.flatMap((handler) => handler.forwardTo ?? []),
    ...(stream.options.lateOutput === undefined ? [] : [stream.options.lateOutput]),
  ])
  return [...new Map(topics.map((topic) => [topic.name, topic])).values()]
}

/** Represents the values of a store as a topic, because even stores without a changelog need a schema subject. */
function storeTopic(topology: string, store: EngineStore): AnyValueTopic {
  return { name: changelogTopicName(topology, store.name), value: store.values }
}

/** Returns the topics of all values that the topology reads, writes or stores. Pass them to `openSerdes`. */
export function valueTopicsOf(declaration: Declaration): AnyValueTopic[] {
  return [...topicsOf(declaration), ...[...declaration.stores.values()].map((store) => storeTopic(declaration.topology, store))]
}

/**
 * Creates the codecs of a topology.
 * @param codecFor returns the codec for the values of a topic
 */
export function topologyCodecs(topology: string, codecFor: (topic: AnyValueTopic) => Codec<unknown>): Codecs {
  return {
    topicValue: codecFor,
    storeValue: (store) => codecFor(storeTopic(topology, store)),
  }
}
