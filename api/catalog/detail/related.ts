import { itemNeighbours, items } from '../../../schemas/recommendations/topics.ts'
import { shownItem, shownItemKey } from '../../../state/views/recommendations/items.ts'
import { readNeighbours } from '../../../state/views/recommendations/neighbours.ts'
import { NOT_CAUGHT_UP } from '../../../state/views/view.ts'
import type { ServiceKit } from '../../service.ts'

/** Number of related products on a page. More candidates are read, because some of them may have become hidden. */
export const MAX_RELATED = 12
const LOOKED_AT = 20

/** Creates the reader of the public products that users view together with a product, nearest first. */
export function relatedReader({ sharedViews, facts }: Pick<ServiceKit, 'sharedViews' | 'facts'>) {
  async function isActive(itemId: bigint): Promise<boolean> {
    const text = await sharedViews.get(shownItemKey(facts.partitionOf(items, itemId), String(itemId)))
    return shownItem(text)?.status === 'ACTIVE'
  }

  return async function readRelated(productId: number): Promise<readonly number[]> {
    const id = BigInt(productId)
    const neighbours = await readNeighbours(sharedViews, facts.partitionOf(itemNeighbours, id), String(id))
    const nearest = neighbours === NOT_CAUGHT_UP ? [] : neighbours.slice(0, LOOKED_AT)
    const active = await Promise.all(nearest.map(({ itemId }) => isActive(itemId)))
    return nearest
      .filter((_, index) => active[index])
      .slice(0, MAX_RELATED)
      .map(({ itemId }) => Number(itemId))
  }
}
