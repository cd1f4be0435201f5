import type { RecommendationItem } from '../../../schemas/recommendations/types.ts'
import { type View, viewTag } from '../view.ts'

/**
 * Data about items that answers contain. Fed by `items`, partitioned like it.
 *
 * | key | value |
 * |---|---|
 * | `{recommendation-items:<p>}:item:<item>` | JSON of a ShownItem |
 */
const RECOMMENDATION_ITEMS_VIEW = 'recommendation-items'

export interface ShownItem {
  readonly title: string
  readonly thumbnail_url: string | null
  readonly category_path: string
  readonly attributes: Readonly<Record<string, string>>
  readonly status: RecommendationItem['status']
}

export const recommendationItemsView: View<bigint, RecommendationItem> = {
  name: RECOMMENDATION_ITEMS_VIEW,
  operationsFor(partition, itemId, item) {
    const key = shownItemKey(partition, String(itemId))
    if (item === null) return [{ op: 'del', key }]
    const { title, thumbnail_url, category_path, attributes, status } = item
    return [{ op: 'set', key, value: JSON.stringify({ title, thumbnail_url, category_path, attributes, status } satisfies ShownItem) }]
  },
}

export function shownItemKey(partition: number, itemId: string): string {
  return `${viewTag(RECOMMENDATION_ITEMS_VIEW, partition)}:item:${itemId}`
}

/** @param text the value that is stored at the key */
export function shownItem(text: string | null): ShownItem | undefined {
  return text === null ? undefined : (JSON.parse(text) as ShownItem)
}
