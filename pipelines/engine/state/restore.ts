import { partitionKey, type TopicPartition } from '../../../kafka/transport.ts'
import type { StateBatch, StateSession } from '../../../state/stores/store.ts'
import { type StartPosition, type StreamTask, streamTimeOf, type TaskProgress } from '../task/task.ts'
import type { Changelog, TaskPlace } from '../task/task-place.ts'
import { CHANGELOG_DELETE_RETENTION_MS } from '../topology/internal-topics.ts'

/** Clocks are put right by less now and then: state from further ahead was written by a clock that was wrong, nobody knows when. */
const CLOCK_CORRECTION_MS = 60_000

/** Where a changelog is read from and to. */
export interface RestoreRange {
  readonly changelog: Changelog
  readonly from: number
  /** End of the log (high watermark) after the committed offsets were known. */
  readonly to: number
  /** True when the store is loaded from the beginning. */
  readonly bulk: boolean
}

/** What the broker and the group know before a task starts, by partition key. */
export interface StartOffsets {
  readonly committed: ReadonlyMap<string, { readonly offset: number; readonly metadata: string }>
  readonly changelogStarts: ReadonlyMap<string, number>
  readonly changelogEnds: ReadonlyMap<string, number>
  /** Epoch ms. */
  readonly now: number
  /** Transactions write the changelogs. */
  readonly exactlyOnce: boolean
}

/** What names a task over new versions of its topology, whose sub-topologies may be numbered otherwise: the first thing that it reads. */
function lastingName({ sources: [first] }: TaskPlace): string {
  return partitionKey(first.topic, first.partition)
}

/** Name of the position that says when a task's state was last written, epoch ms. */
function writtenAtName(task: TaskPlace): string {
  return `written-at/${lastingName(task)}`
}

/** Name of the position that holds a task's event time. */
function streamTimeName(task: TaskPlace): string {
  return `stream-time/${lastingName(task)}`
}

/** Name of the position of a source partition. */
function sourceName({ topic, partition }: TopicPartition): string {
  return `source/${partitionKey(topic, partition)}`
}

/**
 * Adds the positions that belong to the state in a batch: commit step 5.
 * @param ends by partition key the offset after the transaction's records
 */
export function putPositions(
  batch: Pick<StateBatch, 'putPosition'>,
  task: StreamTask,
  { offsets, streamTime }: TaskProgress,
  ends: ReadonlyMap<string, number>,
  now: number,
): void {
  for (const { topic, partition, positionName } of task.changelogs) {
    const end = ends.get(partitionKey(topic, partition))
    if (end !== undefined) batch.putPosition(positionName, end)
  }
  for (const offset of offsets) batch.putPosition(sourceName(offset), offset.offset)
  if (streamTime >= 0) batch.putPosition(streamTimeName(task), streamTime)
  batch.putPosition(writtenAtName(task), now)
}

/**
 * Decides what must be read of a task's changelogs, and clears the state that they cannot repair: none of it known, older than the
 * log's beginning, from a log that has since been made anew, or older than tombstones are kept (also when its time has not come yet).
 * @param inputKnown false: nobody knows where the input stood. What state there is (a copy, or of a life that committed nothing) is loaded anew, so
 * that the records found tell whether the changelog holds any.
 */
export function planRestore(session: StateSession, task: TaskPlace, offsets: StartOffsets, inputKnown = true): RestoreRange[] {
  const writtenAt = session.position(writtenAtName(task)) ?? -Infinity
  const age = offsets.now - writtenAt
  const tooOld = age > CHANGELOG_DELETE_RETENTION_MS || age < -CLOCK_CORRECTION_MS
  dropStaleUnlogged(session, task, offsets)
  return task.changelogs.map((changelog) => {
    const key = partitionKey(changelog.topic, changelog.partition)
    const start = offsets.changelogStarts.get(key) ?? 0
    const to = offsets.changelogEnds.get(key) ?? 0
    const stored = session.position(changelog.positionName)
    const usable = inputKnown && stored !== undefined && stored >= start && stored <= to && (!tooOld || isCurrent(stored, to, offsets))
    if (usable) return { changelog, from: stored, to, bulk: false }
    session.clear(changelog.store, changelog.partition, [changelog.positionName])
    return { changelog, from: start, to, bulk: true }
  })
}

/** Nobody has written since: at most the marker of our own last transaction lies behind the stored position. */
function isCurrent(stored: number, end: number, { exactlyOnce }: StartOffsets): boolean {
  return end - stored <= (exactlyOnce ? 1 : 0)
}

/** State without a changelog is only right if nobody else has processed the partition since. */
function dropStaleUnlogged(session: StateSession, task: TaskPlace, offsets: StartOffsets): void {
  const current = task.sources.every((source) => {
    const committed = offsets.committed.get(partitionKey(source.topic, source.partition))
    return committed === undefined || committed.offset === session.position(sourceName(source))
  })
  if (!current) for (const store of task.unloggedStores) session.clear(store, task.partition)
}

/** What a task's state in the database holds. */
export interface StatePosition {
  /** Next offsets of the input; empty where the state was copied from its changelog and not made here. */
  readonly sources: readonly (TopicPartition & { readonly offset: number })[]
  /** Next offset of the store's changelog, undefined for stores without one. */
  readonly changelog: number | undefined
  /** Epoch ms. */
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

/** The state goes on beyond these offsets, by its changelog alone: they must never be taken for its input's position again. In the open batch. */
export function forgetSources(session: StateSession, task: TaskPlace): void {
  for (const source of task.sources) session.putPosition(sourceName(source), null)
  session.putPosition(streamTimeName(task), null)
}

/** When a task's state was last written, epoch ms; undefined when there is none. */
export function stateWrittenAt(session: StateSession, task: TaskPlace): number | undefined {
  return session.position(writtenAtName(task))
}

/** Deletes all state of a task. Nothing of it may lie in the open batch. */
export function deleteState(session: StateSession, task: TaskPlace): void {
  for (const { store, partition, positionName } of task.changelogs) session.clear(store, partition, [positionName])
  for (const store of task.unloggedStores) session.clear(store, task.partition)
  forgetSources(session, task)
  session.putPosition(writtenAtName(task), null)
  session.write()
}

/** Marks a changelog as read up to an offset, in the session's open batch. */
export function putRestored(session: StateSession, task: TaskPlace, changelog: Changelog, offset: number, now: number): void {
  session.putPosition(changelog.positionName, offset)
  session.putPosition(writtenAtName(task), now)
}

/**
 * Where each source begins: after the group's committed offset, or, where it has expired, after the offset in the state. Absent: nowhere
 * known, so that the source's own policy decides.
 */
export function startPositions(session: StateSession, task: TaskPlace, offsets: StartOffsets): Map<string, StartPosition> {
  const positions = new Map<string, StartPosition>()
  for (const source of task.sources) {
    const key = partitionKey(source.topic, source.partition)
    const committed = offsets.committed.get(key)
    const stored = session.position(sourceName(source))
    if (committed !== undefined) positions.set(key, { offset: committed.offset, streamTime: streamTimeOf(committed.metadata) })
    else if (stored !== undefined) positions.set(key, { offset: stored, streamTime: session.position(streamTimeName(task)) ?? -1 })
  }
  return positions
}
