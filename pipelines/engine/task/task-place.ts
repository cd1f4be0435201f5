import { partitionKey, type TopicPartition } from '../../../kafka/transport.ts'
import type { Declaration } from '../topology/declaration.ts'
import { changelogTopicName } from '../topology/internal-topics.ts'
import type { SubTopology } from '../topology/sub-topology.ts'

/** A store whose changes go to a topic. */
export interface Changelog {
  readonly store: string
  readonly topic: string
  readonly partition: number
  /** Name of its position in the state. */
  readonly positionName: string
}

/** One sub-topology in one partition: where its input and its state lie, whether or not its task runs here. */
export interface TaskPlace {
  /** `<sub-topology>_<partition>`. */
  readonly id: string
  readonly part: SubTopology
  readonly partition: number
  readonly sources: readonly TopicPartition[]
  readonly changelogs: readonly Changelog[]
  /** Stores without a changelog: what lies in the state of them is only good if this task wrote it last. */
  readonly unloggedStores: readonly string[]
}

export function taskPlace({ topology, stores }: Declaration, part: SubTopology, partition: number): TaskPlace {
  const isLogged = (name: string) => stores.get(name)?.logged === true
  return {
    id: `${part.index}_${partition}`,
    part,
    partition,
    sources: part.sources.map((topic) => ({ topic, partition })),
    changelogs: part.stores.filter(isLogged).map((store) => {
      const topic = changelogTopicName(topology, store)
      return { store, topic, partition, positionName: `changelog/${partitionKey(topic, partition)}` }
    }),
    unloggedStores: part.stores.filter((name) => !isLogged(name)),
  }
}
