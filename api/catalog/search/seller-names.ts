import { sellers } from '../../../schemas/catalog/documents/topics.ts'
import { sellerKey, sellerRecord } from '../../../state/views/catalog/sellers.ts'
import type { Facts } from '../../kit/facts.ts'
import type { ValueReader } from '../../kit/shared-reads.ts'

export interface SellerNamesDeps {
  readonly sharedViews: ValueReader
  readonly facts: Pick<Facts, 'partitionOf'>
}

/**
 * Returns a function that looks up the names of sellers. If a seller has no name, or the name cannot be read now, the
 * function returns a name made from the seller's id.
 */
export function sellerNames({ sharedViews, facts }: SellerNamesDeps) {
  return async function namesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const names = await Promise.all(
      ids.map(async (id) => {
        const text = await sharedViews.get(sellerKey(facts.partitionOf(sellers, id), id)).catch(() => null)
        return [id, sellerRecord(id, text).name] as const
      }),
    )
    return new Map(names)
  }
}
