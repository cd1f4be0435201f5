import type { RecommendationItem } from '../../../schemas/recommendations/types.ts'
import { readableJson } from '../readable.ts'
import { type View, viewTag } from '../view.ts'

/**
 * The data about items that answers contain. Fed by `items` and partitioned like it. Of several records about an item,
 * the one with the newest `updated_at` is kept.
 *
 * | key | value |
 * |---|---|
 * | `{recommendation-items:<p>}:item:<item>` | JSON of a StoredItem |
 */
const RECOMMENDATION_ITEMS_VIEW = 'recommendation-items'

export interface ShownItem {
  readonly title: string
  readonly thumbnail_url: string | null
  readonly category_path: string
  readonly attributes: Readonly<Record<string, string>>
  readonly status: RecommendationItem['status']
}

interface StoredItem extends ShownItem {
  /** Missing in values that an earlier version of the software has written. */
  readonly updated_at?: number
}

export const recommendationItemsView: View<bigint, RecommendationItem> = {
  name: RECOMMENDATION_ITEMS_VIEW,
  heldKey: (partition, itemId, item) => (item === null ? undefined : shownItemKey(partition, String(itemId))),
  operationsFor(partition, itemId, item, context) {
    const key = shownItemKey(partition, String(itemId))
    if (item === null) return [{ op: 'del', key }]
    const { title, thumbnail_url, category_path, attributes, status, updated_at } = item
    if (updated_at < storedAt(context?.held ?? null)) return []
    const stored: StoredItem = { title, thumbnail_url, category_path, attributes, status, updated_at }
    return [{ op: 'set', key, value: JSON.stringify(stored) }]
  },
}

function storedAt(text: string | null): number {
  return readableJson<StoredItem>(text)?.updated_at ?? Number.NEGATIVE_INFINITY
}

export function shownItemKey(partition: number, itemId: string): string {
  return `${viewTag(RECOMMENDATION_ITEMS_VIEW, partition)}:item:${itemId}`
}

/**
 * @param text the value that is stored at the key
 * @returns undefined if there is no value, or if it cannot be parsed
 */
export function shownItem(text: string | null): ShownItem | undefined {
  return readableJson<ShownItem>(text)
}
