import { compileEncoder, type Encode } from '../../schemas/avro/encoder.ts'
import { avroValue } from '../../schemas/avro/value.ts'
import { type ByteWriter, byteWriter, type Codec } from '../../schemas/codec.ts'
import type { AvroSchema, ValueFormat } from '../../schemas/topic.ts'
import { keyedStore } from './keyed-store.ts'
import type { EngineStore } from './store.ts'
import { storeLife } from './store-life.ts'

export interface JoinBufferOptions<K> {
  readonly key: Codec<K>
  /** The schema of one buffered value. */
  readonly value: AvroSchema
  /**
   * Maximum time difference of two joined records, ms. It determines the row layout, so another span requires a store
   * with another name.
   */
  readonly spanMs: number
  /** Default true. */
  readonly logged?: boolean
  /** Memory for decoded objects, per task, estimated from the encoded sizes. Default: that of the worker. */
  readonly cacheBytes?: number
}

/** A buffered value and its time (epoch ms). */
export interface Buffered<V> {
  readonly time: number
  readonly value: V
}

/**
 * One side of a windowed stream-stream join: buffers values by key and time, where records of the other side find them.
 * Records may arrive in any order. Expired values are found by time, without a scan of the others.
 */
export interface JoinBufferStore<K, V> extends EngineStore {
  /** Announces a later call of `joinable(key, time)`. */
  prefetch(key: K, time: number): void
  add(key: K, time: number, value: V): void
  /**
   * Returns the values of the key that are at most `spanMs` before or after `time`, oldest first, and values of equal
   * time in insertion order.
   */
  joinable(key: K, time: number): Buffered<V>[]
  /**
   * Removes values that are more than `spanMs` older than `time`. It removes all values of a key in a segment at once,
   * so a value stays until its entire segment has expired.
   * @param limit maximum number of segments of keys
   * @returns the removed values, for joins that emit records without a partner
   */
  takeExpired(time: number, limit: number): { readonly key: K; readonly values: readonly Buffered<V>[] }[]
}

/**
 * Number of segments per span. A lookup reads up to 2 * SEGMENTS + 1 segments, and values stay up to a quarter of the
 * span longer than necessary.
 */
const SEGMENTS = 4
const SEGMENT_BYTES = 8
const PART_BYTES = 4
/** Added to the segment number in the keys of further parts, which therefore sort between this segment and the next. */
const FURTHER_PARTS = 0.5
/**
 * Size at which a row is full. Otherwise the values of a frequent key would grow into a row that no changelog accepts,
 * and every commit would write all of them again. Rows stay far below the 1 MiB of Kafka's default limit, although the
 * size that is compared leaves out most of each time. A larger number would hide the parts behind rows that were full.
 */
const FULL_ROW_BYTES = 262_144
/**
 * Size of a time, which is a varint, in its shortest form. The computed size of a row must never exceed the stored one.
 */
const MIN_TIME_BYTES = 1

/** The key of a row, which holds the values of one join key in one time segment, or a part of them. */
interface RowKey<K> {
  readonly segment: number
  /** Undefined sorts before all keys of the segment. */
  readonly key: K | undefined
  /** Parts are numbered from 0 without gaps, and all but the last one are full. */
  readonly part: number
}

export function joinBufferStore<K, V>(name: string, options: JoinBufferOptions<K>): JoinBufferStore<K, V> {
  return joinBufferWithRows(name, options, FULL_ROW_BYTES)
}

/**
 * Creates a `joinBufferStore` with rows of another size, for tests.
 * @param fullRowBytes size at which values go to another row; must not be larger than at an earlier start
 */
export function joinBufferWithRows<K, V>(name: string, options: JoinBufferOptions<K>, fullRowBytes: number): JoinBufferStore<K, V> {
  const { spanMs } = options
  if (!(spanMs > 0)) throw new RangeError(`store ${name}: spanMs must be positive`)
  const segmentMs = Math.ceil(spanMs / SEGMENTS)
  /** Size of each row in bytes. It never exceeds the stored size. */
  const sizes = new WeakMap<readonly Buffered<V>[], number>()
  const scratch = byteWriter()
  let encodeValue: Encode<V> | undefined
  const rows = keyedStore<RowKey<K>, Buffered<V>[]>(name, {
    key: rowKeys(options.key),
    value: measured(avroValue<Buffered<V>[]>(bufferedValues(options.value)), sizes),
    logged: options.logged,
    cacheBytes: options.cacheBytes,
  })
  /** No row is in an earlier segment, so a scan from here skips the tombstones of removed rows. */
  let firstSegment = 0

  function segmentOf(time: number): number {
    return Math.max(0, Math.floor(time / segmentMs))
  }

  function* segmentsAround(time: number): Generator<number> {
    const last = segmentOf(time + spanMs)
    for (let segment = segmentOf(time - spanMs); segment <= last; segment++) yield segment
  }

  function isFull(row: readonly Buffered<V>[]): boolean {
    return (sizes.get(row) ?? 0) >= fullRowBytes
  }

  /** Yields the rows of a key in a segment. */
  function* partsOf(segment: number, key: K): Generator<Buffered<V>[]> {
    for (let part = 0; ; part++) {
      const row = rows.get({ segment, key, part })
      if (row === undefined) return
      yield row
      if (!isFull(row)) return
    }
  }

  /**
   * Returns the number of the part that takes the next value. Searches in doubling steps, because reading a part may
   * mean decoding it.
   */
  function openPart(segment: number, key: K): number {
    const takesMore = (part: number) => {
      const row = rows.get({ segment, key, part })
      return row === undefined || !isFull(row)
    }
    if (takesMore(0)) return 0
    let full = 0
    let open = 1
    while (!takesMore(open)) {
      full = open
      open *= 2
    }
    while (open - full > 1) {
      const middle = (full + open) >>> 1
      if (takesMore(middle)) open = middle
      else full = middle
    }
    return open
  }

  function bytesOf(value: V): number {
    encodeValue ??= compileEncoder<V>(options.value)
    scratch.length = 0
    encodeValue(value, scratch)
    return scratch.length + MIN_TIME_BYTES
  }

  return Object.assign(storeLife(rows), {
    // Values are found by key and time, so there is no lookup by key alone.
    lookup: undefined,
    discard() {
      firstSegment = 0
      rows.discard()
    },
    prefetch(key: K, time: number) {
      for (const segment of segmentsAround(time)) rows.prefetch({ segment, key, part: 0 })
    },
    add(key: K, time: number, value: V) {
      const segment = segmentOf(time)
      const row = { segment, key, part: openPart(segment, key) }
      const values = rows.get(row) ?? []
      let at = values.length
      while (at > 0 && values[at - 1].time > time) at--
      values.splice(at, 0, { time, value })
      sizes.set(values, (sizes.get(values) ?? 0) + bytesOf(value))
      rows.put(row, values)
      firstSegment = Math.min(firstSegment, row.segment)
    },
    joinable(key: K, time: number) {
      const found: Buffered<V>[] = []
      for (const segment of segmentsAround(time)) {
        const first = found.length
        let parts = 0
        for (const row of partsOf(segment, key)) {
          parts++
          for (const buffered of row) if (Math.abs(buffered.time - time) <= spanMs) found.push(buffered)
        }
        if (parts > 1) for (const buffered of byTime(found.splice(first))) found.push(buffered)
      }
      return found
    },
    takeExpired(time: number, limit: number) {
      const end = segmentOf(time - spanMs)
      const taken: { key: K; values: readonly Buffered<V>[] }[] = []
      // This call checks the caller's access to the store, so it precedes the early return. The scan itself only begins
      // with the loop.
      const expired = rows.scan({ gte: startOf(firstSegment), lt: startOf(end), limit })
      if (end <= firstSegment) return taken
      for (const [row, values] of expired) {
        const key = row.key as K
        const parts = [...partsOf(row.segment, key)]
        taken.push({ key, values: parts.length > 1 ? byTime(parts.flat()) : values })
        parts.forEach((_, part) => void rows.delete({ ...row, part }))
      }
      if (taken.length < limit) firstSegment = end
      return taken
    },
  })

  function startOf(segment: number): RowKey<K> {
    return { segment, key: undefined, part: 0 }
  }
}

/** Sorts values, oldest first. Values of equal time keep their order, in which later ones come from later parts. */
function byTime<V>(values: Buffered<V>[]): Buffered<V>[] {
  return values.sort((a, b) => a.time - b.time)
}

/** Wraps a format so that it records the size of every row that it decodes. */
function measured<V>(format: ValueFormat<Buffered<V>[]>, sizes: WeakMap<readonly Buffered<V>[], number>): ValueFormat<Buffered<V>[]> {
  return {
    ...format,
    open(schemaId, schemas) {
      const { encode, decode } = format.open(schemaId, schemas)
      return {
        encode,
        decode(buffer, start, end) {
          const row = decode(buffer, start, end)
          sizes.set(row, end - start)
          return row
        },
      }
    },
  }
}

/**
 * Encodes the segment number as a big-endian double, which sorts like its bytes, followed by the key. A further part
 * has a segment number between two whole ones, and its own number before the key.
 */
function rowKeys<K>(keys: Codec<K>): Codec<RowKey<K>> {
  return {
    encode({ segment, key, part }, out: ByteWriter) {
      out.reserve(SEGMENT_BYTES + PART_BYTES)
      out.buffer.writeDoubleBE(part === 0 ? segment : segment + FURTHER_PARTS, out.length)
      out.length += SEGMENT_BYTES
      if (part > 0) {
        out.buffer.writeUInt32BE(part, out.length)
        out.length += PART_BYTES
      }
      if (key !== undefined) keys.encode(key, out)
    },
    decode(buffer, start, end) {
      const stored = buffer.readDoubleBE(start)
      const segment = Math.floor(stored)
      const behind = start + SEGMENT_BYTES
      if (segment === stored) return { segment, key: keys.decode(buffer, behind, end), part: 0 }
      return { segment, key: keys.decode(buffer, behind + PART_BYTES, end), part: buffer.readUInt32BE(behind) }
    },
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
