import { late, rawValue, type Topic, type Topology, topology, utf8, windowedCounterStore } from '../../../pipelines/engine/index.ts'
import { bareAvro } from '../bare-avro.ts'
import { type JobTopology, KEEP_ALL, PARTITIONS } from '../job.ts'
import { type TermSeen, termSeenSchema, type WindowCount, windowCountSchema } from './terms.ts'

const MINUTE_MS = 60_000
/** Length of a window in minutes. A window begins every minute. */
const WINDOW_MINUTES = 5
const WINDOW_MS = WINDOW_MINUTES * MINUTE_MS
const GRACE_MS = MINUTE_MS
/**
 * Number of minutes that are kept per term. Half of these minutes are for the open windows, and half for the time
 * between two commits.
 */
const RING_MINUTES = 12

/**
 * The windows of a term that have changed since they were last emitted, as one bit per start minute. The lowest bit
 * stands for minute `first`.
 */
interface Changed {
  first: number
  bits: number
}

/**
 * Creates the topology of J1, which counts records by term and minute. The count of a window is the sum of the counts
 * of its minutes. The topology emits the windows whose counts have changed, at the latest before the next commit.
 */
export function hoppingCounts({ name, input, output, onRecord }: JobTopology): Topology {
  const place = { key: utf8, partitions: PARTITIONS, config: KEEP_ALL }
  const terms: Topic<string, TermSeen> = { ...place, name: input, value: rawValue(bareAvro<TermSeen>(termSeenSchema)) }
  const counts: Topic<string, WindowCount> = { ...place, name: output, value: rawValue(bareAvro<WindowCount>(windowCountSchema)) }
  return topology(name, (t) => {
    const minutes = windowedCounterStore('minutes', { key: utf8, bucketMs: MINUTE_MS, buckets: RING_MINUTES })
    const changed = new Map<string, Changed>()

    function sendWindows(term: string, { first, bits }: Changed, send: (windowStart: number, count: number) => void): void {
      for (let window = first, rest = bits; rest !== 0; window++, rest >>>= 1) {
        if ((rest & 1) === 1) send(window * MINUTE_MS, minutes.count(term, window * MINUTE_MS, window * MINUTE_MS + WINDOW_MS))
      }
    }

    t.source(terms)
      .process('count', { reads: (_seen, term) => minutes.prefetch(term), stores: [minutes], emits: [counts] }, function count(_seen, ctx) {
        onRecord()
        const { key: term } = ctx
        const last = Math.floor(ctx.timestamp / MINUTE_MS)
        // A window is closed once stream time has passed its end and the grace period.
        const firstOpen = Math.floor((ctx.streamTime - WINDOW_MS - GRACE_MS) / MINUTE_MS) + 1
        const first = Math.max(last - WINDOW_MINUTES + 1, firstOpen)
        if (first > last) return late
        let change = changed.get(term)
        if (change !== undefined && (first < change.first || last - change.first >= RING_MINUTES)) {
          sendWindows(term, change, (window_start, n) => ctx.emit(counts, term, { window_start, count: n }))
          change = undefined
        }
        if (change === undefined) {
          change = { first, bits: 0 }
          changed.set(term, change)
        }
        change.bits |= ((1 << (last - first + 1)) - 1) << (first - change.first)
        minutes.add(term, ctx.timestamp)
        return undefined
      })
      .beforeCommit('send', { stores: [minutes], emits: [counts] }, (ctx) => {
        for (const [term, change] of changed)
          sendWindows(term, change, (window_start, n) => ctx.emit(counts, term, { window_start, count: n }))
        changed.clear()
      })
  })
}
