import type { Codec } from '../../schemas/codec.ts'
import type { ValueFormat } from '../../schemas/topic.ts'

/**
 * The interface through which the engine uses a store. One instance belongs to one task (sub-topology × partition).
 * Processors use the typed handle that implements this interface (keyedStore, packedStore, windowedCounterStore,
 * timerStore, topKStore, joinBufferStore, seenSetStore).
 *
 * Life cycle of a change: `put` keeps the change in memory (dirty) → `flush` adds each dirty key once to the changelog
 * and the backend's batch → the transaction commits → the batch is written → `committed`. `discard` drops everything
 * uncommitted. The backend stores exactly the bytes of the changelog records, so restoring only copies them.
 */
export interface EngineStore {
  /**
   * Name of the store, chosen by the topology's author. It determines the names of the key space and the changelog
   * topic.
   */
  readonly name: string
  /** The format of the values in the changelog. */
  readonly values: ValueFormat<unknown>
  /** Whether the store has a changelog. It has none if its state can be recomputed or may be lost. */
  readonly logged: boolean
  /** True if replaced and deleted values must also be erased from files and changelogs. */
  readonly erasable?: boolean
  /** Allows queries from outside the task. Undefined for stores that cannot be read by key alone. */
  readonly lookup?: AnyStoreLookup
  /** Called once in the life of the task, before any other method and after its state has been restored. */
  open(context: StoreContext): void
  /**
   * Begins a batch. Keys that are prefetched between this call and the next call of `loadPrefetched` stay in memory
   * until the next batch with this number begins. Keys that are prefetched outside of batches stay until the next call
   * of `loadPrefetched` or `flush`.
   */
  prefetchFor(batch: number): void
  /**
   * Reads all keys requested by `prefetch(key)` since the last call, with one multi-get. May be called again after it
   * has thrown UnknownSchemaError. Ignores keys that cannot be encoded; an error is thrown only when such a key is
   * used.
   * @returns the size of the values that were read, in bytes
   */
  loadPrefetched(): number
  readonly dirtyKeys: number
  /** Estimated size in bytes of the rows that the next `flush` writes. */
  readonly dirtyBytes: number
  /**
   * Begins a commit: adds every dirty key once to the changelog and the batch. Later changes belong to the next commit.
   */
  flush(changelog: ChangelogWriter | undefined): void
  /**
   * Begins to remember which rows change, until the next `flush`, and forgets earlier changes. Undefined for stores
   * whose rows the changelog always accepts.
   */
  trackChanges?(): void
  /**
   * Encodes the rows that have changed since `trackChanges`, and passes them to `check`, which throws if the changelog
   * would refuse a row. A row that `flush` could not write thus fails right after its change, so that the engine can
   * identify the record that caused the failure. Nothing is written, and the rows remain changed.
   */
  checkChanges?(check: ChangelogWriter | undefined): void
  /**
   * Ends a commit, after the transaction was committed and the batch written. From now on, the cache may evict the
   * flushed objects.
   */
  committed(): void
  /** Drops the cache and all dirty objects, because the transaction was aborted or the task was closed. */
  discard(): void
}

/** What a query needs to read a key of a store from the database, outside the task and without uncommitted changes. */
export interface StoreLookup<K, V> {
  readonly key: Codec<K>
  /** The bytes that precede the encoded key in a row's key. Rows with other prefixes cannot be read by key. */
  readonly rowPrefix: Buffer
  /** Converts a stored value to the form that readers get. This form is close to JSON. */
  view(stored: unknown): V
}

/** The row prefix of stores that use the encoded keys themselves as row keys. */
export const NO_ROW_PREFIX = Buffer.alloc(0)

// biome-ignore lint/suspicious/noExplicitAny: keys are invariant, so no narrower type accepts every store
export type AnyStoreLookup = StoreLookup<any, any>

/**
 * The node that is using a task's stores. A store checks the node before each use, so that a node that did not declare
 * the store in its `stores` fails immediately. Without the check, the node would read and write state that may belong
 * to another sub-topology, and the topology's description would not show this.
 */
export interface StoreAccess {
  /** The node whose code is running; undefined when there is none, for instance when a test reads a store. */
  readonly node: object | undefined
  /** @throws Error if the running node has not declared the store */
  admit(store: string): void
}

export interface StoreContext {
  /** This store's key space in this task's partition. */
  readonly column: StateColumn
  /** The codec of `values`, bound to its registered schema. */
  readonly codec: Codec<unknown>
  /** Maximum size, in bytes, of what this store instance caches, unless the store's own options set a size. */
  readonly cacheBytes: number
  /** Default: every node may use the store. */
  readonly access?: StoreAccess
  /** The slot of the task's current record. If it is undefined, the store looks up every key in its cache. */
  readonly record?: RecordSlot
  /** The task's event time. If it is undefined (unknown), a store uses only the times of a key's own entries. */
  readonly time?: StreamTime
}

/**
 * The slot of the record that is being processed, or whose reads are being announced. A record is processed in the slot
 * in which its reads were announced, so a store finds the record's entry there without a search.
 */
export interface RecordSlot {
  /** Number of the record's source. It is also the number of the source's batch (`prefetchFor`). */
  readonly source: number
  /** Index of the record in the batch. */
  readonly slot: number
}

/** The event time of a task: the maximum timestamp of its processed records, epoch ms; -1 before the first. */
export interface StreamTime {
  readonly streamTime: number
}

/** Receives changelog records. It copies their bytes before it returns. */
export interface ChangelogWriter {
  append(key: Uint8Array, keyStart: number, keyEnd: number, value: Uint8Array | null, valueStart: number, valueEnd: number): void
}

/** Keys in one buffer: key i occupies `bytes` from `starts[i]` to `ends[i]`. */
export interface PackedKeys {
  readonly bytes: Buffer
  /** Undefined if the keys follow one another without gaps, beginning at position 0. */
  readonly starts?: readonly number[]
  readonly ends: readonly number[]
}

/** A range of keys in byte order, from `gte` (inclusive) to `lt` (exclusive). Both bounds are optional. */
export interface ByteRange {
  readonly gte?: Buffer
  readonly lt?: Buffer
  readonly limit?: number
  readonly reverse?: boolean
}

/** The key space of one store and partition in the worker's database. Keys exclude the prefix of the key space. */
export interface StateColumn {
  /** Requests a rewrite of the database, so that its files no longer contain replaced or deleted values. */
  scrub(): void
  /** Returns one result per key, in the given order; undefined for missing keys. Ignores the open batch. */
  multiGet(keys: PackedKeys): (Buffer | undefined)[]
  /**
   * Iterates over written entries in ascending key order (descending with `reverse`), as of the start of the scan.
   * Ignores the open batch.
   */
  scan(range: ByteRange): Iterable<readonly [key: Buffer, value: Buffer]>
  /** Adds a change to the worker's open batch. A null value deletes the key. The bytes are copied. */
  put(key: Uint8Array, keyStart: number, keyEnd: number, value: Uint8Array | null, valueStart: number, valueEnd: number): void
}

/**
 * The state of a process: one database, or two if some stores are erasable. It contains the stores and positions of all
 * tasks of all topologies, within one memory budget. A process may run several workers (one per topology), each in the
 * middle of a transaction. Each worker therefore writes through a separate session, so that a commit never writes the
 * open batch of another worker.
 */
export interface StateBackend {
  /**
   * Opens the topology's part of the database: its stores and positions. Returns the same session for the same
   * topology.
   */
  session(topology: string): StateSession
  /**
   * Opens the same stores and positions with a separate open batch, for records that are copied from changelogs outside
   * of transactions. This batch is written as soon as it is filled, not with a commit.
   */
  copySession(topology: string): StateSession
  /**
   * Rewrites the database if a rewrite was requested after the last one began, so that its files no longer contain
   * replaced and deleted values. Processing continues in the meantime.
   * @returns whether the database was rewritten
   */
  scrub(): Promise<boolean>
  /** Returns the sizes on disk and in memory, for /metrics and /tasks. */
  stats(): StateStats
  /** Releases the lock. The content of open batches is lost. */
  close(): Promise<void>
}

/** Changes that are written atomically. */
export interface StateBatch {
  /**
   * Adds a named position to the batch, such as a changelog position or a source offset. A null offset removes the
   * position.
   */
  putPosition(name: string, offset: number | null): void
  /**
   * Writes all changes and positions synchronously. The writes to each database are atomic. If writing to a database
   * fails (for example because the disk is full), none of its changes become visible, and the database accepts no more
   * writes until it is reopened. After a successful write, the batch is empty.
   */
  write(): void
  drop(): void
}

/** One worker's view of the database, with a separate open batch. */
export interface StateSession {
  /**
   * Maximum size, in bytes, of a batch that stays within the memory budget of the database. The database also accepts
   * larger batches.
   */
  readonly batchBytes: number
  /** Opens the key space of a store in a partition. Creates the key space if it does not exist. */
  column(store: string, partition: number): StateColumn
  /**
   * Hands over the open batch and starts a new one. Call this method before the batch waits for its transaction, so
   * that changes of the next transaction or of a restore are not written with the batch. Batches must be written in the
   * order in which they were handed over.
   */
  takeBatch(): StateBatch
  /** Writes the open batch; see `StateBatch`. */
  write(): void
  dropBatch(): void
  /**
   * True if writes that are not urgent should wait, because the database has fallen behind and would soon delay all
   * writes.
   */
  isOverloaded(): boolean
  /** True if the database has fallen so far behind that one of the next writes would block the event loop. */
  nearsStall(): boolean
  /** Adds a position to the open batch. */
  putPosition(name: string, offset: number | null): void
  /** Returns the position as last written; undefined when there is none. */
  position(name: string): number | undefined
  /**
   * Empties a key space and removes its positions immediately and atomically. Used when the state cannot be completed
   * from its changelog, and when it is no longer needed. The open batch must not contain changes to this key space.
   * Columns that are already open then refer to the empty key space.
   */
  clear(store: string, partition: number, positions?: readonly string[]): void
}

export interface StateStats {
  readonly diskBytes: number
  /** Memtables, block cache and table readers. */
  readonly memoryBytes: number
}
