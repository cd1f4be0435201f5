import {
  avroValue,
  joinBufferStore,
  keyedStore,
  rawValue,
  type Topic,
  type Topology,
  topology,
  utf8,
} from '../../../pipelines/engine/index.ts'
import { bareAvro } from '../bare-avro.ts'
import { type JobTopology, KEEP_ALL, PARTITIONS } from '../job.ts'
import { JOIN_SPAN_MS, type Match, matchSchema, type Swipe, swipeSchema } from './swipes.ts'

/**
 * Creates the topology of J3. It joins each right-swipe with the right-swipes in the opposite direction, and outputs
 * one match per pair.
 */
export function swipeMatches({ name, input, output, onRecord }: JobTopology): Topology {
  const place = { key: utf8, partitions: PARTITIONS, config: KEEP_ALL }
  const swipes: Topic<string, Swipe> = { ...place, name: input, value: rawValue(bareAvro<Swipe>(swipeSchema)) }
  const matches: Topic<string, Match> = { ...place, name: output, value: rawValue(bareAvro<Match>(matchSchema)) }
  return topology(name, (t) => {
    /** The right-swipes of a pair. The value is true for a swipe by the user with the lower number. */
    const rights = joinBufferStore<string, boolean>('rights', { key: utf8, value: 'boolean', spanMs: JOIN_SPAN_MS })
    const matched = keyedStore<string, number>('matched', { key: utf8, value: avroValue<number>('long') })
    t.source(swipes).process(
      'join',
      { reads: ({ right, ts }, pair) => right && rights.prefetch(pair, ts), stores: [rights, matched], emits: [matches] },
      function join({ swiper, swipee, right, ts }, ctx) {
        onRecord()
        if (!right) return
        const low = swiper < swipee
        const answers = rights.joinable(ctx.key, ts).some(({ value }) => value !== low)
        rights.add(ctx.key, ts, low)
        // Looks up an earlier match only for swipes that answer another swipe, because these are few.
        if (!answers || matched.get(ctx.key) !== undefined) return
        matched.put(ctx.key, ts)
        ctx.emit(matches, ctx.key, { lo: Math.min(swiper, swipee), hi: Math.max(swiper, swipee), ts })
      },
    )
  })
}
