import { LRUCache } from 'lru-cache'
import { items as itemsTopic } from '../../../schemas/recommendations/topics.ts'
import { type ShownItem, shownItem, shownItemKey } from '../../../state/views/recommendations/items.ts'
import type { ServiceKit } from '../../service.ts'

/** Reads what answers show of items, through a bounded cache. */
export interface ShownItems {
  /**
   * Returns those of the items that are known. Throws if Redis does not answer in time; `cached` then has what this
   * process knows.
   */
  read(itemIds: readonly bigint[]): Promise<ReadonlyMap<bigint, ShownItem>>
  cached(itemIds: readonly bigint[]): ReadonlyMap<bigint, ShownItem>
}

/** Some 500 bytes each. */
const MAX_CACHED = 50_000
/** A changed title is shown after this time. */
const CACHED_MS = 10_000

export function shownItems({ sharedViews, facts }: Pick<ServiceKit, 'sharedViews' | 'facts'>, monotonic: () => number): ShownItems {
  const known = new LRUCache<bigint, { readonly item: ShownItem; readonly readAt: number }>({ max: MAX_CACHED })

  function cached(itemIds: readonly bigint[]): Map<bigint, ShownItem> {
    return new Map(
      itemIds.flatMap((itemId) => {
        const entry = known.get(itemId)
        return entry === undefined ? [] : [[itemId, entry.item] as const]
      }),
    )
  }

  return {
    cached,
    async read(itemIds) {
      const time = monotonic()
      const stale = itemIds.filter((itemId) => {
        const entry = known.peek(itemId)
        return entry === undefined || time - entry.readAt > CACHED_MS
      })
      const texts = await Promise.all(
        stale.map((itemId) => sharedViews.get(shownItemKey(facts.partitionOf(itemsTopic, itemId), String(itemId)))),
      )
      stale.forEach((itemId, index) => {
        const item = shownItem(texts[index])
        // An emptied Redis says nothing about items, so the process keeps what it knows.
        if (item !== undefined) known.set(itemId, { item, readAt: time })
      })
      return cached(itemIds)
    },
  }
}
