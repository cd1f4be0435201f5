import {
  type GroupMember,
  type OffsetReset,
  type PartitionData,
  partitionKey,
  type ReaderReset,
  type TopicPartition,
  type Transport,
  TransportError,
  UNKNOWN_LEADER_EPOCH,
} from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import { changelogsAtCommit } from '../state/commit-metadata.ts'
import { changelogCopy } from '../state/copy-changelog.ts'
import {
  epochQueries,
  planRestore,
  putComplete,
  putRestored,
  putSourceIdentities,
  putStart,
  type StartOffsets,
  startPositions,
} from '../state/restore.ts'
import { restoreBuffer } from '../state/restore-buffer.ts'
import type { StartPosition, StreamTask } from '../task/task.ts'
import type { Changelog } from '../task/task-place.ts'
import { TopologyError } from '../topology/errors.ts'
import { CHANGELOG_DELETE_RETENTION_MS } from '../topology/internal-topics.ts'

/**
 * How long a restore waits at the end of a log that has become shorter than it was when the restore began. The log may
 * have lost records in an unclean leader election. However, a new leader may also need some time, usually less than a
 * second, before readers see all of its records.
 */
const SHORT_LOG_MS = 30_000
/**
 * A restore is large if its rows fill a batch even when each takes only this number of bytes. With batches of 16 MiB, a
 * restore of at least a million rows is large. Collecting and sorting rows saves much work in a large restore. In a
 * small one, it only delays the writes, and the other tasks of the worker wait longer for them.
 */
const SMALL_ROW_BYTES = 16

/** The progress of a restoring task. */
export interface RestoreProgress {
  readonly task: string
  /** Number of changelog records that were applied. */
  readonly records: number
  /** Number of offsets that remain to be read. It is an upper bound for the number of remaining records. */
  readonly remaining: number
  readonly recordsPerSecond: number
}

export interface TaskOffsets extends StartOffsets {
  /** The first offset of each source without a committed offset. */
  readonly sourceStarts: ReadonlyMap<string, number>
  /** The end offset of each source without a committed offset. */
  readonly sourceEnds: ReadonlyMap<string, number>
  /** The partitions of new repartition topics from which no process has read a record; see `fetchStartOffsets`. */
  readonly unread: ReadonlySet<string>
}

interface Restoring {
  readonly task: StreamTask
  readonly positions: Map<string, StartPosition>
  /**
   * The start positions that are stored in the group or in the state. The reset policies of the sources determine all
   * other positions.
   */
  readonly known: ReadonlyMap<string, StartPosition>
  /**
   * True when the group has a committed offset for at least one source of the task, or when no record of any source has
   * been read (`TaskOffsets.unread`).
   */
  readonly committed: boolean
  readonly startedAt: number
  /** Epoch ms at which the ends of the changelogs were requested. */
  readonly endsKnownAt: number
  /** Number of changelogs that are not yet completely read. */
  open: number
  records: number
}

interface OpenChangelog {
  readonly restoring: Restoring
  readonly changelog: Changelog
  /** The end of the range to read. If the log loses records during the restore, the end is lowered. */
  to: number
  position: number
  /** Whether records are collected before they are written. */
  readonly isLarge: boolean
  /** When the log was last read, epoch ms. */
  fetchedAt: number
  /** Monotonic time (ms) since which everything in the log is read but `to` is not reached; otherwise undefined. */
  shortSince: number | undefined
}

/**
 * Takes tasks from CREATED to RUNNING while other tasks process records. Reads the changelogs of the new tasks with the
 * worker's own fetcher.
 */
export interface TaskStarts {
  /** Plans the restore of the tasks. Tasks with nothing to read start at the next `finish`. */
  begin(tasks: readonly StreamTask[], offsets: TaskOffsets): void
  /**
   * Pauses the changelogs while the database is behind with its flushes and compactions, and resumes them afterwards.
   * RocksDB would otherwise delay the next write by seconds, and with it the whole loop.
   * @returns true while they are paused
   */
  holdBack(): boolean
  /**
   * Takes fetched changelog records. In a small restore, the next `finish` writes them. In a large restore, they are
   * written when enough of them are collected, or when their changelog is completely read.
   * @returns false when the partition belongs to no restoring task
   */
  take(data: PartitionData): boolean
  /** Writes what `take` has copied, and starts the tasks whose restore is complete. */
  finish(): void
  /** Removes a task that was closed during its restore. */
  drop(task: StreamTask): void
  /** True while changelogs are being read. */
  readonly restoring: boolean
  progress(): RestoreProgress[]
}

export interface TaskStartDeps {
  readonly topology: string
  readonly session: StateSession
  readonly assign: (partition: TopicPartition, offset: number, reset: ReaderReset, leaderEpoch?: number) => void
  readonly unassign: (partition: TopicPartition) => void
  readonly pause: (partition: TopicPartition) => void
  readonly resume: (partition: TopicPartition) => void
  readonly resetOf: (source: TopicPartition) => OffsetReset
  readonly exactlyOnce: boolean
  /** Closes a task and creates a new one, which asks for all of its offsets again. */
  readonly reopen: (task: StreamTask) => void
  readonly runtime: Runtime
}

export interface StartOffsetsDeps extends Pick<TaskStartDeps, 'session' | 'runtime' | 'exactlyOnce'> {
  /** Names of the topology's repartition topics. */
  readonly repartitions: ReadonlySet<string>
  /** Returns all partitions of the topology's sources that are not repartition topics. */
  readonly inputs: () => TopicPartition[]
}

/**
 * Fetches all offsets that are needed to start tasks. The committed offsets are requested first. This request waits
 * until open transactions with such offsets have ended. The ends of the changelogs, requested afterwards, therefore
 * cover everything that those transactions wrote.
 */
export async function fetchStartOffsets(
  transport: Transport,
  group: GroupMember,
  tasks: readonly StreamTask[],
  { session, runtime, exactlyOnce, repartitions, inputs }: StartOffsetsDeps,
): Promise<TaskOffsets> {
  const sources = tasks.flatMap((task) => task.sources)
  const changelogs = tasks.flatMap((task) => task.changelogs)
  const committed = await group.committed(sources)
  const now = runtime.now()
  const unknown = sources.filter((source) => !committed.has(partitionKey(source.topic, source.partition)))
  // The ids are fetched before the offsets of the changelogs, because a changelog may be recreated between the
  // requests. In that case the offsets belong to the new topic but the id to the old one. The next start then notices
  // the difference and clears the state.
  const topicIds = await transport.topicIds([...new Set([...changelogs, ...sources].map(({ topic }) => topic))])
  const [changelogStarts, changelogEnds, changelogEpochEnds, sourceStarts, sourceEnds] = await Promise.all([
    transport.offsets(changelogs, 'earliest'),
    // This request names the leader epochs of the commit, because a leader of an earlier epoch might return an end that
    // is before the records of the commit.
    transport.offsets(changelogsAtCommit(tasks, committed, topicIds), 'end'),
    transport.epochEnds(epochQueries(session, tasks, topicIds)),
    transport.offsets(unknown, 'earliest'),
    transport.offsets(unknown, 'end'),
  ])
  // If state exists but no offsets are committed, there are two possible causes: the offsets have expired, or another
  // worker has taken over the task since the committed offsets were requested. A heartbeat that succeeds rules out the
  // second cause.
  const isWritten = ({ topic, partition }: TopicPartition) => (changelogEnds.get(partitionKey(topic, partition)) ?? 0) > 0
  const uncommitted = exactlyOnce ? tasks.filter((task) => !isCommitted(task, committed) && task.changelogs.some(isWritten)) : []
  if (uncommitted.length > 0) await group.heartbeat()
  // A repartition topic gets another name when an update changes its records. The tasks that read the new topic then
  // have state but no committed offset. However, the offsets of the group have not expired, and all records of the new
  // topic are unread. The offset of a single partition without new records may also expire, but by then the first
  // records of that partition have been deleted, so its log no longer begins at offset 0.
  const isWhole = ({ topic, partition }: TopicPartition) => sourceStarts.get(partitionKey(topic, partition)) === 0
  const replaced = uncommitted.flatMap(({ sources }) => sources).filter((source) => repartitions.has(source.topic) && isWhole(source))
  const isKept = replaced.length > 0 && (await group.committed(inputs())).size > 0
  return {
    committed,
    changelogStarts,
    changelogEnds,
    changelogEpochEnds,
    topicIds,
    sourceStarts,
    sourceEnds,
    unread: new Set(isKept ? replaced.map(({ topic, partition }) => partitionKey(topic, partition)) : []),
    now,
    exactlyOnce,
  }
}

function isCommitted({ sources }: StreamTask, committed: TaskOffsets['committed']): boolean {
  return sources.some(({ topic, partition }) => committed.has(partitionKey(topic, partition)))
}

function isUnread({ sources }: StreamTask, unread: TaskOffsets['unread']): boolean {
  return sources.every(({ topic, partition }) => unread.has(partitionKey(topic, partition)))
}

export function taskStarts(deps: TaskStartDeps): TaskStarts {
  const { topology, session, assign, unassign, pause, resume, runtime } = deps
  const { log } = runtime
  const copy = changelogCopy(session)
  const buffer = restoreBuffer(session)
  const changelogs = new Map<string, OpenChangelog>()
  const tasks = new Set<Restoring>()
  /** True if the open batch contains rows or positions. */
  let hasChanges = false

  function begin(task: StreamTask, offsets: TaskOffsets): void {
    task.beginRestore()
    const known = startPositions(session, task, offsets)
    const restoring: Restoring = {
      task,
      positions: withResets(task, known, offsets),
      committed: isCommitted(task, offsets.committed) || isUnread(task, offsets.unread),
      startedAt: runtime.monotonic(),
      endsKnownAt: offsets.now,
      open: 0,
      records: 0,
      known,
    }
    tasks.add(restoring)
    const ranges = planRestore(session, task, offsets, known.size > 0)
    putSourceIdentities(session, task, offsets.topicIds)
    hasChanges = true
    for (const { changelog, from, leaderEpoch, to, bulk, lost } of ranges) {
      if (lost > 0) log.error({ topology, task: task.id, store: changelog.store, lost }, 'changelog_truncated')
      putRestored(session, changelog, from, leaderEpoch)
      if (from >= to) continue
      log.info({ topology, task: task.id, store: changelog.store, from, to, bulk }, 'restore_started')
      restoring.open++
      changelogs.set(partitionKey(changelog.topic, changelog.partition), {
        restoring,
        changelog,
        to,
        position: from,
        isLarge: (to - from) * SMALL_ROW_BYTES >= session.batchBytes,
        fetchedAt: offsets.now,
        shortSince: undefined,
      })
      assign(changelog, from, 'rebuild', leaderEpoch)
    }
  }

  function withResets(task: StreamTask, known: ReadonlyMap<string, StartPosition>, offsets: TaskOffsets): Map<string, StartPosition> {
    const positions = new Map(known)
    for (const source of task.sources) {
      const key = partitionKey(source.topic, source.partition)
      if (!positions.has(key)) positions.set(key, { offset: resetOffset(source, key, offsets), streamTime: -1, isReset: true })
    }
    return positions
  }

  function resetOffset(source: TopicPartition, key: string, offsets: TaskOffsets): number {
    const reset = deps.resetOf(source)
    if (reset === 'fail')
      throw new TopologyError(
        `topology ${topology}: no offset of ${key} is known to the group or the state, and the offset reset is "fail": commit an offset for group ${topology}, or choose earliest or latest`,
      )
    const offset = (reset === 'latest' ? offsets.sourceEnds : offsets.sourceStarts).get(key)
    if (offset === undefined) throw new Error(`the ${reset === 'latest' ? 'end' : 'first'} offset of ${key} was not requested`)
    return offset
  }

  function run(restoring: Restoring): void {
    const { task, positions, committed, records, startedAt } = restoring
    tasks.delete(restoring)
    // State and offsets are committed together. Without the offsets, the task would process records again although the
    // state already contains their effects.
    if (deps.exactlyOnce && !committed && records > 0)
      throw new TopologyError(
        `topology ${topology}: task ${task.id} has restored its state from ${records} changelog records, but the input position that belongs to this state is unknown (the group's offsets ` +
          `have expired and the state folder is lost or old, or a source was deleted and created again): if you know the position, commit it as offsets of group ${topology}; otherwise, delete the changelog topics of the topology to start from scratch`,
      )
    task.start(positions)
    for (const source of task.sources) {
      const position = positions.get(partitionKey(source.topic, source.partition)) as StartPosition
      assign(source, position.offset, deps.resetOf(source), position.leaderEpoch)
    }
    log.info({ topology, task: task.id, restored_records: records, took_ms: Math.round(runtime.monotonic() - startedAt) }, 'task_running')
  }

  /**
   * Returns true if the restore has read the whole log but has not reached the expected end, and this has been so for
   * more than `SHORT_LOG_MS`.
   */
  function isTooShort(open: OpenChangelog, { nextOffset, highWatermark }: PartitionData): boolean {
    if (nextOffset >= open.to || nextOffset < highWatermark) {
      open.shortSince = undefined
      return false
    }
    open.shortSince ??= runtime.monotonic()
    return runtime.monotonic() - open.shortSince > SHORT_LOG_MS
  }

  function copyNow(changelog: Changelog, data: PartitionData): void {
    copy(changelog, data)
    putRestored(session, changelog, data.nextOffset, data.leaderEpoch ?? UNKNOWN_LEADER_EPOCH)
    hasChanges = true
  }

  return {
    begin(wanted, offsets) {
      for (const task of wanted) begin(task, offsets)
    },
    holdBack() {
      if (changelogs.size === 0) return false
      const isOverloaded = session.isOverloaded()
      for (const { changelog } of changelogs.values()) (isOverloaded ? pause : resume)(changelog)
      return isOverloaded
    },
    take(data) {
      const key = partitionKey(data.topic, data.partition)
      const open = changelogs.get(key)
      if (open === undefined) return false
      const { restoring, changelog } = open
      // The process was suspended or cut off from the broker. In the meantime, the broker may have removed tombstones
      // of rows that are already copied, so these rows would remain.
      if (data.fetchedAt - open.fetchedAt > CHANGELOG_DELETE_RETENTION_MS)
        throw new TransportError('TIMED_OUT', `${key} was not read for longer than the broker keeps tombstones`, { fatal: false })
      open.fetchedAt = data.fetchedAt
      if (open.isLarge) buffer.add(changelog, data)
      else copyNow(changelog, data)
      if (data.wasReset) open.to = Math.min(open.to, data.highWatermark)
      for (const chunk of data.chunks) restoring.records += chunk.count
      open.position = data.nextOffset
      if (isTooShort(open, data)) {
        const { task } = restoring
        log.warn({ topology, task: task.id, changelog: key, end: data.highWatermark, expected: open.to }, 'changelog_became_shorter')
        // Only the task of this log is reopened, and requests the end of the log again. The other tasks continue.
        deps.reopen(task)
      } else if (data.nextOffset >= open.to) {
        buffer.write(changelog)
        changelogs.delete(key)
        unassign(changelog)
        restoring.open--
      }
      return true
    },
    finish() {
      const complete = [...tasks].filter(({ open }) => open === 0)
      for (const { task, known, endsKnownAt } of complete) {
        putStart(session, task, known)
        if (task.changelogs.length > 0) putComplete(session, task, endsKnownAt)
      }
      if (hasChanges || complete.length > 0) session.write()
      hasChanges = false
      for (const restoring of complete) run(restoring)
    },
    drop(task) {
      for (const [key, open] of changelogs) {
        if (open.restoring.task !== task) continue
        changelogs.delete(key)
        buffer.drop(open.changelog)
        unassign(open.changelog)
      }
      for (const restoring of tasks) if (restoring.task === task) tasks.delete(restoring)
    },
    get restoring() {
      return changelogs.size > 0
    },
    progress() {
      return [...tasks].map((restoring): RestoreProgress => {
        const remaining = [...changelogs.values()]
          .filter((open) => open.restoring === restoring)
          .reduce((sum, open) => sum + open.to - open.position, 0)
        const seconds = Math.max(runtime.monotonic() - restoring.startedAt, 1) / 1000
        return { task: restoring.task.id, records: restoring.records, remaining, recordsPerSecond: Math.round(restoring.records / seconds) }
      })
    },
  }
}
