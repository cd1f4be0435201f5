import { catalogDocuments } from '../../../schemas/catalog/documents/topics.ts'
import { itemNeighbours } from '../../../schemas/recommendations/topics.ts'
import { catalogDetailsKey } from '../../../state/views/catalog/catalog-details.ts'
import { readNeighbours } from '../../../state/views/recommendations/neighbours.ts'
import { NOT_CAUGHT_UP } from '../../../state/views/view.ts'
import type { SharedReader } from '../../kit/shared-reads.ts'
import type { ServiceKit } from '../../service.ts'

/**
 * Maximum number of related products on a page. `LOOKED_AT` candidates are read, because some of them may be hidden or
 * may not be products.
 */
export const MAX_RELATED = 12
const LOOKED_AT = 20

/** Creates the reader of the public products that users view together with a product, nearest first. */
export function relatedReader({ facts }: Pick<ServiceKit, 'facts'>) {
  /** Returns whether an item is a public product. Users may also view items that are not products. */
  async function isPublicProduct(reader: SharedReader, itemId: bigint): Promise<boolean> {
    const key = String(itemId)
    return (await reader.get(catalogDetailsKey(facts.partitionOf(catalogDocuments, key), key))) !== null
  }

  return async function readRelated(reader: SharedReader, productId: number): Promise<readonly number[]> {
    const id = BigInt(productId)
    const neighbours = await readNeighbours(reader, facts.partitionOf(itemNeighbours, id), String(id))
    const nearest = neighbours === NOT_CAUGHT_UP ? [] : neighbours.slice(0, LOOKED_AT)
    const arePublic = await Promise.all(nearest.map(({ itemId }) => isPublicProduct(reader, itemId)))
    return nearest
      .filter((_, index) => arePublic[index])
      .slice(0, MAX_RELATED)
      .map(({ itemId }) => Number(itemId))
  }
}
