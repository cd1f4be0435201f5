import { recordApplier, recordValue } from '../record-values.ts'
import { notLoaded, snapshotTable, type TableOptions, type TableState } from '../snapshots/snapshot-table.ts'
import type { Holding } from './holding.ts'
import { type Entries, readEntries, writeEntries } from './snapshot.ts'

/**
 * Keeps a small compacted topic in memory as objects. Unlike a global table, it also keeps a snapshot on disk, so that
 * a process that starts while Kafka is unavailable can answer with the last known contents.
 */
export interface SmallTable<H> extends TableState {
  /**
   * Returns all entries by key. Throws ApiError `not_ready` if the topic has not been read and the snapshot is not in
   * use.
   */
  entries(): ReadonlyMap<string, H>
  readonly size: number
}

export interface SmallTableOptions<V, H> extends TableOptions<string, V> {
  readonly holding: Holding<V, H>
}

/** Default interval between snapshots. A small table is written within milliseconds, so the interval can be short. */
const SNAPSHOT_INTERVAL_MS = 5_000

/** Opens a table. The table reads its snapshot and then the topic, and follows the topic until it is closed. */
export async function smallTable<V, H>(options: SmallTableOptions<V, H>): Promise<SmallTable<H>> {
  const { topic, holding, log, now, monotonic } = options
  const { folder, files, intervalMs = SNAPSHOT_INTERVAL_MS } = options.snapshots

  const table = await snapshotTable<Entries<H>>({
    topic: topic.name,
    transport: options.transport,
    create: () => new Map(),
    sizeOf: ({ size }) => size,
    applier: (filling) =>
      recordApplier<readonly [string, H | undefined]>({
        topic: topic.name,
        log,
        loadSchema: options.loadSchema,
        decode(chunk, index) {
          const value = recordValue(options.values, chunk, index)
          const key = topic.key.decode(chunk.buffer, chunk.keyStart[index], chunk.keyEnd[index])
          return [key, value === undefined ? undefined : holding.hold(value)]
        },
        apply([key, held]) {
          if (held === undefined) filling().delete(key)
          else filling().set(key, held)
        },
      }),
    read: () => readEntries(files, folder, topic.name, holding),
    write: (saved) => writeEntries(files, folder, topic.name, holding, saved),
    onChange: () => holding.onChange?.(),
    log,
    now,
    monotonic,
    intervalMs,
  })

  return {
    entries() {
      if (table.serving === undefined) throw notLoaded(topic.name)
      return table.serving
    },
    get size() {
      return (table.serving ?? table.filling).size
    },
    get isFromSnapshot() {
      return table.isFromSnapshot
    },
    get staleMs() {
      return table.staleMs
    },
    get isStale() {
      return table.isStale
    },
    probes: table.probes,
    close: table.close,
  }
}
