import { type Codec, keyedStore, rawValue, type Topic, type Topology, topology, utf8 } from '../../pipelines/engine/index.ts'

/**
 * A codec that passes bytes through unchanged, because the benchmark measures how long it takes to move state, not to
 * decode it.
 */
const bytes: Codec<Buffer> = {
  encode(value, out) {
    out.reserve(value.length)
    out.length += value.copy(out.buffer, out.length)
  },
  decode: (buffer, start, end) => buffer.subarray(start, end),
}

const format = rawValue(bytes)
/**
 * First byte of the value of a timed record. The topology forwards these records, so that a reader can measure their
 * latency.
 */
export const TIMED = 0x74

export interface KeepLatestOptions {
  readonly name: string
  readonly input: string
  readonly output: string
  readonly partitions: number
  readonly standby: 0 | 1
}

/** Creates a topology that stores the last value of every key, with one read and one write per record. */
export function keepLatest({ name, input, output, partitions, standby }: KeepLatestOptions): Topology {
  const source: Topic<string, Buffer> = { name: input, key: utf8, value: format, partitions }
  const out: Topic<string, Buffer> = { name: output, key: utf8, value: format, partitions }
  return topology(
    name,
    (t) => {
      const latest = keyedStore('latest', { key: utf8, value: format })
      t.source(source).process(
        'keep',
        { reads: (_, key) => latest.prefetch(key), stores: [latest], emits: [out] },
        function keep(value, ctx) {
          latest.get(ctx.key)
          // Copies the value, because a slice of the fetched chunk would keep the whole chunk in memory.
          latest.put(ctx.key, Buffer.from(value))
          if (value[0] === TIMED) ctx.emit(out, ctx.key, value, { partition: ctx.partition })
        },
      )
    },
    { standby },
  )
}
