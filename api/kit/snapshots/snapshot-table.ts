import type { RecordChunk, Transport } from '../../../kafka/transport.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { ApiError, errors } from '../errors.ts'
import type { Logger } from '../logging.ts'
import type { ReadinessProbe } from '../readiness.ts'
import type { SpoolFiles } from '../spool/files.ts'
import { followTopic, MAX_GAP_MS, type TopicFollower } from '../topic-follower.ts'
import { SnapshotError } from './checked-file.ts'
import { isSnapshotDue } from './due.ts'

/** The contents of a table at a point in time. */
export interface Saved<C> {
  readonly contents: C
  /** The offset of the next record to read in each partition. The contents may include later changes. */
  readonly positions: ReadonlyMap<number, number>
  /** The leader epochs of the positions; see `TopicFollower.epochs`. Empty in files from earlier versions. */
  readonly epochs: ReadonlyMap<number, number>
  /** The id of the topic that the positions belong to; undefined in files from earlier versions. */
  readonly topicId: string | undefined
  /** Epoch ms. At this time, the table had read the topic up to `positions`. */
  readonly savedAt: number
}

/** How a kind of table keeps its entries, in memory and on disk. */
export interface SnapshotTableOptions<C> {
  readonly topic: string
  readonly transport: Transport
  /** Creates empty contents. */
  create(): C
  sizeOf(contents: C): number
  /** Creates the function that applies a record with a key to the contents that `filling` returns. */
  applier(filling: () => C): (chunk: RecordChunk, index: number) => void | Promise<void>
  /** Reads the snapshot; undefined if there is no snapshot. Throws SnapshotError if the snapshot cannot be used. */
  read(): Promise<Saved<C> | undefined>
  /** Replaces the snapshot. The contents may change while they are being written. */
  write(saved: Saved<C>): Promise<void>
  /** Called when the table begins to serve different contents, or when the served contents have changed. */
  onChange?(): void
  readonly log: Logger
  /** Epoch ms. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
  /** Interval between snapshots while the table is changing. */
  readonly intervalMs: number
}

/** The state that tables of all kinds have in common. */
export interface TableState {
  /** Whether a snapshot provides the contents, because the topic could not be read completely yet. */
  readonly isFromSnapshot: boolean
  /**
   * How far the contents may be behind the topic, in ms. The value is normally at most a few seconds, and Infinity
   * while the table is not ready.
   */
  readonly staleMs: number
  /** Whether the table may lack changes that are older than a few seconds, for example because Kafka is unavailable. */
  readonly isStale: boolean
  /**
   * Two probes. The first fails until the table is ready. The second fails while the table is ready but stale. The
   * second probe is optional, so its failure does not make the process unready.
   */
  readonly probes: readonly ReadinessProbe[]
  /** Writes a last snapshot if the table is current and has changed, and stops following the topic. */
  close(): Promise<void>
}

/** Where a table keeps its snapshot. */
export interface SnapshotOptions {
  readonly folder: string
  readonly files: SpoolFiles
  /** Interval between snapshots while the table is changing. Each kind of table has a default. */
  readonly intervalMs?: number
}

/** Everything that a table of any kind needs to read its topic and to keep its snapshot. */
export interface TableOptions<K, V> {
  readonly transport: Transport
  readonly topic: Topic<K, V>
  readonly values: Codec<V>
  /** Loads the schema that a value was written with. Called after UnknownSchemaError. */
  loadSchema(schemaId: number): Promise<unknown>
  readonly log: Logger
  /** Epoch ms. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
  readonly snapshots: SnapshotOptions
}

/**
 * Keeps a compacted topic in memory, and a snapshot of it on disk, so that a process that starts while Kafka is
 * unavailable can answer with the last known contents.
 */
export interface SnapshotTable<C> extends TableState {
  /**
   * The contents that callers read; undefined while the topic has not been read and the snapshot is not in use. The
   * snapshot comes into use if Kafka stays unavailable.
   */
  readonly serving: C | undefined
  /** The contents that records of the topic are applied to. They may be incomplete while they are not served. */
  readonly filling: C
}

/** Poll timeout. If a topic has no new records, Kafka responds at this interval. */
const POLL_MS = 1_000
/**
 * Maximum number of bytes per fetch. Applying this many bytes takes a few milliseconds, and requests wait meanwhile.
 */
const MAX_POLL_BYTES = 262_144
/**
 * How long Kafka must be silent before the table counts as stale. A table that has not read its topic yet then serves
 * its snapshot.
 */
const STALE_AFTER_MS = 5_000
const CHECK_INTERVAL_MS = 250
const MS_PER_SECOND = 1_000

/** Opens a table. The table reads its snapshot and then the topic, and follows the topic until it is closed. */
export async function snapshotTable<C>(options: SnapshotTableOptions<C>): Promise<SnapshotTable<C>> {
  const { topic, log, now, monotonic } = options
  const startedAt = monotonic()
  const loaded = await loadSnapshot()
  const isContinued = loaded !== undefined && now() - loaded.savedAt < MAX_GAP_MS && loaded.savedAt <= now()
  let filling = isContinued ? loaded.contents : options.create()
  let serving: C | undefined
  /**
   * The loaded snapshot; undefined once the topic has been read. While the snapshot is served, its age is the age of
   * the contents.
   */
  let snapshot = loaded
  /**
   * Monotonic ms at which Kafka had last responded before the table began to read its topic again. Defined only while
   * the table reads its topic again and callers still get the older contents.
   */
  let frozenAt: number | undefined
  /** The monotonic ms at which Kafka last responded. */
  let heardAt = startedAt
  let isWriting: Promise<void> | undefined
  let isChanged = false
  /** Epoch ms of the last snapshot that this process has written. */
  let savedAt: number | undefined
  const apply = options.applier(() => filling)

  const follower: TopicFollower = followTopic({
    transport: options.transport,
    topic,
    log,
    monotonic,
    pollMs: POLL_MS,
    maxPollBytes: MAX_POLL_BYTES,
    from: isContinued ? loaded.positions : undefined,
    fromEpochs: isContinued ? loaded.epochs : undefined,
    fromTopicId: isContinued ? loaded.topicId : undefined,
    fromAt: isContinued ? monotonic() - (now() - loaded.savedAt) : undefined,
    apply(chunk, index) {
      const waiting = apply(chunk, index)
      if (waiting !== undefined) return waiting.then(changed)
      changed()
    },
    maxGapMs: MAX_GAP_MS,
    onStartOver(reason) {
      log.warn({ topic, reason }, 'table_starts_over')
      filling = options.create()
      // Until the topic has been read again, callers get the old contents, and no more records are applied to them.
      if (serving !== undefined) frozenAt ??= monotonic() - silentMs()
    },
    onCaughtUp() {
      serving = filling
      snapshot = undefined
      frozenAt = undefined
      log.info({ topic, entries: options.sizeOf(filling), took_ms: Math.round(monotonic() - startedAt) }, 'table_ready')
      options.onChange?.()
      // The first snapshot is written at once. Otherwise, if this process were killed during the first interval, the
      // next process would have no snapshot.
      if (loaded === undefined) void save()
    },
  })

  const checking = setInterval(useSnapshot, CHECK_INTERVAL_MS)
  const saving = setInterval(() => void save(), options.intervalMs)
  checking.unref()
  saving.unref()

  function changed(): void {
    isChanged = true
    if (serving === filling) options.onChange?.()
  }

  async function loadSnapshot(): Promise<Saved<C> | undefined> {
    try {
      return await options.read()
    } catch (error) {
      const event = error instanceof SnapshotError ? 'table_snapshot_ignored' : 'table_snapshot_not_read'
      log.warn({ topic, reason: (error as Error).message }, event)
      return undefined
    }
  }

  /** Serves the snapshot once Kafka has been unavailable for too long. */
  function useSnapshot(): void {
    if (serving !== undefined) clearInterval(checking)
    if (serving !== undefined || snapshot === undefined || silentMs() < STALE_AFTER_MS) return
    serving = snapshot.contents
    const saved_at = new Date(snapshot.savedAt).toISOString()
    log.warn({ topic, entries: options.sizeOf(serving), saved_at }, 'table_snapshot_in_use')
    options.onChange?.()
  }

  /**
   * Writes a snapshot if the table is current and a snapshot is due. If writing fails, the older snapshot stays, and
   * the next call tries again.
   */
  function save(): Promise<void> {
    const isCurrent = serving === filling && snapshot === undefined && !isStale()
    if (isCurrent && isSnapshotDue(isChanged, savedAt, now()))
      isWriting ??= write().finally(() => {
        isWriting = undefined
      })
    return isWriting ?? Promise.resolve()
  }

  async function write(): Promise<void> {
    // The positions are copied first, because the file may include changes that arrive while it is being written.
    const { positions, epochs, topicId } = follower
    const saved = { contents: filling, positions: new Map(positions), epochs: new Map(epochs), topicId, savedAt: now() - silentMs() }
    isChanged = false
    try {
      await options.write(saved)
      savedAt = saved.savedAt
    } catch (error) {
      isChanged = true
      log.error({ topic, reason: (error as Error).message }, 'table_snapshot_not_written')
    }
  }

  /** Returns the time since Kafka last responded, in ms. */
  function silentMs(): number {
    heardAt = follower.heardAt ?? heardAt
    return monotonic() - heardAt
  }

  function staleMs(): number {
    if (serving === undefined) return Number.POSITIVE_INFINITY
    const frozenMs = frozenAt === undefined ? 0 : monotonic() - frozenAt
    const snapshotMs = snapshot === undefined ? 0 : now() - snapshot.savedAt
    return Math.max(silentMs(), frozenMs, snapshotMs)
  }

  function isStale(): boolean {
    return staleMs() >= STALE_AFTER_MS
  }

  async function missing(): Promise<string | undefined> {
    return serving === undefined ? (follower.missing ?? 'starting') : undefined
  }

  async function stale(): Promise<string | undefined> {
    if (serving === undefined || !isStale()) return undefined
    const since = Math.floor(staleMs() / MS_PER_SECOND)
    const source =
      snapshot === undefined ? `the table of ${topic} has not been updated` : `a snapshot of ${topic} is in use and has not been updated`
    const reason = follower.failure === undefined ? '' : `: ${follower.failure.reason}`
    return `${source} for ${since} s${reason}`
  }

  return {
    get serving() {
      return serving
    },
    get filling() {
      return filling
    },
    get isFromSnapshot() {
      return serving !== undefined && snapshot !== undefined
    },
    get staleMs() {
      return staleMs()
    },
    get isStale() {
      return isStale()
    },
    probes: [
      { name: `table ${topic}`, check: missing },
      { name: `news of table ${topic}`, optional: true, check: stale },
    ],
    async close() {
      clearInterval(checking)
      clearInterval(saving)
      await isWriting
      if (isChanged) await save()
      await follower.close()
    },
  }
}

/** Returns the error for callers of a table that serves no contents yet. */
export function notLoaded(topic: string): ApiError {
  return new ApiError(errors.not_ready, { message: `The data of ${topic} is still being loaded. Try again shortly.` })
}
