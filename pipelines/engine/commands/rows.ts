import type { AnyTopic, Topic } from '../../../schemas/topic.ts'
import type { KeyedStore } from '../../../state/stores/keyed-store.ts'
import type { KeyRange } from '../../../state/stores/merged-scan.ts'
import type { EngineStore } from '../../../state/stores/store.ts'
import type { Timer, TimerStore } from '../../../state/stores/timer-store.ts'
import type { Context, EmitOptions } from '../topology/api.ts'

/**
 * The rows that a decision may read in addition to the state of its key. They come from the stores that the decision
 * declares, and include the changes by all earlier commands of the partition.
 */
export interface Rows {
  get<K>(store: TimerStore<K>, key: K): number | undefined
  get<K, V>(store: KeyedStore<K, V>, key: K): V | undefined
  /**
   * Iterates over rows in key order. Begin at the first key that can exist: the cost grows with the number of rows that
   * the scan passes, including deleted rows that the database has not compacted yet.
   */
  scan<K, V>(store: KeyedStore<K, V>, range: KeyRange<K>): IteratorObject<[key: K, value: V]>
  /** Returns at most `limit` timers that are due at `now`, earliest first. */
  due<K>(store: TimerStore<K>, now: number, limit: number): Timer<K>[]
}

/** Announces the rows that a command will read, so that one multi-get per store can read the rows of a whole batch. */
export interface RowPrefetch {
  prefetch<K>(store: { prefetch(key: K): void }, key: K): void
}

/** A change to a row, created by `row`. */
export interface RowChange {
  readonly store: EngineStore
  readonly key: unknown
  /** Null deletes the row. */
  readonly value: unknown
}

/** A record to emit, created by `emission`. */
export interface Emission {
  readonly topic: AnyTopic
  readonly key: unknown
  readonly value: unknown
  readonly options?: EmitOptions
}

/** The changes that a decision makes in addition to the state of its own key. They are applied in order. */
export interface RowChanges {
  readonly puts?: readonly RowChange[]
  readonly emits?: readonly Emission[]
}

/** Returns a change to a store's row or to a timer's time (epoch ms). Null deletes the row or timer. */
export function row<K>(store: TimerStore<K>, key: K, due: number | null): RowChange
export function row<K, V>(store: KeyedStore<K, V>, key: K, value: V | null): RowChange
export function row(store: EngineStore, key: unknown, value: unknown): RowChange {
  return { store, key, value }
}

/** Returns a record for a topic that the decision declares in `emits`. Null is a tombstone. */
export function emission<K, V>(topic: Topic<K, V>, key: K, value: V | null, options?: EmitOptions): Emission {
  return { topic, key, value, options }
}

type AnyTimers = TimerStore<unknown>
type AnyRows = KeyedStore<unknown, unknown>

function isTimers(store: EngineStore): store is AnyTimers {
  return 'schedule' in store
}

/** A reader of the rows in the task's own stores. */
export const storedRows: Rows = {
  get: (store: EngineStore, key: unknown): never => (isTimers(store) ? store.dueTime(key) : (store as AnyRows).get(key)) as never,
  scan: (store, range) => store.scan(range),
  due: (store, now, limit) => store.due(now, limit),
}

export const storedPrefetch: RowPrefetch = { prefetch: (store, key) => store.prefetch(key) }

export function applyChanges({ puts = [], emits = [] }: RowChanges, ctx: Context): void {
  for (const change of puts) applyRow(change)
  for (const { topic, key, value, options } of emits) ctx.emit(topic, key, value, { timestamp: ctx.now, ...options })
}

function applyRow({ store, key, value }: RowChange): void {
  if (isTimers(store)) {
    if (value === null) store.cancel(key)
    else store.schedule(key, value as number)
    return
  }
  const rows = store as AnyRows
  if (value === null) rows.delete(key)
  else rows.put(key, value)
}
