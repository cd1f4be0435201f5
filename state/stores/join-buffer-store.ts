import { avroValue } from '../../schemas/avro/value.ts'
import type { ByteWriter, Codec } from '../../schemas/codec.ts'
import type { AvroSchema } from '../../schemas/topic.ts'
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
}

/** A buffered value and its time (epoch ms). */
export interface Buffered<V> {
  readonly time: number
  readonly value: V
}

/**
 * One side of a windowed stream-stream join: buffers values by key and time, where records of the other side find them.
 * Records may arrive in any order. Expired values are found by time, without scanning the other ones.
 */
export interface JoinBufferStore<K, V> extends EngineStore {
  /** Announces a later call of `joinable(key, time)`. */
  prefetch(key: K, time: number): void
  add(key: K, time: number, value: V): void
  /**
   * Values of the key at most `spanMs` before or after `time`, oldest first; values of equal time in insertion order.
   */
  joinable(key: K, time: number): Buffered<V>[]
  /**
   * Removes values that are more than `spanMs` older than `time`. It removes whole rows, so a value stays until its
   * entire segment has expired.
   * @param limit maximum number of rows; a key has one row per segment
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

/** The key of a row, which holds the values of one join key in one time segment. */
interface RowKey<K> {
  readonly segment: number
  /** Undefined sorts before all keys of the segment. */
  readonly key: K | undefined
}

export function joinBufferStore<K, V>(name: string, options: JoinBufferOptions<K>): JoinBufferStore<K, V> {
  const { spanMs } = options
  if (!(spanMs > 0)) throw new RangeError(`store ${name}: spanMs must be positive`)
  const segmentMs = Math.ceil(spanMs / SEGMENTS)
  const rows = keyedStore<RowKey<K>, Buffered<V>[]>(name, {
    key: rowKeys(options.key),
    value: avroValue<Buffered<V>[]>(bufferedValues(options.value)),
    logged: options.logged,
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

  return Object.assign(storeLife(rows), {
    // Values are found by key and time, so there is no lookup by key alone.
    lookup: undefined,
    discard() {
      firstSegment = 0
      rows.discard()
    },
    prefetch(key: K, time: number) {
      for (const segment of segmentsAround(time)) rows.prefetch({ segment, key })
    },
    add(key: K, time: number, value: V) {
      const row = { segment: segmentOf(time), key }
      const values = rows.get(row) ?? []
      let at = values.length
      while (at > 0 && values[at - 1].time > time) at--
      values.splice(at, 0, { time, value })
      rows.put(row, values)
      firstSegment = Math.min(firstSegment, row.segment)
    },
    joinable(key: K, time: number) {
      const found: Buffered<V>[] = []
      for (const segment of segmentsAround(time)) {
        for (const buffered of rows.get({ segment, key }) ?? []) if (Math.abs(buffered.time - time) <= spanMs) found.push(buffered)
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
        taken.push({ key: row.key as K, values })
        rows.delete(row)
      }
      if (taken.length < limit) firstSegment = end
      return taken
    },
  })

  function startOf(segment: number): RowKey<K> {
    return { segment, key: undefined }
  }
}

/** Encodes the segment number as a big-endian double, which sorts like its bytes, followed by the key. */
function rowKeys<K>(keys: Codec<K>): Codec<RowKey<K>> {
  return {
    encode({ segment, key }, out: ByteWriter) {
      out.reserve(SEGMENT_BYTES)
      out.buffer.writeDoubleBE(segment, out.length)
      out.length += SEGMENT_BYTES
      if (key !== undefined) keys.encode(key, out)
    },
    decode(buffer, start, end) {
      return { segment: buffer.readDoubleBE(start), key: keys.decode(buffer, start + SEGMENT_BYTES, end) }
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
