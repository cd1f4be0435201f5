import { catalogDocuments } from '../../../schemas/catalog/documents/topics.ts'
import { packNeighbours } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import { itemEvents, itemNeighbours, itemStats, items } from '../../../schemas/recommendations/topics.ts'
import type { ItemActivity } from '../../../schemas/recommendations/types.ts'
import { avro, type Context, decimalId, drop, packedStore, type RecordContext, topology, utf8 } from '../../engine/index.ts'
import { declareCatalogItems } from '../items/catalog-items.ts'
import { isDue as areStatsDue, asPublished, NO_SIGNALS, statsOf, withActivity } from './item-counts.ts'
import { declareKnownItems } from './known-items.ts'
import { isDue, NO_NEIGHBOURS, publishedAt, publishedOf, withNear } from './neighbourhood.ts'
import { byGroup } from './trend-groups.ts'
import { declareTrending, TRENDING_EVERY_MS } from './trending.ts'

/**
 * Commit interval. It is long enough for many activities of a hot item to share a commit. No request waits for this
 * topology, because a different topology computes the features of users.
 */
const COMMIT_INTERVAL_MS = 1_000
/**
 * Delay of the time markers that trigger the lists of trending items. Records that are still on their way arrive in the
 * meantime.
 */
const TRENDING_DELAY_MS = 1_000

/**
 * Number of items whose activities are folded together. Their rows are read at once, and take about a megabyte, so the
 * stores' caches hold them until they are folded. If all items of a commit in a backlog were folded together, most rows
 * would be read twice, and the event loop would be blocked for seconds.
 */
const ITEMS_PER_FOLD = 512

/** Policy for records that the topology itself writes. A bad record there is a bug, so the worker stops. */
const INTERNAL = { onError: { decode: 'fail', reject: 'fail' } } as const

/**
 * Computes the neighbours and the statistics of items, and the trending items, from the activities of items. Also turns
 * products of the catalogue into items.
 */
export const itemSignals = topology(
  'item-signals',
  function declareItemSignals(t) {
    const trends = t.repartition('trends', { key: utf8, value: avro('recommendations/TrendEvents'), partitions: 1 })
    declareItems()
    declareTrending(t, trends)
    declareCatalogItems(t, catalogDocuments, items)

    function declareItems(): void {
      const signals = packedStore('signals', { key: decimalId, value: avro('recommendations/ItemSignals') })
      const neighbourhoods = packedStore('neighbours', { key: decimalId, value: avro('recommendations/ItemNeighbourhood') })
      const known = declareKnownItems(t, add)
      const stores = [signals, neighbourhoods, ...known.stores]
      const emits = [itemStats, itemNeighbours, trends]
      /** The activities of known items that are not folded yet, keyed by item. */
      let pending = new Map<bigint, ItemActivity>()

      /** Only known items have signals, so most activities need no lookup in the store of known items. */
      function isKnown(itemId: bigint): boolean {
        return pending.has(itemId) || signals.findKey(itemId) !== undefined || known.has(itemId)
      }

      function collect(activity: ItemActivity, ctx: RecordContext<bigint>) {
        if (isKnown(ctx.key)) {
          add(ctx.key, activity)
          if (pending.size >= ITEMS_PER_FOLD) fold(ctx)
        } else if (!known.park(ctx.key, activity, ctx.now)) return drop('unknown_item')
      }

      function add(itemId: bigint, activity: ItemActivity): void {
        const before = pending.get(itemId)
        if (before === undefined) {
          pending.set(itemId, activity)
          return
        }
        // Events are added to the existing list, because joining lists would copy all events of a hot item with every
        // record.
        for (const event of activity.events) before.events.push(event)
        for (const pair of activity.near) before.near.push(pair)
        for (const time of activity.entered) before.entered.push(time)
        for (const time of activity.shown) before.shown.push(time)
      }

      function fold(ctx: Context): void {
        const folded = pending
        pending = new Map()
        for (const [itemId, { near }] of folded) {
          signals.prefetch(itemId)
          if (near.length > 0) neighbourhoods.prefetch(itemId)
        }
        signals.loadPrefetched()
        neighbourhoods.loadPrefetched()
        for (const [itemId, activity] of folded) {
          count(itemId, activity, ctx)
          if (activity.near.length > 0) meet(itemId, activity, ctx)
          for (const [group, events] of byGroup(itemId, activity.events)) ctx.emit(trends, group, events)
        }
      }

      function count(itemId: bigint, activity: ItemActivity, ctx: Context): void {
        if (activity.events.length + activity.shown.length + activity.entered.length === 0) return
        const after = withActivity(signals.get(itemId) ?? NO_SIGNALS, activity)
        const isPublished = areStatsDue(after)
        if (isPublished) ctx.emit(itemStats, itemId, statsOf(after))
        signals.put(itemId, isPublished ? asPublished(after) : after)
      }

      function meet(itemId: bigint, { near }: ItemActivity, ctx: Context): void {
        const after = withNear(neighbourhoods.get(itemId) ?? NO_NEIGHBOURS, near)
        if (isDue(after)) {
          const at = publishedAt(near, signals.get(itemId))
          ctx.emit(itemNeighbours, itemId, { at, neighbours: packNeighbours(publishedOf(after, at)) })
          after.unpublished = 0
        }
        neighbourhoods.put(itemId, after)
      }

      t.source(itemEvents, INTERNAL)
        .process(
          'collect',
          {
            reads: (_activity, itemId) => signals.prefetch(itemId),
            stores,
            emits,
          },
          collect,
        )
        .beforeCommit('fold', { stores, emits }, fold)
        .markTime({ everyMs: TRENDING_EVERY_MS, delayMs: TRENDING_DELAY_MS, to: trends })
    }
  },
  { commitIntervalMs: COMMIT_INTERVAL_MS, commitWhenIdle: false },
)
