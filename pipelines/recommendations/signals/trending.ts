import { compositeKey, idPart, textPart } from '../../../schemas/composite.ts'
import { trendingItems } from '../../../schemas/recommendations/topics.ts'
import type { TrendEvents } from '../../../schemas/recommendations/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { avroValue, keyedStore, sweep, type TopologyBuilder, topKStore, utf8 } from '../../engine/index.ts'
import { addToLog, amountOf } from './trend-groups.ts'

export const TRENDING_EVERY_MS = 30_000
const MAX_TRENDING = 500
/**
 * An item can be forgotten when its decayed amount is below this limit. The amount of a single view falls below the
 * limit after two days.
 */
const FORGOTTEN_BELOW = 2 ** -8
const SWEPT_PER_TIME = 1_000
const WALK_EVERY_MS = 24 * 3_600_000

/** An item of a group with the log2 of its amount; see `addToLog`. */
interface Ranked {
  item_id: bigint
  log: number
}

const ranked = avroValue<Ranked[]>({
  type: 'array',
  items: {
    type: 'record',
    name: 'RankedItem',
    namespace: 'millrace.recommendations',
    fields: [
      { name: 'item_id', type: { type: 'long', logicalType: 'int64' } },
      { name: 'log', type: 'double' },
    ],
  },
})

/**
 * Ranks the items of each group of users, and publishes the lists of groups with new events. One partition receives all
 * items of a group.
 */
export function declareTrending(t: TopologyBuilder, trends: Topic<string, TrendEvents>): void {
  const amounts = keyedStore('amounts', { key: compositeKey({ group: textPart, itemId: idPart }), value: avroValue<number>('double') })
  const totals = keyedStore('totals', { key: utf8, value: avroValue<number>('double') })
  const changed = keyedStore('changed-groups', { key: utf8, value: avroValue<boolean>('boolean') })
  const top = topKStore<string, Ranked>('top', {
    group: utf8,
    list: ranked,
    k: MAX_TRENDING,
    id: ({ item_id }) => item_id,
    compare: (a, b) => b.log - a.log || (a.item_id < b.item_id ? -1 : 1),
  })
  const stores = [amounts, totals, changed, top]
  let forgetBefore = 0
  const forgetting = sweep(amounts, {
    keysPerRun: SWEPT_PER_TIME,
    isExpired: (_key, log) => amountOf(log, forgetBefore) < FORGOTTEN_BELOW,
  })

  t.source(trends, { onError: { decode: 'fail', reject: 'fail' } })
    .process(
      'rank',
      {
        reads({ item_id }, group) {
          amounts.prefetch({ group, itemId: item_id })
          totals.prefetch(group)
          top.prefetch(group)
        },
        stores,
      },
      function rank({ item_id, at, weight, events }, ctx) {
        const key = { group: ctx.key, itemId: item_id }
        const log = addToLog(amounts.get(key), weight, at)
        amounts.put(key, log)
        totals.put(ctx.key, addToLog(totals.get(ctx.key), events, at))
        top.add(ctx.key, { item_id, log })
        changed.put(ctx.key, true)
      },
    )
    .onTime('publish', { stores, emits: [trendingItems] }, function publish(time, ctx) {
      const groups = Array.from(changed.scan(), ([group]) => group)
      for (const group of groups) {
        const item_ids = top.list(group).map((item) => item.item_id)
        const events = amountOf(totals.get(group) ?? Number.NEGATIVE_INFINITY, time)
        ctx.emit(trendingItems, group, { at: time, events, item_ids }, { timestamp: time })
        changed.delete(group)
      }
      forgetBefore = time
      forgetting.run(Math.floor(time / WALK_EVERY_MS))
    })
}
