import { avroValue } from '../../schemas/avro/value.ts'
import { type ByteWriter, byteWriter, type Codec } from '../../schemas/codec.ts'
import type { ValueFormat } from '../../schemas/topic.ts'
import { type Entry, entryCache } from './entry-cache.ts'
import { decodeStored } from './errors.ts'
import type { ChangelogWriter, EngineStore, StateColumn, StoreContext, StoreLookup } from './store.ts'

export interface TimerStoreOptions<K> {
  readonly key: Codec<K>
  /** Whether the store has a changelog. Default true. */
  readonly logged?: boolean
  /**
   * Memory for cached objects per task, in bytes, estimated from their encoded sizes. Default: the worker's setting.
   */
  readonly cacheBytes?: number
}

/** Stores at most one timer per key. Times are non-negative epoch milliseconds of a clock that the caller chooses. */
export interface TimerStore<K> extends EngineStore {
  readonly lookup: StoreLookup<K, number>
  prefetch(key: K): void
  /** Sets the key's timer. Replaces its earlier timer, if any. */
  schedule(key: K, due: number): void
  cancel(key: K): void
  /** Returns the due time of the key's timer; undefined when there is none. */
  dueTime(key: K): number | undefined
  /**
   * Returns at most `limit` timers that are due at `now`, earliest first, and in key order for equal times. The timers
   * remain until they are cancelled.
   */
  due(now: number, limit: number): Timer<K>[]
  /** Returns the timers that `due` would return, and cancels them. */
  takeDue(now: number, limit: number): Timer<K>[]
}

export interface Timer<K> {
  readonly key: K
  readonly due: number
}

interface TimerState {
  due: number | undefined
  /** Due time of the key's current row under BY_TIME. That row must be deleted when the timer changes. */
  written: number | undefined
}

/** First byte of the rows that contain each key's timer and are sorted by key. */
const BY_KEY = 0x6b
const BY_KEY_PREFIX = Buffer.of(BY_KEY)
/** First byte of the rows that are sorted by due time and key. The timers that are due come first among these rows. */
const BY_TIME = 0x74
/**
 * Size of a due time. It is stored as a big-endian double, because the bytes of non-negative doubles sort like the
 * numbers.
 */
const TIME_BYTES = 8
const KEY_AT = 1 + TIME_BYTES

/** The value of both kinds of rows is the due time. */
const dueFormat: ValueFormat<number> = avroValue<number>('long')

export function timerStore<K>(name: string, options: TimerStoreOptions<K>): TimerStore<K> {
  const keys = options.key
  const keyBytes = byteWriter()
  const valueBytes = byteWriter()
  const entries = entryCache<K, TimerState>({ name, key: keys, cacheBytes: options.cacheBytes, encodeReadKey, read, write })
  let values: Codec<number>
  let column: StateColumn
  /** No row under BY_TIME has an earlier due time. A scan from here skips the tombstones of fired timers. */
  let firstRow = 0

  function encodeReadKey(key: K, out: ByteWriter): void {
    out.reserve(1)
    out.buffer[out.length++] = BY_KEY
    keys.encode(key, out)
  }

  function encodeTimeKey(due: number, key: K): void {
    keyBytes.length = 0
    keyBytes.reserve(KEY_AT)
    keyBytes.buffer[0] = BY_TIME
    keyBytes.buffer.writeDoubleBE(due, 1)
    keyBytes.length = KEY_AT
    keys.encode(key, keyBytes)
  }

  function read(entry: Entry<K, TimerState>, bytes: Buffer | undefined): void {
    const due = bytes && decodeStored(values, bytes, name)
    entry.value = { due, written: due }
  }

  function write({ key, value }: Entry<K, TimerState>, _to: StateColumn, changelog: ChangelogWriter | undefined): number {
    const { due, written } = value as TimerState
    if (due === written) return 0
    valueBytes.length = 0
    if (written !== undefined) {
      encodeTimeKey(written, key)
      writeRow(null, changelog)
    }
    let bytes: Buffer | null = null
    if (due !== undefined) {
      values.encode(due, valueBytes)
      bytes = valueBytes.buffer
      encodeTimeKey(due, key)
      writeRow(bytes, changelog)
      firstRow = Math.min(firstRow, due)
    }
    keyBytes.length = 0
    encodeReadKey(key, keyBytes)
    writeRow(bytes, changelog)
    ;(value as TimerState).written = due
    return keyBytes.length + valueBytes.length
  }

  function writeRow(value: Buffer | null, changelog: ChangelogWriter | undefined): void {
    changelog?.append(keyBytes.buffer, 0, keyBytes.length, value, 0, valueBytes.length)
    column.put(keyBytes.buffer, 0, keyBytes.length, value, 0, valueBytes.length)
  }

  function timeBound(time: number): Buffer {
    const bound = Buffer.alloc(KEY_AT)
    bound[0] = BY_TIME
    bound.writeDoubleBE(time, 1)
    return bound
  }

  /** Returns the due timers that are not in the column yet, in order. */
  function pendingDue(pending: ReadonlySet<Entry<K, TimerState>>, now: number): { row: Buffer; timer: Timer<K> }[] {
    const list: { row: Buffer; timer: Timer<K> }[] = []
    for (const { key, value } of pending) {
      const due = value?.due
      if (due === undefined || due > now) continue
      encodeTimeKey(due, key)
      list.push({ row: Buffer.from(keyBytes.buffer.subarray(0, keyBytes.length)), timer: { key, due } })
    }
    return list.sort((a, b) => Buffer.compare(a.row, b.row))
  }

  /**
   * Returns the earliest due time in the rows that were last written for timers with uncommitted changes; Infinity if
   * there are none. A scan does not find rows that are not committed yet, so `firstRow` must not be later than these
   * rows.
   */
  function firstWritten(pending: ReadonlySet<Entry<K, TimerState>>): number {
    let first = Infinity
    for (const { value } of pending) first = Math.min(first, value?.written ?? Infinity)
    return first
  }

  function due(now: number, limit: number): Timer<K>[] {
    entries.checkAccess()
    if (limit <= 0) return []
    const pending = entries.pending()
    const changes = pendingDue(pending, now)
    const timers: Timer<K>[] = []
    let nextChange = 0
    let firstSeen: number | undefined
    const someRows = now >= firstRow
    const rows = someRows ? column.scan({ gte: timeBound(firstRow), lt: timeBound(nextAfter(now)), limit: limit + pending.size }) : []
    for (const [row] of rows) {
      const time = row.readDoubleBE(1)
      firstSeen ??= time
      while (nextChange < changes.length && timers.length < limit && Buffer.compare(changes[nextChange].row, row) < 0) {
        timers.push(changes[nextChange++].timer)
      }
      if (timers.length >= limit) break
      const key = keys.decode(row, KEY_AT, row.length)
      const entry = entries.peek(key)
      // The row of a changed timer is skipped, because its time is outdated. If the timer is still due, it is in
      // `changes`.
      if (entry === undefined || !pending.has(entry)) timers.push({ key, due: time })
    }
    if (someRows) firstRow = Math.min(firstSeen ?? nextAfter(now), firstWritten(pending))
    while (nextChange < changes.length && timers.length < limit) timers.push(changes[nextChange++].timer)
    return timers
  }

  function set(entry: Entry<K, TimerState>, due: number | undefined): void {
    const state = entry.value as TimerState
    if (state.due === due) return
    entries.changed(entry.key)
    state.due = due
  }

  return {
    name,
    values: dueFormat as ValueFormat<unknown>,
    logged: options.logged ?? true,
    lookup: { key: keys, rowPrefix: BY_KEY_PREFIX, view: (due) => due as number },
    open(context: StoreContext) {
      values = context.codec as Codec<number>
      column = context.column
      firstRow = 0
      entries.open(context)
    },
    prefetchFor: entries.prefetchFor,
    prefetch: entries.prefetch,
    loadPrefetched: entries.loadPrefetched,
    schedule(key, time) {
      if (!(Number.isSafeInteger(time) && time >= 0)) throw new RangeError(`store ${name}: ${time} is not a valid time in epoch ms`)
      // Adding zero turns -0 into 0. Otherwise, the row of -0 would sort after all other rows.
      set(entries.entry(key), time + 0)
    },
    cancel(key) {
      set(entries.entry(key), undefined)
    },
    dueTime(key) {
      return entries.entry(key).value?.due
    },
    due,
    takeDue(now, limit) {
      const timers = due(now, limit)
      for (const { key, due: time } of timers) set(entries.known(key, { due: time, written: time }), undefined)
      return timers
    },
    get dirtyKeys() {
      return entries.dirtyKeys
    },
    get dirtyBytes() {
      return entries.dirtyBytes
    },
    flush: entries.flush,
    committed: entries.committed,
    discard: entries.discard,
  }
}

/** Returns the next whole millisecond, which is the exclusive end of a range that includes `time`. */
function nextAfter(time: number): number {
  return Math.floor(time) + 1
}
