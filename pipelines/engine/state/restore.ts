import { type CommittedOffset, type EpochQuery, partitionKey, type TopicPartition, UNKNOWN_LEADER_EPOCH } from '../../../kafka/transport.ts'
import type { StateBatch, StateSession } from '../../../state/stores/store.ts'
import type { StartPosition, StreamTask, TaskProgress } from '../task/task.ts'
import type { Changelog, TaskPlace } from '../task/task-place.ts'
import { CHANGELOG_DELETE_RETENTION_MS } from '../topology/internal-topics.ts'
import { streamTimeOf } from './commit-metadata.ts'
import { isFromOtherLog, putLogIdentity } from './log-identity.ts'

/**
 * Maximum size of a normal clock correction. If the write time of the state is further in the future than this, it
 * comes from a wrong clock, so the age of the state is unknown.
 */
const CLOCK_CORRECTION_MS = 60_000

/** The part of a changelog that must be read. */
export interface RestoreRange {
  readonly changelog: Changelog
  readonly from: number
  /**
   * The latest leader epoch in which the log is known to contain all records before `from`; -1 when no such epoch is
   * known.
   */
  readonly leaderEpoch: number
  /** End of the log (high watermark), requested after the committed offsets were fetched. */
  readonly to: number
  /** True when the store is restored from the beginning of its changelog. */
  readonly bulk: boolean
  /** Number of offsets by which the state was ahead of the log. */
  readonly lost: number
}

/**
 * The offsets that are needed to start a task. They come from the brokers and the group, and are keyed by partition
 * key.
 */
export interface StartOffsets {
  readonly committed: ReadonlyMap<string, CommittedOffset>
  readonly changelogStarts: ReadonlyMap<string, number>
  readonly changelogEnds: ReadonlyMap<string, number>
  /**
   * The answers to `epochQueries`: for each changelog, the end offset of the leader epoch that the state has stored.
   */
  readonly changelogEpochEnds: ReadonlyMap<string, number>
  /** Ids of the changelog topics and, for tasks that are about to start, of their sources, keyed by name. */
  readonly topicIds: ReadonlyMap<string, string>
  /** Epoch ms. */
  readonly now: number
  /** True when the changelogs are written in transactions. */
  readonly exactlyOnce: boolean
}

/**
 * Returns a stable name for a task: the name of its first source partition. It stays the same when a new version of the
 * topology renumbers its sub-topologies.
 */
function lastingName({ sources: [first] }: TaskPlace): string {
  return partitionKey(first.topic, first.partition)
}

/** Returns the name of the position that stores the time at which a task's state was last complete, in epoch ms. */
function writtenAtName(task: TaskPlace): string {
  return `written-at/${lastingName(task)}`
}

/** Returns the name of the position that stores a task's event time. */
function streamTimeName(task: TaskPlace): string {
  return `stream-time/${lastingName(task)}`
}

/** Returns the name under which the state stores the offset of a source partition. */
function sourceName({ topic, partition }: TopicPartition): string {
  return `source/${partitionKey(topic, partition)}`
}

/**
 * Returns the name of the position that contains the fingerprint of a source's topic id. The fingerprint shows to which
 * topic the stored offset of the source belongs.
 */
function sourceIdentity({ topic, partition }: TopicPartition): { readonly identityName: string } {
  return { identityName: `source-id/${partitionKey(topic, partition)}` }
}

/** Returns true if the stored offset of a source belongs to a topic of the same name that was deleted. */
function isOtherSource(session: StateSession, source: TopicPartition, topicIds: ReadonlyMap<string, string>): boolean {
  return isFromOtherLog(session, sourceIdentity(source), topicIds.get(source.topic))
}

/**
 * Adds the input offsets, the event time and the write time of a task's state to a batch. Called in step 5 of a commit,
 * and when the write time of idle tasks is refreshed.
 * @param writtenAt a time (epoch ms) at which this worker certainly owned the partition, and so the state was complete;
 * undefined to keep the stored write time
 */
export function putPositions(
  batch: Pick<StateBatch, 'putPosition'>,
  task: StreamTask,
  { offsets, streamTime }: TaskProgress,
  writtenAt: number | undefined,
): void {
  for (const offset of offsets) batch.putPosition(sourceName(offset), offset.offset)
  if (streamTime >= 0) batch.putPosition(streamTimeName(task), streamTime)
  if (writtenAt !== undefined) batch.putPosition(writtenAtName(task), writtenAt)
}

/** The ends of the changelogs after a transaction. */
export interface ChangelogEnds {
  /** The offset after the records of the transaction, keyed by partition key. */
  readonly offsets: ReadonlyMap<string, number>
  /** Returns the epoch of the leader that has acknowledged the records of a partition; -1 when it is unknown. */
  leaderEpoch(topic: string, partition: number): number
}

/** Adds to a batch the changelog offsets up to which a task's state is complete. This is part of step 5 of a commit. */
export function putChangelogEnds(batch: Pick<StateBatch, 'putPosition'>, task: StreamTask, ends: ChangelogEnds): void {
  for (const changelog of task.changelogs) {
    const { topic, partition } = changelog
    const end = ends.offsets.get(partitionKey(topic, partition))
    if (end !== undefined) putRestored(batch, changelog, end, ends.leaderEpoch(topic, partition))
  }
}

/**
 * Returns queries for `Transport.epochEnds`. Their answers show whether a changelog has lost records that the state
 * contains, for example after an unclean leader election. State without a known epoch gets no query. Neither does state
 * from a deleted topic, because its epochs do not apply to the present log.
 * @param topicIds the ids of the changelog topics, keyed by name
 */
export function epochQueries(session: StateSession, tasks: readonly TaskPlace[], topicIds: ReadonlyMap<string, string>): EpochQuery[] {
  return tasks.flatMap(({ changelogs }) =>
    changelogs.flatMap((changelog): EpochQuery[] => {
      const { topic, partition, positionName, epochName } = changelog
      const leaderEpoch = session.position(epochName)
      if (leaderEpoch === undefined || session.position(positionName) === undefined) return []
      return isFromOtherLog(session, changelog, topicIds.get(topic)) ? [] : [{ topic, partition, leaderEpoch }]
    }),
  )
}

/**
 * Decides which part of a task's changelogs must be read, and puts the identities of the logs into the open batch.
 * Clears state that cannot be completed:
 * - state without a position
 * - state whose position is before the beginning of the log or after its end
 * - state that is older than the retention of tombstones, or whose write time is in the future, unless nothing was
 *   added to its changelog after the state was written
 * - state whose log was recreated, or has lost records that the state contains
 * - the state of stores without a changelog, if the stored input offsets differ from the committed offsets, or if a
 *   source topic was recreated
 * @param inputKnown false when the input position is unknown. Existing state (a copy, or the state of a task that
 * committed nothing) is then restored from the beginning, so that the restore shows whether the changelog has any
 * records.
 */
export function planRestore(session: StateSession, task: TaskPlace, offsets: StartOffsets, inputKnown = true): RestoreRange[] {
  dropStaleUnlogged(session, task, offsets)
  const ranges = task.changelogs.map((changelog) => {
    const { start, to, inLog, stored, isOther, isUsable } = examine(session, task, changelog, offsets)
    putLogIdentity(session, changelog, offsets.topicIds.get(changelog.topic))
    if (inputKnown && isUsable) {
      const leaderEpoch = session.position(changelog.epochName) ?? UNKNOWN_LEADER_EPOCH
      return { changelog, from: stored as number, leaderEpoch, to, bulk: false, lost: 0 }
    }
    session.clear(changelog.store, changelog.partition, [changelog.positionName, changelog.epochName])
    const lost = isOther || stored === undefined ? 0 : Math.max(0, stored - inLog)
    return { changelog, from: start, leaderEpoch: UNKNOWN_LEADER_EPOCH, to, bulk: true, lost }
  })
  // The log is guaranteed to keep its present tombstones only for their retention. A restore that is interrupted for
  // longer must start again, so the age of the state counts from now.
  if (ranges.length > 0 && ranges.every(({ bulk }) => bulk)) session.putPosition(writtenAtName(task), offsets.now)
  return ranges
}

/**
 * Returns an upper bound for the number of changelog records that a task must read before it can run on this worker.
 * Changes nothing.
 */
export function recordsToRead(session: StateSession, task: TaskPlace, offsets: StartOffsets): number {
  return task.changelogs.reduce((sum, changelog) => {
    const { start, to, stored, isUsable } = examine(session, task, changelog, offsets)
    return sum + to - Math.min(to, isUsable ? (stored as number) : start)
  }, 0)
}

/** A task's state compared with one of its changelogs. */
interface Examined {
  /** The first offset of the log. `to` is the offset after its last record. */
  readonly start: number
  readonly to: number
  /**
   * The offset up to which the log still has the records of the state: the end of the log, or the end of the state's
   * leader epoch if that is lower.
   */
  readonly inLog: number
  /** The position in the state; undefined if there is none. */
  readonly stored: number | undefined
  /** True if the position belongs to a different log of the same name. */
  readonly isOther: boolean
  /** True if reading the log from the stored position can complete the state. */
  readonly isUsable: boolean
}

function examine(session: StateSession, task: TaskPlace, changelog: Changelog, offsets: StartOffsets): Examined {
  const age = offsets.now - (session.position(writtenAtName(task)) ?? -Infinity)
  const tooOld = age > CHANGELOG_DELETE_RETENTION_MS || age < -CLOCK_CORRECTION_MS
  const key = partitionKey(changelog.topic, changelog.partition)
  const start = offsets.changelogStarts.get(key) ?? 0
  const to = offsets.changelogEnds.get(key) ?? 0
  const inLog = Math.max(0, Math.min(to, offsets.changelogEpochEnds.get(key) ?? to))
  const stored = session.position(changelog.positionName)
  const isOther = isFromOtherLog(session, changelog, offsets.topicIds.get(changelog.topic))
  const isWithin = stored !== undefined && stored >= start && stored <= inLog
  return { start, to, inLog, stored, isOther, isUsable: isWithin && !isOther && (!tooOld || isCurrent(stored, to, offsets)) }
}

/**
 * Returns true if nothing follows the stored position in the changelog, except possibly the marker of this process's
 * last transaction. No other process has then written to the changelog in the meantime.
 */
function isCurrent(stored: number, end: number, { exactlyOnce }: StartOffsets): boolean {
  return end - stored <= (exactlyOnce ? 1 : 0)
}

/**
 * Clears the state of stores without a changelog if the stored input offsets differ from the committed offsets, or if a
 * source topic was recreated. The offsets differ if another process has processed the partition in the meantime, or if
 * this process committed offsets but could not write the state.
 */
function dropStaleUnlogged(session: StateSession, task: TaskPlace, offsets: StartOffsets): void {
  const current = task.sources.every((source) => {
    if (isOtherSource(session, source, offsets.topicIds)) return false
    const committed = offsets.committed.get(partitionKey(source.topic, source.partition))
    return committed === undefined || committed.offset === session.position(sourceName(source))
  })
  if (!current) for (const store of task.unloggedStores) session.clear(store, task.partition)
}

/** The offsets up to which the state of a task is complete. */
export interface StatePosition {
  /** Next offsets of the input; empty for state that was copied from its changelog and not produced by processing. */
  readonly sources: readonly (TopicPartition & { readonly offset: number })[]
  /** Next offset of the store's changelog; undefined if the store has no changelog, or if no position is stored. */
  readonly changelog: number | undefined
  /** The time at which the state was last complete, epoch ms; 0 if it is unknown. */
  readonly writtenAt: number
}

export function statePosition(session: StateSession, task: TaskPlace, store: string): StatePosition {
  const changelog = task.changelogs.find((each) => each.store === store)
  return {
    sources: task.sources.flatMap((source) => {
      const offset = session.position(sourceName(source))
      return offset === undefined ? [] : [{ ...source, offset }]
    }),
    changelog: changelog && session.position(changelog.positionName),
    writtenAt: session.position(writtenAtName(task)) ?? 0,
  }
}

/**
 * Adds the deletion of the stored input positions and event time to the open batch. Must be called when a task's state
 * begins to advance only through its changelog, because these values then no longer match the state.
 */
export function forgetSources(session: StateSession, task: TaskPlace): void {
  for (const source of task.sources) {
    session.putPosition(sourceName(source), null)
    session.putPosition(sourceIdentity(source).identityName, null)
  }
  session.putPosition(streamTimeName(task), null)
}

/** Returns when a task's state was last complete, in epoch ms; undefined when no such time is stored. */
export function stateWrittenAt(session: StateSession, task: TaskPlace): number | undefined {
  return session.position(writtenAtName(task))
}

/** Deletes all state of a task. The open batch must not contain any state of this task. */
export function deleteState(session: StateSession, task: TaskPlace): void {
  for (const { store, partition, positionName, identityName, epochName } of task.changelogs)
    session.clear(store, partition, [positionName, identityName, epochName])
  for (const store of task.unloggedStores) session.clear(store, task.partition)
  forgetSources(session, task)
  session.putPosition(writtenAtName(task), null)
  session.write()
}

/**
 * Notes in a batch that the state contains all records of a changelog before an offset.
 * @param leaderEpoch the latest leader epoch in which the log is known to contain all of these records; -1 when no such
 * epoch is known
 */
export function putRestored(
  batch: Pick<StateBatch, 'putPosition'>,
  { positionName, epochName }: Changelog,
  offset: number,
  leaderEpoch: number,
): void {
  batch.putPosition(positionName, offset)
  batch.putPosition(epochName, leaderEpoch === UNKNOWN_LEADER_EPOCH ? null : leaderEpoch)
}

/**
 * Notes in a batch that the state of a task was complete at the time `at`: all changelogs were read to the ends that
 * they had then, or this worker owned the partition. From then on, the age of the state counts from `at`. A restore
 * that is killed halfway must not renew the age, because it has not read the tombstones at the end of the log.
 * Compaction may remove these tombstones before the restore continues.
 * @param at epoch ms
 */
export function putComplete(batch: Pick<StateBatch, 'putPosition'>, task: TaskPlace, at: number): void {
  batch.putPosition(writtenAtName(task), at)
}

/**
 * Adds the input offsets and the event time with which a task starts to the session's open batch. Queries can then
 * return the position of the state even if the task has no new input, and so commits nothing.
 */
export function putStart(session: StateSession, task: TaskPlace, positions: ReadonlyMap<string, StartPosition>): void {
  for (const source of task.sources) {
    const position = positions.get(partitionKey(source.topic, source.partition))
    if (position === undefined) continue
    session.putPosition(sourceName(source), position.offset)
    if (position.streamTime >= 0) session.putPosition(streamTimeName(task), position.streamTime)
  }
}

/**
 * Notes in the session's open batch which topics the stored offsets of a task's sources belong to. Removes offsets that
 * belong to deleted topics.
 */
export function putSourceIdentities(session: StateSession, task: TaskPlace, topicIds: ReadonlyMap<string, string>): void {
  for (const source of task.sources) {
    if (isOtherSource(session, source, topicIds)) session.putPosition(sourceName(source), null)
    putLogIdentity(session, sourceIdentity(source), topicIds.get(source.topic))
  }
}

/**
 * Returns the start position of each source: the group's committed offset or, if that has expired, the offset in the
 * state. A source with neither offset is absent from the result, and its reset policy decides where reading starts.
 * When a topic is deleted, Kafka deletes its committed offsets, and the offset in the state is ignored as well.
 */
export function startPositions(session: StateSession, task: TaskPlace, offsets: StartOffsets): Map<string, StartPosition> {
  const positions = new Map<string, StartPosition>()
  for (const source of task.sources) {
    const key = partitionKey(source.topic, source.partition)
    const committed = offsets.committed.get(key)
    const stored = session.position(sourceName(source))
    if (committed !== undefined) {
      const { offset, metadata, leaderEpoch } = committed
      positions.set(key, { offset, streamTime: streamTimeOf(metadata), leaderEpoch })
    } else if (stored !== undefined && !isOtherSource(session, source, offsets.topicIds))
      positions.set(key, { offset: stored, streamTime: session.position(streamTimeName(task)) ?? -1 })
  }
  return positions
}
