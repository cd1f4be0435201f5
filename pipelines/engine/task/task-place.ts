import { partitionKey, type TopicPartition } from '../../../kafka/transport.ts'
import type { Declaration } from '../topology/declaration.ts'
import { changelogTopicName } from '../topology/internal-topics.ts'
import type { SubTopology } from '../topology/sub-topology.ts'

/** The changelog of one partition of a store. */
export interface Changelog {
  readonly store: string
  readonly topic: string
  readonly partition: number
  /** Name of the position that contains the changelog offset up to which the state is complete. */
  readonly positionName: string
  /** Name of the position that contains the fingerprint of the topic's id. */
  readonly identityName: string
  /**
   * Name of the position that contains a leader epoch: the latest one in which the log is known to contain all records
   * of the state.
   */
  readonly epochName: string
}

/**
 * One sub-topology in one partition, with its input and its state. The task itself may run on this worker or on another
 * worker.
 */
export interface TaskPlace {
  /** `<sub-topology>_<partition>`. */
  readonly id: string
  readonly part: SubTopology
  readonly partition: number
  readonly sources: readonly TopicPartition[]
  readonly changelogs: readonly Changelog[]
  /**
   * Stores without a changelog. A worker can use its local state of such a store only if the state matches the offsets
   * that the group has committed.
   */
  readonly unloggedStores: readonly string[]
}

/** Returns whether the position with this name belongs to this changelog topic. */
export function isPositionOf(changelog: string, name: string): boolean {
  const [kind, key] = name.split('/', 2)
  return kind.startsWith('changelog') && key.slice(0, key.lastIndexOf('-')) === changelog
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
      const key = partitionKey(topic, partition)
      return {
        store,
        topic,
        partition,
        positionName: `changelog/${key}`,
        identityName: `changelog-id/${key}`,
        epochName: `changelog-epoch/${key}`,
      }
    }),
    unloggedStores: part.stores.filter((name) => !isLogged(name)),
  }
}
