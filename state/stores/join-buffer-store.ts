import { compileEncoder, type Encode } from '../../schemas/avro/encoder.ts'
import { avroValue } from '../../schemas/avro/value.ts'
import { byteWriter, type Codec } from '../../schemas/codec.ts'
import type { AvroSchema, ValueFormat } from '../../schemas/topic.ts'
import { keyedStore } from './keyed-store.ts'
import type { ChangelogWriter, EngineStore } from './store.ts'
import { storeLife } from './store-life.ts'

export interface JoinBufferOptions<K> {
  readonly key: Codec<K>
  /** The schema of one buffered value. */
  readonly value: AvroSchema
  /**
   * Maximum difference in ms between the times of two joined records. It determines the layout of rows, so a store with
   * a different span needs a different name.
   */
  readonly spanMs: number
  /** Whether the store has a changelog. Default true. */
  readonly logged?: boolean
  /**
   * Memory for cached objects per task, in bytes, estimated from their encoded sizes. Default: the worker's setting.
   */
  readonly cacheBytes?: number
}

/** A buffered value and its time (epoch ms). */
export interface Buffered<V> {
  readonly time: number
  readonly value: V
}

/**
 * One side of a windowed stream-stream join. It buffers values by key and time, so that records of the other side can
 * look them up. Records may arrive in any order. Expired values are found by time, without a scan of all values.
 */
export interface JoinBufferStore<K, V> extends EngineStore {
  /** Announces a later call of `joinable(key, time)`. */
  prefetch(key: K, time: number): void
  add(key: K, time: number, value: V): void
  /**
   * Returns the values of the key that are at most `spanMs` before or after `time`, oldest first. Values of equal time
   * are in insertion order.
   */
  joinable(key: K, time: number): Buffered<V>[]
  /**
   * Removes values that are more than `spanMs` older than `time`. All values of a key in a segment are removed
   * together, so a value stays until its entire segment has expired.
   * @param limit maximum number of pairs of a segment and a key whose values are removed, starting with the earliest
   * segment
   * @returns the removed values, for joins that emit records without a partner
   */
  takeExpired(time: number, limit: number): { readonly key: K; readonly values: readonly Buffered<V>[] }[]
}

/** Number of segments per span. Values stay up to a quarter of the span longer than necessary. */
const SEGMENTS = 4
const SEGMENT_BYTES = 8
const NUMBER_BYTES = 4
/**
 * The first byte of a row's key, for each kind of row. A value row (`first` or `further`) contains values of one join
 * key. The index rows of a segment list the join keys that have values in the segment, so that expired values can be
 * found. A commit usually writes one index row per segment, with the keys that received their first value there, so
 * adding a record costs little more than reading and writing one row.
 */
const KINDS = { first: 0x66, further: 0x67, index: 0x69 } as const
/**
 * Size at which a row counts as full. Without this limit, the values of a frequent key would grow into a row that no
 * changelog accepts, and every commit would write all of them again. A row may become larger, because its last value
 * may exceed this size, and because the computed size counts only the shortest form of each time. Unless values are
 * large, it stays far below Kafka's default limit of 1 MiB. Never increase this number: rows that were full would then
 * have room again, and the rows after them would not be found.
 */
const FULL_ROW_BYTES = 262_144
/** An index row is full when its list of join keys has this many characters. */
const FULL_INDEX_LENGTH = 16_384
/**
 * Size of the shortest varint. Times are stored as varints. The computed size of a row must never exceed the stored
 * size, so it counts the shortest form of each time.
 */
const MIN_TIME_BYTES = 1

/** The content of a row: the values of a value row, or the keys of an index row. */
interface StoredRow<V> {
  values: Buffered<V>[]
  /** The list of join keys; see `listed`. Empty in value rows. */
  keys: string
}

interface Row<V> extends StoredRow<V> {
  /** Size of the row in bytes, never more than its stored size. The value may be 0 until the size is needed. */
  bytes: number
}

export function joinBufferStore<K, V>(name: string, options: JoinBufferOptions<K>): JoinBufferStore<K, V> {
  return joinBufferWithRows(name, options, FULL_ROW_BYTES)
}

/**
 * Creates a `joinBufferStore` with a different row size, for tests.
 * @param fullRowBytes size at which a row is full, so that further values go to another row. Must never be larger than
 * it was when the existing rows were written
 */
export function joinBufferWithRows<K, V>(name: string, options: JoinBufferOptions<K>, fullRowBytes: number): JoinBufferStore<K, V> {
  const { spanMs } = options
  if (!Number.isFinite(spanMs) || spanMs <= 0) throw new RangeError(`store ${name}: spanMs must be positive and finite, not ${spanMs}`)
  const segmentMs = Math.ceil(spanMs / SEGMENTS)
  const scratch = byteWriter()
  let encodeValue: Encode<V> | undefined
  const rowKeys = rowKeysOf(options.key)
  // The keys of the inner store are text, so that it need not encode a key for each lookup, and writes its rows in key
  // order.
  const rows = keyedStore<string, Row<V>>(name, {
    key: bytesAsText,
    value: rowsOf(avroValue<StoredRow<V>>(storedRow(options.value))),
    logged: options.logged,
    cacheBytes: options.cacheBytes,
  })
  /** The open index row of each segment. It collects the segment's keys until the next commit. */
  const openIndexes = new Map<number, Row<V>>()
  /** The number of the next index row of each segment. */
  const nextNumbers = new Map<number, number>()
  /** The first segment that may have an index row. A scan from here skips the tombstones of removed rows. */
  let firstSegment = 0

  function segmentOf(time: number): number {
    return Math.max(0, Math.floor(time / segmentMs))
  }

  function bytesOf(value: V): number {
    encodeValue ??= compileEncoder<V>(options.value)
    scratch.length = 0
    encodeValue(value, scratch)
    return scratch.length + MIN_TIME_BYTES
  }

  function isFull(row: Row<V>): boolean {
    // Most rows never get a second value, so the size of the first value is computed only when it is needed.
    if (row.bytes === 0) for (const { value } of row.values) row.bytes += bytesOf(value)
    return row.bytes >= fullRowBytes
  }

  /** Returns the value rows of a key, which are called its parts. All but the last one are full. */
  function partsOf(key: string): Row<V>[] {
    const parts: Row<V>[] = []
    for (;;) {
      const row = rows.get(rowKeys.part(key, parts.length))
      if (row === undefined) return parts
      parts.push(row)
      if (!isFull(row)) return parts
    }
  }

  /**
   * Finds the part that receives the next value once the first part is full. Parts that are not cached must be decoded,
   * so an exponential search is used, which reads few parts.
   */
  function openPart(key: string): number {
    return firstAfter(0, (part) => {
      const row = rows.get(rowKeys.part(key, part))
      return row === undefined || !isFull(row)
    })
  }

  /** Adds a key to the segment's open index row, which the next commit writes. */
  function list(key: string, segment: number): void {
    let open = openIndexes.get(segment)
    if (open === undefined || open.keys.length >= FULL_INDEX_LENGTH) {
      const number = freeNumber(segment, nextNumbers.get(segment) ?? 0)
      nextNumbers.set(segment, number + 1)
      open = { values: [], keys: '', bytes: 0 }
      openIndexes.set(segment, open)
      // The row counts as changed until the next flush, so further keys can be added without another `put`.
      rows.put(rowKeys.index(segment, number), open)
    }
    open.keys += listed(key)
    firstSegment = Math.min(firstSegment, segment)
  }

  /** Returns an unused number for an index row. The numbers in use have no gaps, except where rows were removed. */
  function freeNumber(segment: number, from: number): number {
    const isFree = (number: number) => rows.get(rowKeys.index(segment, number)) === undefined
    return isFree(from) ? from : firstAfter(from, isFree)
  }

  /**
   * Removes the values of a key in a segment.
   * @returns the removed values, oldest first
   */
  function removeSegment(key: string, segment: number): Buffered<V>[] {
    const isIn = ({ time }: Buffered<V>) => segmentOf(time) === segment
    const parts = partsOf(key)
    const removed = parts.flatMap(({ values }) => values.filter(isIn))
    if (removed.length === 0) return removed
    const kept = parts.flatMap(({ values }) => values.filter((buffered) => !isIn(buffered)))
    const repacked: Row<V>[] = []
    for (const buffered of kept) {
      let row = repacked.at(-1)
      if (row === undefined || isFull(row)) {
        row = { values: [], keys: '', bytes: 0 }
        repacked.push(row)
      }
      insert(row.values, buffered)
      row.bytes += bytesOf(buffered.value)
    }
    // Packing the values in order of time may need more rows than before.
    for (let part = 0; part < Math.max(parts.length, repacked.length); part++) {
      if (part < repacked.length) rows.put(rowKeys.part(key, part), repacked[part])
      else rows.delete(rowKeys.part(key, part))
    }
    return parts.length > 1 ? byTime(removed) : removed
  }

  return Object.assign(storeLife(rows), {
    // Values are found by key and time, so the store has no lookup by key alone.
    lookup: undefined,
    flush(changelog: ChangelogWriter | undefined) {
      rows.flush(changelog)
      // Later keys go to a new index row, so that the current row is not written again.
      openIndexes.clear()
    },
    discard() {
      firstSegment = 0
      openIndexes.clear()
      nextNumbers.clear()
      rows.discard()
    },
    prefetch(key: K) {
      let text: string
      try {
        text = rowKeys.textOf(key)
      } catch {
        return // The processor that uses the key gets the error.
      }
      rows.prefetch(rowKeys.part(text, 0))
    },
    add(key: K, time: number, value: V) {
      const text = rowKeys.textOf(key)
      let rowKey = rowKeys.part(text, 0)
      let row = rows.get(rowKey)
      if (row !== undefined && isFull(row)) {
        rowKey = rowKeys.part(text, openPart(text))
        row = rows.get(rowKey)
      }
      const segment = segmentOf(time)
      if (row === undefined) {
        rows.put(rowKey, { values: [{ time, value }], keys: '', bytes: 0 })
        list(text, segment)
        return
      }
      const { values } = row
      const at = insert(values, { time, value })
      row.bytes += bytesOf(value)
      rows.put(rowKey, row)
      const isListed = [values[at - 1], values[at + 1]].some((near) => near !== undefined && segmentOf(near.time) === segment)
      if (!isListed) list(text, segment)
    },
    joinable(key: K, time: number) {
      const parts = partsOf(rowKeys.textOf(key))
      const found: Buffered<V>[] = []
      for (const { values } of parts) for (const buffered of values) if (Math.abs(buffered.time - time) <= spanMs) found.push(buffered)
      return parts.length > 1 ? byTime(found) : found
    },
    takeExpired(time: number, limit: number) {
      const end = segmentOf(time - spanMs)
      const taken: { key: K; values: readonly Buffered<V>[] }[] = []
      // This call checks the caller's access to the store, so it precedes the early return. The scan itself only begins
      // with the loop.
      const expired = rows.scan({ gte: rowKeys.index(firstSegment, 0), lt: rowKeys.index(end, 0) })
      if (end <= firstSegment) return taken
      for (const [rowKey, row] of expired) {
        const segment = rowKeys.segmentOf(rowKey)
        let done = 0
        while (done < row.keys.length && taken.length < limit) {
          const key = listedAt(row.keys, done)
          const values = removeSegment(key, segment)
          if (values.length > 0) taken.push({ key: rowKeys.keyOf(key), values })
          done += listed(key).length
        }
        if (done === row.keys.length) {
          openIndexes.delete(segment)
          rows.delete(rowKey)
        } else {
          row.keys = row.keys.slice(done)
          rows.put(rowKey, row)
        }
        if (taken.length >= limit) return taken
      }
      for (const segment of nextNumbers.keys()) if (segment < end) nextNumbers.delete(segment)
      firstSegment = end
      return taken
    },
  })
}

/**
 * Finds a number after `from` for which a condition holds, by exponential search. The result is the first such number
 * if the condition also holds for all numbers after the first one.
 */
function firstAfter(from: number, holds: (number: number) => boolean): number {
  let below = from
  let step = 1
  while (!holds(from + step)) {
    below = from + step
    step *= 2
  }
  let found = from + step
  while (found - below > 1) {
    const middle = (below + found) >>> 1
    if (holds(middle)) found = middle
    else below = middle
  }
  return found
}

/**
 * Number of characters that encode the length of a key. Both characters are below `LENGTH_BASE`, so neither is a
 * surrogate. A lone surrogate could not be stored.
 */
const LENGTH_CHARACTERS = 2
const LENGTH_BASE = 0x8000

/**
 * Returns a key as an item of a list of keys. The list is a single text, because storing a thousand separate texts is
 * much slower.
 */
function listed(key: string): string {
  return String.fromCharCode(Math.floor(key.length / LENGTH_BASE), key.length % LENGTH_BASE) + key
}

function listedAt(keys: string, at: number): string {
  const start = at + LENGTH_CHARACTERS
  return keys.slice(start, start + keys.charCodeAt(at) * LENGTH_BASE + keys.charCodeAt(at + 1))
}

/**
 * Inserts a value into a list that is sorted by time, after all values of the same time.
 * @returns the index of the inserted value
 */
function insert<V>(values: Buffered<V>[], buffered: Buffered<V>): number {
  let at = values.length
  while (at > 0 && values[at - 1].time > buffered.time) at--
  if (at === values.length) values.push(buffered)
  else values.splice(at, 0, buffered)
  return at
}

/**
 * Sorts values, oldest first. The sort is stable, and later values are in later parts, so values of equal time stay in
 * insertion order.
 */
function byTime<V>(values: Buffered<V>[]): Buffered<V>[] {
  return values.sort((a, b) => a.time - b.time)
}

/** Extends the stored format: decoded rows also contain their stored size. */
function rowsOf<V>(format: ValueFormat<StoredRow<V>>): ValueFormat<Row<V>> {
  return {
    ...format,
    open(schemaId, schemas) {
      const { encode, decode } = format.open(schemaId, schemas)
      return { encode, decode: (buffer, start, end) => Object.assign(decode(buffer, start, end), { bytes: end - start }) }
    },
  }
}

/** A codec for text in which each character stands for one byte. The texts sort like the bytes. */
const bytesAsText: Codec<string> = {
  encode(text, out) {
    out.reserve(text.length)
    out.buffer.write(text, out.length, 'latin1')
    out.length += text.length
  },
  decode: (buffer, start, end) => buffer.toString('latin1', start, end),
}

/**
 * Builds and parses the keys of rows as text. Each key begins with the row's kind. The key of a first part continues
 * with the join key, and the key of a further part with the part's number and the join key. The key of an index row
 * continues with the segment and the row's number. Segments are big-endian doubles, whose bytes sort like the numbers.
 */
function rowKeysOf<K>(keys: Codec<K>) {
  const out = byteWriter()
  const first = String.fromCharCode(KINDS.first)
  /**
   * The last key that was encoded. A record is usually announced, looked up and added under the same key, so the key is
   * encoded only once.
   */
  let lastKey: K | undefined
  let lastText = ''
  let lastFirst = first

  function numbered(kind: number, write: () => void): string {
    out.length = 0
    out.reserve(1 + SEGMENT_BYTES + NUMBER_BYTES)
    out.buffer[0] = kind
    out.length = 1
    write()
    return out.buffer.toString('latin1', 0, out.length)
  }

  function putNumber(number: number): void {
    out.buffer.writeUInt32BE(number, out.length)
    out.length += NUMBER_BYTES
  }

  return {
    /** Returns the encoded join key as text. */
    textOf(key: K): string {
      if (key !== undefined && key === lastKey && typeof key !== 'object') return lastText
      out.length = 0
      keys.encode(key, out)
      lastText = out.buffer.toString('latin1', 0, out.length)
      lastFirst = first + lastText
      lastKey = key
      return lastText
    },
    keyOf(text: string): K {
      const buffer = Buffer.from(text, 'latin1')
      return keys.decode(buffer, 0, buffer.length)
    },
    part(text: string, part: number): string {
      if (part > 0) return numbered(KINDS.further, () => putNumber(part)) + text
      return text === lastText ? lastFirst : first + text
    },
    index: (segment: number, number: number) =>
      numbered(KINDS.index, () => {
        out.buffer.writeDoubleBE(segment, 1)
        out.length += SEGMENT_BYTES
        putNumber(number)
      }),
    segmentOf: (rowKey: string) => Buffer.from(rowKey, 'latin1').readDoubleBE(1),
  }
}

function storedRow(value: AvroSchema): AvroSchema {
  return {
    type: 'record',
    name: 'JoinBufferRow',
    namespace: 'millrace.state',
    fields: [
      { name: 'values', type: bufferedValues(value) },
      { name: 'keys', type: 'string' },
    ],
  }
}

function bufferedValues(value: AvroSchema): AvroSchema {
  return {
    type: 'array',
    items: {
      type: 'record',
      name: 'Buffered',
      namespace: 'millrace.state',
      fields: [
        { name: 'time', type: 'long' },
        { name: 'value', type: value },
      ],
    },
  }
}
