import { setImmediate as otherWork } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { ItemContent } from '../../../schemas/recommendations/models/content-tokens.ts'
import type { RecommendationItem } from '../../../schemas/recommendations/types.ts'
import type { RecommendationModel } from './model.ts'

/**
 * The content of the most recently changed items. Models use it to compute vectors for items that they were not trained
 * on.
 */
export interface NewerItems {
  /** @param item undefined for a deleted item */
  put(itemId: bigint, item: RecommendationItem | undefined, models: readonly (RecommendationModel | undefined)[]): void
  /** Adds all kept items to a model that was just opened, with pauses. The most recently changed items come last. */
  fill(model: RecommendationModel): Promise<void>
  /** Returns the kept items with their contents as text. The most recently changed items come last. */
  saved(): Iterable<readonly [itemId: bigint, content: string]>
  /** Adds an item that `saved` returned. */
  restore(itemId: bigint, content: string, models: readonly (RecommendationModel | undefined)[]): void
}

/**
 * Maximum number of kept items, and of vectors that a model computes for such items. The items take about 6 MB of text,
 * and the vectors of a model about 40 MB. Most catalogues gain fewer items than this between two training runs.
 */
export const MOST_NEWER_ITEMS = 20_000
/** Number of items added between two pauses. Requests are answered during the pauses. */
const ITEMS_AT_ONCE = 32

export function newerItems(): NewerItems {
  const kept = new LRUCache<bigint, string>({ max: MOST_NEWER_ITEMS })
  const filling = new Set<RecommendationModel>()
  const oldestFirst = () => [...kept.entries()].reverse()
  return {
    put(itemId, item, models) {
      if (item === undefined) {
        kept.delete(itemId)
        return
      }
      const content = { title: item.title, categoryPath: item.category_path, attributes: item.attributes }
      // The content is kept as one string, because an object would take several times as much memory.
      kept.set(itemId, JSON.stringify(content))
      for (const model of [...models, ...filling]) model?.addItem({ itemId, ...content })
    },
    async fill(model) {
      filling.add(model)
      try {
        let shown = 0
        for (const [itemId, content] of oldestFirst()) {
          // If an item has changed during a pause, `put` has already added its new content.
          if (kept.peek(itemId) === content) model.addItem({ itemId, ...(JSON.parse(content) as ItemContent) })
          if (++shown % ITEMS_AT_ONCE === 0) await otherWork()
        }
      } finally {
        filling.delete(model)
      }
    },
    saved: oldestFirst,
    restore(itemId, content, models) {
      kept.set(itemId, content)
      for (const model of [...models, ...filling]) model?.addItem({ itemId, ...(JSON.parse(content) as ItemContent) })
    },
  }
}
