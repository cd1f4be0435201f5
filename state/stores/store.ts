import type { ByteWriter, Codec } from '../../schemas/codec.ts'
import type { ValueFormat } from '../../schemas/topic.ts'

/**
 * A store as the engine sees it. One instance belongs to one task (sub-topology × partition); processors use the typed
 * handle that implements this interface (keyedStore, windowedCounterStore, timerStore, topKStore, joinBufferStore, seenSetStore).
 *
 * Life of a change: `put` keeps the object in memory (dirty) → `flush` encodes each dirty key once into the changelog and into the
 * backend's batch → the transaction commits → the batch is written → `committed`. `discard` forgets what was not committed.
 * The bytes in the backend are exactly the bytes of the changelog record, so restoring is copying.
 */
export interface EngineStore {
  /** Given by the topology's author; names the column family and the changelog topic. */
  readonly name: string
  /** What the changelog's values are. */
  readonly values: ValueFormat<unknown>
  /** False: no changelog (state that can be recomputed or lost). */
  readonly logged: boolean
  /** How readers outside the task find a key; undefined for stores that only the engine reads. */
  readonly lookup?: AnyStoreLookup
  /** Called once per life of the task, before any other method, when its state is restored. */
  open(context: StoreContext): void
  /** Reads every key asked for by `prefetch(key)` since the last call with one multi-get. May be called again when it threw UnknownSchemaError. */
  loadPrefetched(): void
  readonly dirtyKeys: number
  /** Commit step 1: encodes every dirty key once. Changes made from here on belong to the next commit. */
  flush(changelog: ChangelogWriter | undefined): void
  /** After commit step 5: dirty objects are clean now. */
  committed(): void
  /** Forgets cache and dirty objects: the transaction was aborted or the task closed. */
  discard(): void
}

/** How one key of a store is read in the database, outside its task and beside its changes. */
export interface StoreLookup<K, V> {
  readonly key: Codec<K>
  /** Appends the key of the row that holds the value. */
  encodeRow(key: K, out: ByteWriter): void
  /** What the stored value means to a reader, in JSON's terms or nearly. */
  view(stored: unknown): V
}

// biome-ignore lint/suspicious/noExplicitAny: keys are invariant, so no narrower type accepts every store
export type AnyStoreLookup = StoreLookup<any, any>

/**
 * Who uses the stores of a task at this moment. A store asks before each use, so that a node which did not declare the store in its `stores`
 * fails at once. Otherwise it would read and write state that may belong to another sub-topology, and no description would show it.
 */
export interface StoreAccess {
  /** The node whose code runs; undefined while none does, for instance when a test reads a store. */
  readonly node: object | undefined
  /** @throws unless the node whose code runs declared the store */
  admit(store: string): void
}

export interface StoreContext {
  /** This store's key space in this task's partition. */
  readonly column: StateColumn
  /** The codec of `values`, bound to its registered schema. */
  readonly codec: Codec<unknown>
  /** Objects kept decoded in memory, at most, by this store instance. */
  readonly cachedObjects: number
  /** Default: everybody may use the store. */
  readonly access?: StoreAccess
}

/** Takes changelog records; bytes are copied before it returns. */
export interface ChangelogWriter {
  append(key: Uint8Array, keyStart: number, keyEnd: number, value: Uint8Array | null, valueStart: number, valueEnd: number): void
}

/** Keys laid end to end: key i lies in `bytes` from `ends[i - 1]` (0 for the first) to `ends[i]`. */
export interface PackedKeys {
  readonly bytes: Buffer
  readonly ends: readonly number[]
}

/** A range of keys in byte order, from `gte` (inclusive) to `lt` (exclusive); either may be absent. */
export interface ByteRange {
  readonly gte?: Buffer
  readonly lt?: Buffer
  readonly limit?: number
  readonly reverse?: boolean
}

/** The key space of one store and partition in the worker's database. Keys are given without the partition prefix. */
export interface StateColumn {
  /** One entry per key, in the order asked; undefined where absent. The open batch is not seen. */
  multiGet(keys: PackedKeys): (Buffer | undefined)[]
  /** Written entries in ascending (or, with `reverse`, descending) key order, as they were when the scan began. The open batch is not seen. */
  scan(range: ByteRange): Iterable<readonly [key: Buffer, value: Buffer]>
  /** Adds to the worker's open batch; null deletes. The bytes are copied. */
  put(key: Uint8Array, keyStart: number, keyEnd: number, value: Uint8Array | null, valueStart: number, valueEnd: number): void
}

/**
 * The process's one database: every store of every task of every topology, and the positions, in one place with one
 * memory budget. A process may host several workers (one per topology), each in the middle of its own transaction: each writes
 * through its own session, so that the open batch of one worker never goes out with the commit of another.
 */
export interface StateBackend {
  /** The part of the database that belongs to one topology: its stores and its positions. The same session for the same name. */
  session(topology: string): StateSession
  /** The same stores and positions with an open batch of its own, for what is copied from changelogs beside the transactions: it is written when it is there, not with a commit. */
  copySession(topology: string): StateSession
  /** Bytes on disk and in memory, for /metrics and /tasks. */
  stats(): StateStats
  /** Releases the lock. What is in open batches is lost. */
  close(): Promise<void>
}

/** Changes that are written together or not at all. */
export interface StateBatch {
  /** Adds a position: changelog positions and source offsets by name. Null removes it. */
  putPosition(name: string, offset: number | null): void
  /** Writes all of it, with the positions, at once. Synchronous. When it throws (disk full), nothing of the batch is seen; the database takes no more writes until it is opened again. The batch is empty afterwards. */
  write(): void
  drop(): void
}

/** One worker's view of the database, with an open batch of its own. */
export interface StateSession {
  /** Opens (creating it where missing) the key space of a store in a partition. */
  column(store: string, partition: number): StateColumn
  /**
   * Hands the open batch over: from here on the columns put into a new one. A batch that waits for its transaction is taken, so that what is
   * put meanwhile, for the next transaction or by a restore, never goes out with it. Batches may be written in the order taken only.
   */
  takeBatch(): StateBatch
  /** Writes the open batch; see `StateBatch`. */
  write(): void
  /** Drops the open batch. */
  dropBatch(): void
  /** Adds a position to the open batch. */
  putPosition(name: string, offset: number | null): void
  /** As last written; undefined where there is none. */
  position(name: string): number | undefined
  /**
   * Empties a key space at once and atomically with its positions (state that is older than its changelog allows to repair, or wiped by request).
   * Not part of the open batch, which must hold nothing of this key space. Columns opened before see it empty.
   */
  clear(store: string, partition: number, positions?: readonly string[]): void
}

export interface StateStats {
  readonly diskBytes: number
  /** Memtables, block cache and table readers. */
  readonly memoryBytes: number
}
