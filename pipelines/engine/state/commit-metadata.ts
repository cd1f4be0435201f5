import {
  type CommittedOffset,
  type OffsetToCommit,
  partitionKey,
  type TopicPartition,
  UNKNOWN_LEADER_EPOCH,
} from '../../../kafka/transport.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import type { TaskPlace } from '../task/task-place.ts'
import { fingerprintOf } from './log-identity.ts'

/**
 * The metadata of a committed offset consists of up to two words, separated by a space: the leader epochs of the task's
 * changelogs at the time of the commit, and the event time (epoch ms). The first word is absent if the task has no
 * changelogs, if no leader epoch is known, or if the word would be too long. Earlier versions of the engine find the
 * event time only if it is the first word.
 */
const CHANGELOG_EPOCHS = 'changelog-epochs='
const STREAM_TIME = 'stream-time='
const SEPARATOR = ' '
/** Number base in which fingerprints of topic ids are written. */
const FINGERPRINT_BASE = 36
/**
 * Maximum length of the word with the epochs. By default, brokers refuse metadata of more than 4,096 bytes. A longer
 * word, as tasks with more than 250 stores would need, is left out.
 */
const MOST_CHARACTERS = 4_000

/** A changelog, and the latest leader epoch that a commit of its task has recorded for it. */
export interface ChangelogAtCommit extends TopicPartition {
  readonly leaderEpoch: number
}

/** Returns the metadata for the event time (epoch ms) of a task; undefined when the task has no event time. */
export function streamTimeMetadata(streamTime: number): string | undefined {
  return streamTime < 0 ? undefined : `${STREAM_TIME}${streamTime}`
}

/** Returns the event time (epoch ms) from the metadata of a committed offset; -1 when the metadata contains none. */
export function streamTimeOf(metadata: string): number {
  const found = wordOf(metadata, STREAM_TIME)
  return found === undefined ? -1 : Number(found)
}

/**
 * Adds the leader epochs of a task's changelogs to the metadata of an offset. The metadata is composed each time the
 * Kafka client reads the property, so it contains the epochs at that time. See `OffsetToCommit.metadata` for when this
 * happens.
 */
export function withChangelogEpochs(
  offset: OffsetToCommit,
  { changelogs }: TaskPlace,
  session: Pick<StateSession, 'position'>,
  leaderEpoch: (topic: string, partition: number) => number,
): OffsetToCommit {
  if (changelogs.length === 0) return offset
  return {
    ...offset,
    get metadata() {
      const epochs = changelogs.flatMap(({ topic, partition, identityName }) => {
        const [identity, epoch] = [session.position(identityName), leaderEpoch(topic, partition)]
        return identity === undefined || epoch === UNKNOWN_LEADER_EPOCH ? [] : `${identity.toString(FINGERPRINT_BASE)}:${epoch}`
      })
      const word = `${CHANGELOG_EPOCHS}${epochs.join()}`
      if (epochs.length === 0 || word.length > MOST_CHARACTERS) return offset.metadata
      return offset.metadata === undefined ? word : `${word}${SEPARATOR}${offset.metadata}`
    },
  }
}

/**
 * Returns the changelogs of tasks, each with the latest leader epoch that a commit of its task has recorded for it; -1
 * when no commit has recorded one. A leader with an earlier epoch may lack records of that commit.
 * @param topicIds ids of the changelog topics, keyed by name; epochs of a deleted topic with the same name are ignored
 */
export function changelogsAtCommit(
  tasks: readonly TaskPlace[],
  committed: ReadonlyMap<string, CommittedOffset>,
  topicIds: ReadonlyMap<string, string>,
): ChangelogAtCommit[] {
  return tasks.flatMap(({ sources, changelogs }) => {
    const epochs = sources.flatMap(({ topic, partition }) => epochsOf(committed.get(partitionKey(topic, partition))?.metadata ?? ''))
    return changelogs.map(({ topic, partition }) => {
      const id = topicIds.get(topic)
      const fingerprint = id === undefined ? undefined : fingerprintOf(id).toString(FINGERPRINT_BASE)
      const own = epochs.filter(([identity]) => identity === fingerprint).map(([, epoch]) => epoch)
      return { topic, partition, leaderEpoch: Math.max(UNKNOWN_LEADER_EPOCH, ...own) }
    })
  })
}

function epochsOf(metadata: string): [fingerprint: string, epoch: number][] {
  const list = wordOf(metadata, CHANGELOG_EPOCHS)
  return (list?.split(',') ?? []).map((entry) => {
    const [fingerprint, epoch] = entry.split(':')
    return [fingerprint, Number(epoch)]
  })
}

function wordOf(metadata: string, prefix: string): string | undefined {
  const found = metadata.split(SEPARATOR).find((word) => word.startsWith(prefix))
  return found?.slice(prefix.length)
}
