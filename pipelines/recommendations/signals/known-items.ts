import { isItemId } from '../../../schemas/recommendations/item-id.ts'
import { items } from '../../../schemas/recommendations/topics.ts'
import type { ItemActivity } from '../../../schemas/recommendations/types.ts'
import { HOUR_MS } from '../../../schemas/retention.ts'
import {
  avro,
  avroValue,
  type Context,
  deadLetter,
  decimalId,
  type EngineStore,
  keyedStore,
  type TopologyBuilder,
  timerStore,
  utf8,
} from '../../engine/index.ts'

/**
 * Distinguishes known items from made-up ids. Anybody can send events about any id, so without a limit one user could
 * fill the state and the lists of trending items with made-up ids.
 */
export interface KnownItems {
  readonly stores: readonly EngineStore[]
  has(itemId: bigint): boolean
  /**
   * Keeps the activity of an unknown item until the item is known, but for an hour at most. An event may arrive before
   * its item.
   * @returns whether there was room for the activity
   */
  park(itemId: bigint, activity: ItemActivity, now: number): boolean
}

/** How long the activity of an unknown item is kept. An item arrives seconds after its first event, or never. */
export const PARKED_MS = HOUR_MS
/** Maximum number of unknown items per partition whose activity is kept. */
export const MAX_PARKED_ITEMS = 1_000
/** Maximum number of events, pairs and times that are kept per unknown item. They take about 10 KB. */
export const MAX_PARKED_ENTRIES = 200
const FORGET_EVERY_MS = 60_000
const FORGOTTEN_PER_TICK = 200
const COUNT = 'parked'

/**
 * Consumes the topic of items, and declares the stores of known items and of parked activity.
 * @param onKnown receives the parked activity of an item that has become known
 */
export function declareKnownItems(t: TopologyBuilder, onKnown: (itemId: bigint, activity: ItemActivity) => void): KnownItems {
  const known = keyedStore('known-items', { key: decimalId, value: avroValue<boolean>('boolean') })
  const parked = keyedStore('parked', { key: decimalId, value: avro('recommendations/ItemActivity') })
  const counts = keyedStore('parked-count', { key: utf8, value: avroValue<number>('int') })
  const until = timerStore('parked-until', { key: decimalId })
  const stores = [known, parked, counts, until]

  function unpark(itemId: bigint): void {
    parked.delete(itemId)
    until.cancel(itemId)
    counts.put(COUNT, (counts.get(COUNT) ?? 0) - 1)
  }

  function reads(_item: unknown, itemId: bigint): void {
    known.prefetch(itemId)
    parked.prefetch(itemId)
  }

  t.source(items, { tombstones: 'drop', onError: { decode: 'drop' } })
    .process('know', { reads, stores }, function know(_item, ctx) {
      if (!isItemId(ctx.key)) return deadLetter('bad_item', 'The id of the item is not positive.')
      if (known.get(ctx.key) === undefined) known.put(ctx.key, true)
      const activity = parked.get(ctx.key)
      if (activity === undefined) return
      unpark(ctx.key)
      onKnown(ctx.key, activity)
    })
    .tick('forget-unknown', { everyMs: FORGET_EVERY_MS, clock: 'wall', stores }, (now: number, _ctx: Context) => {
      for (const { key } of until.due(now, FORGOTTEN_PER_TICK)) unpark(key)
    })

  return {
    stores,
    has: (itemId) => known.get(itemId) !== undefined,
    park(itemId, activity, now) {
      const before = parked.get(itemId)
      if (before === undefined) {
        const count = counts.get(COUNT) ?? 0
        if (count >= MAX_PARKED_ITEMS || sizeOf(activity) > MAX_PARKED_ENTRIES) return false
        counts.put(COUNT, count + 1)
        until.schedule(itemId, now + PARKED_MS)
        parked.put(itemId, activity)
        return true
      }
      if (sizeOf(before) + sizeOf(activity) > MAX_PARKED_ENTRIES) return false
      parked.put(itemId, joined(before, activity))
      return true
    },
  }
}

/** Merges two activities of the same item into one. */
function joined(one: ItemActivity, other: ItemActivity): ItemActivity {
  return {
    events: [...one.events, ...other.events],
    near: [...one.near, ...other.near],
    entered: [...one.entered, ...other.entered],
    shown: [...one.shown, ...other.shown],
  }
}

function sizeOf({ events, near, entered, shown }: ItemActivity): number {
  return events.length + near.length + entered.length + shown.length
}
