import { isWithin } from '../age.ts'
import type { Logger } from '../logging.ts'
import type { SpoolFiles } from '../spool/files.ts'
import type { FeedPosition, TopicFeed } from '../topic-feed.ts'
import { MAX_GAP_MS } from '../topic-follower.ts'
import { readCheckedFile, SnapshotError, snapshotPath, writeCheckedFile } from './checked-file.ts'
import { isSnapshotDue } from './due.ts'

/**
 * A snapshot on disk of the values that a service keeps from several topics. A process that starts with the snapshot
 * reads only the records that are newer than the snapshot.
 */
export interface FeedSnapshot<C> {
  /** The contents of the snapshot; undefined if there is no snapshot, or if it cannot be used. */
  readonly loaded: C | undefined
  /** Returns where to continue reading a topic; undefined if it must be read from its beginning. */
  positionIn(topic: string): FeedPosition | undefined
  /**
   * Starts to check at intervals whether a new snapshot is due. If so, replaces the snapshot.
   * @param feeds the feeds that fill the contents, keyed by topic
   * @param blocks returns the contents as blocks. The contents may change between two blocks, because a process that
   * loads the snapshot applies all records since the first block again.
   */
  keep(feeds: ReadonlyMap<string, KeptFeed>, blocks: () => Iterable<Buffer>): void
  close(): Promise<void>
}

export type KeptFeed = Pick<TopicFeed, 'isCurrent' | 'position' | 'heardAt'>

export interface FeedSnapshotForm<C> {
  /** Name of the file, without its extension. */
  readonly name: string
  /** Describes the blocks. A snapshot with a different description is ignored. */
  readonly form: string
  /**
   * Creates the contents from blocks.
   * @throws SnapshotError if the blocks contradict each other
   */
  load(blocks: AsyncIterable<Buffer>): Promise<C>
}

/** Opens the snapshot of a service's values. */
export type OpenFeedSnapshot = <C>(form: FeedSnapshotForm<C>) => Promise<FeedSnapshot<C>>

export interface FeedSnapshotOptions {
  readonly folder: string
  readonly files: SpoolFiles
  readonly log: Logger
  /** Epoch ms. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
  /** Minimum age of the snapshot before it is replaced. */
  readonly intervalMs?: number
  /** Interval between two checks of the snapshot's age. */
  readonly lookMs?: number
}

interface SavedPosition {
  readonly offsets: readonly (readonly [partition: number, offset: number])[]
  /** Missing in files from earlier versions. */
  readonly epochs?: readonly (readonly [partition: number, epoch: number])[]
  readonly topicId?: string
}

interface Header {
  readonly name: string
  readonly form: string
  readonly savedAt: number
  readonly topics: Readonly<Record<string, SavedPosition>>
}

/** The first bytes of a file. The digit is the version of the format. */
const MAGIC = Buffer.from('MRFEEDS1')
/**
 * Default of `intervalMs`. The contents of a million rows take 100 MB, so the snapshot is not replaced after every
 * change.
 */
const INTERVAL_MS = 300_000
const LOOK_MS = 5_000

/** Creates the function that the services of a process use to open their snapshots. */
export function feedSnapshotOpener(options: FeedSnapshotOptions): OpenFeedSnapshot {
  const { folder, files, log, now, monotonic, intervalMs = INTERVAL_MS, lookMs = LOOK_MS } = options

  return async function openFeedSnapshot<C>({ name, form, load }: FeedSnapshotForm<C>): Promise<FeedSnapshot<C>> {
    const path = snapshotPath(folder, name)
    const found = await read().catch((error: Error) => {
      log.warn({ name, reason: error.message }, error instanceof SnapshotError ? 'table_snapshot_ignored' : 'table_snapshot_not_read')
      return undefined
    })
    let isWriting: Promise<void> | undefined
    let looking: NodeJS.Timeout | undefined
    /** Epoch ms of the last attempt to write, or of the snapshot that was loaded. */
    let attemptedAt = found?.savedAt ?? Number.NEGATIVE_INFINITY
    /** The positions of the newest known snapshot. */
    let written = found === undefined ? '' : JSON.stringify(found.topics)

    async function read() {
      return await readCheckedFile(files, path, MAGIC, async ({ header, blocks }) => {
        const { savedAt, topics, ...own } = header as Header
        if (own.name !== name || own.form !== form) throw new SnapshotError('it has a different name or format')
        if (savedAt > now()) throw new SnapshotError('it was saved in the future, according to the clock of this machine')
        if (now() - savedAt >= MAX_GAP_MS) throw new SnapshotError('it is too old to continue from its offsets')
        const bodies = async function* () {
          for await (const { body } of blocks) yield body
        }
        const readAt = monotonic() - (now() - savedAt)
        return { contents: await load(bodies()), topics, savedAt, readAt }
      })
    }

    async function saveIfDue(feeds: ReadonlyMap<string, KeptFeed>, blocks: () => Iterable<Buffer>): Promise<void> {
      if (![...feeds.values()].every(({ isCurrent }) => isCurrent)) return
      if (isWithin(attemptedAt, intervalMs, now())) return
      const topics = topicsOf(feeds)
      const positions = JSON.stringify(topics)
      if (!isSnapshotDue(positions !== written, attemptedAt, now())) return
      attemptedAt = now()
      try {
        // The processes of a host share the file. Nothing is written if another process has replaced the file within
        // the interval.
        const writtenAt = await files.writtenAt(path)
        if (writtenAt !== undefined && isWithin(writtenAt, intervalMs, now())) return
        const header: Header = { name, form, savedAt: now() - silentMs(feeds), topics }
        await writeCheckedFile(files, folder, path, MAGIC, { header, blocks: blocks() })
        written = positions
      } catch (error) {
        log.error({ name, reason: (error as Error).message }, 'table_snapshot_not_written')
      }
    }

    function silentMs(feeds: ReadonlyMap<string, KeptFeed>): number {
      return Math.max(...Array.from(feeds.values(), ({ heardAt }) => monotonic() - (heardAt ?? Number.NEGATIVE_INFINITY)))
    }

    return {
      loaded: found?.contents,
      positionIn(topic) {
        const saved = found?.topics[topic]
        if (saved === undefined) return undefined
        const { offsets, epochs, topicId } = saved
        return { offsets: new Map(offsets), epochs: new Map(epochs), topicId, readAt: found?.readAt }
      },
      keep(feeds, blocks) {
        looking = setInterval(() => {
          isWriting ??= saveIfDue(feeds, blocks).finally(() => {
            isWriting = undefined
          })
        }, lookMs)
        looking.unref()
      },
      async close() {
        clearInterval(looking)
        await isWriting
      },
    }
  }
}

function topicsOf(feeds: ReadonlyMap<string, KeptFeed>): Header['topics'] {
  return Object.fromEntries(
    Array.from(feeds, ([topic, { position }]) => {
      const { offsets, epochs = [], topicId } = position
      return [topic, { offsets: [...offsets], epochs: [...epochs], topicId }]
    }),
  )
}
