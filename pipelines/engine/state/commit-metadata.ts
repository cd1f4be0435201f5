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
 * The metadata of a committed offset consists of words: the leader epochs of the task's changelogs at the time of the
 * commit, and the event time (epoch ms). An earlier version of the engine finds the event time only in the first word.
 * Without changelogs, the event time is the first word.
 */
const CHANGELOG_EPOCHS = 'changelog-epochs='
const STREAM_TIME = 'stream-time='
const SEPARATOR = ' '
/** The base in which fingerprints of topics are written. */
const FINGERPRINT_BASE = 36
/** Brokers refuse metadata of more than 4,096 bytes by default. A task with more than 250 stores names no epochs. */
const MOST_CHARACTERS = 4_000

/** A changelog, with the leader epoch that its last commit has seen. */
export interface ChangelogAtCommit extends TopicPartition {
  readonly leaderEpoch: number
}

/** Writes the event time (epoch ms) of a task; undefined when there is none. */
export function streamTimeMetadata(streamTime: number): string | undefined {
  return streamTime < 0 ? undefined : `${STREAM_TIME}${streamTime}`
}

/** Reads the event time from the metadata of a committed offset; -1 when there is none. */
export function streamTimeOf(metadata: string): number {
  const found = wordOf(metadata, STREAM_TIME)
  return found === undefined ? -1 : Number(found)
}

/**
 * Adds the leader epochs of a task's changelogs to the metadata of an offset. The metadata is composed when it is sent,
 * so a repeated request contains the epochs of that time.
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
 * Returns the changelogs of tasks with the latest leader epoch that a commit of their task has seen; -1 when it is
 * unknown. A leader of an earlier epoch may lack records of that commit.
 * @param topicIds the ids of the changelog topics, by name; the epochs of a deleted topic do not count
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
