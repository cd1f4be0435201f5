import { avroValue } from '../../schemas/avro/value.ts'
import type { ByteWriter, Codec } from '../../schemas/codec.ts'
import type { AvroSchema } from '../../schemas/topic.ts'
import { keyedStore } from './keyed-store.ts'
import type { EngineStore } from './store.ts'
import { storeLife } from './store-life.ts'

export interface JoinBufferOptions<K> {
  readonly key: Codec<K>
  /** Of one buffered value. */
  readonly value: AvroSchema
  /** How far apart in time two records may be and still be joined, ms. Rows are laid out by it: another span needs a store with another name. */
  readonly spanMs: number
  /** Default true. */
  readonly logged?: boolean
}

/** A buffered value and its time, epoch ms. */
export interface Buffered<V> {
  readonly time: number
  readonly value: V
}

/**
 * One side of a join of two streams within a span of time: values by key and time, for records of the other side to find. Records may
 * come in any order. What no record can be joined with any more is taken out by time, without looking at the rest.
 */
export interface JoinBufferStore<K, V> extends EngineStore {
  /** Announces that `within(key, time)` will be called. */
  prefetch(key: K, time: number): void
  add(key: K, time: number, value: V): void
  /** Values of the key at most `spanMs` before or after `time`, oldest first; equal times in the order in which they were added. */
  within(key: K, time: number): Buffered<V>[]
  /**
   * Takes values out that are more than `spanMs` older than `time`, whole rows at a time: those of a segment go when all of it is that old.
   * @param limit rows at most: a key has one per segment
   * @returns what was taken, for joins that emit what found no partner
   */
  takeExpired(time: number, limit: number): { readonly key: K; readonly values: readonly Buffered<V>[] }[]
}

/** A span is cut into as many segments: a look-up reads them twice and one more, and values stay up to a quarter of the span too long. */
const SEGMENTS = 4
const SEGMENT_BYTES = 8

/** A row: the values of a key in one segment of time. */
interface RowKey<K> {
  readonly segment: number
  /** Undefined: before all keys of the segment. */
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
  /** No row lies before it: a scan need not step over the tombstones of what was taken before. */
  let firstSegment = 0

  function segmentOf(time: number): number {
    return Math.max(0, Math.floor(time / segmentMs))
  }

  function* segmentsAround(time: number): Generator<number> {
    const last = segmentOf(time + spanMs)
    for (let segment = segmentOf(time - spanMs); segment <= last; segment++) yield segment
  }

  return Object.assign(storeLife(rows), {
    // Values are found by key and time, not by key alone.
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
    within(key: K, time: number) {
      const found: Buffered<V>[] = []
      for (const segment of segmentsAround(time)) {
        for (const buffered of rows.get({ segment, key }) ?? []) if (Math.abs(buffered.time - time) <= spanMs) found.push(buffered)
      }
      return found
    },
    takeExpired(time: number, limit: number) {
      const end = segmentOf(time - spanMs)
      const taken: { key: K; values: readonly Buffered<V>[] }[] = []
      // The call checks that the caller may use the store, so it comes before the early return. The scan itself begins with the loop.
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

/** Segment numbers as big-endian doubles, which sort like their bytes, then the key. */
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
