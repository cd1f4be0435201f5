import { LRUCache } from 'lru-cache'
import type { ItemContent } from '../../../schemas/recommendations/models/content-tokens.ts'
import type { RecommendationItem } from '../../../schemas/recommendations/types.ts'
import type { RecommendationModel } from './model.ts'

/** The content of the items that changed last, from which models place those that they were not trained on. */
export interface NewerItems {
  /** @param item undefined for a deleted one */
  put(itemId: bigint, item: RecommendationItem | undefined, models: readonly (RecommendationModel | undefined)[]): void
  /** Shows all kept items to a model that was just opened. */
  fill(model: RecommendationModel): void
}

/** Some 20 MB of texts. Between two trainings, fewer items are added to most catalogues. */
const KEPT_ITEMS = 20_000

export function newerItems(): NewerItems {
  const kept = new LRUCache<bigint, ItemContent>({ max: KEPT_ITEMS })
  return {
    put(itemId, item, models) {
      if (item === undefined) {
        kept.delete(itemId)
        return
      }
      const content = { title: item.title, categoryPath: item.category_path, attributes: item.attributes }
      kept.set(itemId, content)
      for (const model of models) model?.addItem({ itemId, ...content })
    },
    fill(model) {
      for (const [itemId, content] of kept.entries()) model.addItem({ itemId, ...content })
    },
  }
}
