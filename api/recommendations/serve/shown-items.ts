import { LRUCache } from 'lru-cache'
import { items as itemsTopic } from '../../../schemas/recommendations/topics.ts'
import { type ShownItem, shownItem, shownItemKey } from '../../../state/views/recommendations/items.ts'
import type { ServiceKit } from '../../service.ts'
import type { BoundedReads } from './bounded-reads.ts'

/** Reads the properties of items that answers show. The properties are cached, up to a maximum number of items. */
export interface ShownItems {
  /** Returns the items that are known. If Redis does not respond in time, these are only the cached items. */
  read(itemIds: readonly bigint[]): Promise<ReadonlyMap<bigint, ShownItem>>
}

export interface ShownItemsDeps extends Pick<ServiceKit, 'sharedViews' | 'facts' | 'monotonic'> {
  readonly reads: BoundedReads
}

/** Maximum number of cached items. An item takes about 400 bytes as text. As an object, it would take twice as much. */
const MAX_CACHED = 50_000
/** How long a cached item is used before it is read again. The item is used for longer only while it cannot be read. */
const CACHED_MS = 10_000

export function shownItems({ sharedViews, facts, monotonic, reads }: ShownItemsDeps): ShownItems {
  const known = new LRUCache<bigint, { readonly text: string; readonly readAt: number }>({ max: MAX_CACHED })

  function cached(itemIds: readonly bigint[]): Map<bigint, ShownItem> {
    const found = new Map<bigint, ShownItem>()
    for (const itemId of itemIds) {
      const item = shownItem(known.get(itemId)?.text ?? null)
      if (item !== undefined) found.set(itemId, item)
    }
    return found
  }

  async function refresh(itemIds: readonly bigint[], time: number): Promise<void> {
    const texts = await Promise.all(
      itemIds.map((itemId) => sharedViews.get(shownItemKey(facts.partitionOf(itemsTopic, itemId), String(itemId)))),
    )
    itemIds.forEach((itemId, index) => {
      const text = texts[index]
      // Keeps the cached item if the view does not contain the item, because Redis may have lost its data.
      if (text !== null) known.set(itemId, { text, readAt: time })
    })
  }

  return {
    async read(itemIds) {
      const time = monotonic()
      const stale = itemIds.filter((itemId) => {
        const entry = known.peek(itemId)
        return entry === undefined || time - entry.readAt > CACHED_MS
      })
      if (stale.length > 0) await reads.read(() => refresh(stale, time))
      return cached(itemIds)
    },
  }
}
