import type { CategoryLeaders } from '../../../schemas/catalog/types.ts'
import { readableJson } from '../readable.ts'
import { type NOT_CAUGHT_UP, type View, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * The best-selling products of each category. Fed by `category-leaders` and partitioned like it.
 *
 * | key | value |
 * |---|---|
 * | `{category-leaders:<p>}:<category_id>` | ids of products as a JSON array, best first; no key: nothing was sold |
 */
export const CATEGORY_LEADERS_VIEW = 'category-leaders'

export const categoryLeadersView: View<number, CategoryLeaders> = {
  name: CATEGORY_LEADERS_VIEW,
  operationsFor(partition, id, leaders) {
    const key = categoryLeadersKey(partition, id)
    if (leaders === null || leaders.product_ids.length === 0) return [{ op: 'del', key }]
    return [{ op: 'set', key, value: JSON.stringify(leaders.product_ids) }]
  },
}

export function categoryLeadersKey(partition: number, categoryId: number): string {
  return `${viewTag(CATEGORY_LEADERS_VIEW, partition)}:${categoryId}`
}

/** Reads the value at a category's key as text; null if nothing was sold. */
export function readLeadersText(
  reader: Pick<ViewReader, 'get'>,
  partition: number,
  categoryId: number,
): Promise<string | null | typeof NOT_CAUGHT_UP> {
  return withCaughtUp(reader, CATEGORY_LEADERS_VIEW, partition, reader.get(categoryLeadersKey(partition, categoryId)))
}

/** @param text the value at a category's key */
export function categoryLeaders(text: string | null): readonly number[] {
  return readableJson<number[]>(text) ?? []
}
