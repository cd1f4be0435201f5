import { avroValue, keyedStore, rawValue, type Topic, type Topology, topology, utf8 } from '../../../pipelines/engine/index.ts'
import { bareAvro } from '../bare-avro.ts'
import { type JobTopology, KEEP_ALL, PARTITIONS } from '../job.ts'
import { JOIN_SPAN_MS, type Match, matchSchema, type Swipe, swipeSchema } from './swipes.ts'

/**
 * Times of the last right-swipe in each direction (epoch ms; -1 for none). Both are cleared when the pair has matched.
 */
interface PairState {
  low_ts: number
  high_ts: number
  matched: boolean
}

const pairState = avroValue<PairState>({
  type: 'record',
  name: 'PairState',
  namespace: 'millrace.bench',
  fields: [
    { name: 'low_ts', type: 'long' },
    { name: 'high_ts', type: 'long' },
    { name: 'matched', type: 'boolean' },
  ],
})

/** Creates the topology of J3, which keeps one small state per pair. */
export function swipeMatches({ name, input, output, onRecord }: JobTopology): Topology {
  const place = { key: utf8, partitions: PARTITIONS, config: KEEP_ALL }
  const swipes: Topic<string, Swipe> = { ...place, name: input, value: rawValue(bareAvro<Swipe>(swipeSchema)) }
  const matches: Topic<string, Match> = { ...place, name: output, value: rawValue(bareAvro<Match>(matchSchema)) }
  return topology(name, (t) => {
    const pairs = keyedStore('pairs', { key: utf8, value: pairState })
    t.source(swipes).process(
      'join',
      { reads: (swipe, pair) => swipe.right && pairs.prefetch(pair), stores: [pairs], emits: [matches] },
      function join({ swiper, swipee, right, ts }, ctx) {
        onRecord()
        if (!right) return
        const pair = pairs.get(ctx.key) ?? { low_ts: -1, high_ts: -1, matched: false }
        if (pair.matched) return
        const low = swiper < swipee
        const other = low ? pair.high_ts : pair.low_ts
        if (low) pair.low_ts = ts
        else pair.high_ts = ts
        pair.matched = other >= 0 && ts - other <= JOIN_SPAN_MS
        pairs.put(ctx.key, pair)
        if (pair.matched) ctx.emit(matches, ctx.key, { lo: Math.min(swiper, swipee), hi: Math.max(swiper, swipee), ts })
      },
    )
  })
}
