import { setImmediate as otherWork } from 'node:timers/promises'
import type { ItemContent } from '../../../schemas/recommendations/models/content-tokens.ts'
import type { RecommendationItem } from '../../../schemas/recommendations/types.ts'
import type { RecommendationModel } from './model.ts'
import { oldestFirst } from './oldest-first.ts'

/**
 * The content of the most recently changed items. Models use it to compute vectors for items that they were not trained
 * on.
 */
export interface NewerItems {
  /**
   * Keeps an item, or removes a deleted item, and updates the item's vector in the given models.
   * @param item undefined for a deleted item
   */
  put(itemId: bigint, item: RecommendationItem | undefined, models: readonly (RecommendationModel | undefined)[]): void
  /** Adds all kept items to a model that was just opened, with pauses. The most recently changed items come last. */
  fill(model: RecommendationModel): Promise<void>
  /** Returns the kept items with their contents as text. The most recently changed items come last. */
  saved(): Iterable<readonly [itemId: bigint, content: string]>
  /**
   * Adds an item that `saved` returned, also to the given models.
   * @param updatedAt the `updated_at` of the item
   */
  restore(itemId: bigint, content: string, updatedAt: number, models: readonly (RecommendationModel | undefined)[]): void
}

interface KeptItem {
  /** The content as one string, because an object would take several times as much memory. */
  readonly content: string
  readonly updatedAt: number
}

/**
 * Maximum number of kept items, and of vectors that a model computes for such items. The items take about 6 MB of text,
 * and the vectors of a model about 40 MB. Most catalogues gain fewer items than this between two training runs.
 */
export const MOST_NEWER_ITEMS = 20_000
/** Number of items added between two pauses. The process serves requests during the pauses. */
const ITEMS_AT_ONCE = 32

/**
 * Keeps the items with the newest `updated_at` instead of the items that were read last. A process that starts reads
 * the partitions of the topic at different speeds, so the last records may be old records of a slow partition.
 */
export function newerItems(most = MOST_NEWER_ITEMS): NewerItems {
  const kept = new Map<bigint, KeptItem>()
  const order = oldestFirst<bigint>((itemId, updatedAt) => kept.get(itemId)?.updatedAt === updatedAt)
  const filling = new Set<RecommendationModel>()
  /** Lower bound for the `updated_at` of all kept items. */
  let oldestAt = Number.POSITIVE_INFINITY
  const sorted = () => [...kept].sort(([, one], [, other]) => one.updatedAt - other.updatedAt)

  function keep(itemId: bigint, item: KeptItem, content: ItemContent, models: readonly (RecommendationModel | undefined)[]): void {
    const following = [...models, ...filling]
    // Moves a changed item to the end of the map, so that it comes last among the items with the same `updated_at`.
    kept.delete(itemId)
    kept.set(itemId, item)
    order.add(itemId, item.updatedAt)
    oldestAt = Math.min(oldestAt, item.updatedAt)
    if (kept.size > most) {
      const oldest = order.take()!
      oldestAt = kept.get(oldest)!.updatedAt
      forget(oldest, following)
      if (oldest === itemId) return
    }
    for (const model of following) model?.addItem({ itemId, ...content })
  }

  function forget(itemId: bigint, models: readonly (RecommendationModel | undefined)[]): void {
    kept.delete(itemId)
    for (const model of models) model?.removeItem(itemId)
  }

  return {
    put(itemId, item, models) {
      if (item === undefined) {
        forget(itemId, [...models, ...filling])
        return
      }
      // Skips an item that is too old to be kept. A process that starts reads mostly such items, and turning them into
      // text would take most of the time.
      if (item.updated_at < oldestAt && kept.size === most && !kept.has(itemId)) return
      const content = { title: item.title, categoryPath: item.category_path, attributes: item.attributes }
      keep(itemId, { content: JSON.stringify(content), updatedAt: item.updated_at }, content, models)
    },
    async fill(model) {
      filling.add(model)
      try {
        let shown = 0
        for (const [itemId, item] of sorted()) {
          // If an item has changed during a pause, `put` has already added its new content.
          if (kept.get(itemId) === item) model.addItem({ itemId, ...(JSON.parse(item.content) as ItemContent) })
          if (++shown % ITEMS_AT_ONCE === 0) await otherWork()
        }
      } finally {
        filling.delete(model)
      }
    },
    saved: () => sorted().map(([itemId, { content }]) => [itemId, content] as const),
    restore(itemId, content, updatedAt, models) {
      keep(itemId, { content, updatedAt }, JSON.parse(content) as ItemContent, models)
    },
  }
}
