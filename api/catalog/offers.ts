import { placeOfVariant } from '../../schemas/catalog/ids.ts'
import { productDecisions } from '../../schemas/catalog/products/topics.ts'
import type { VariantOffer } from '../../schemas/catalog/types.ts'
import { readOffer } from '../../state/views/catalog/offers.ts'
import { CATALOG_PRODUCTS_VIEW } from '../../state/views/catalog/products.ts'
import { caughtUp } from '../kit/readiness.ts'
import type { ServiceKit } from '../service.ts'

/** Looks up whether variants exist and are for sale. The parts of the service that reserve stock use this lookup. */
export interface Offers {
  /**
   * Returns the offer of each variant, in the order of the ids. Variants of a deleted product are `UNKNOWN`.
   * Throws ApiError `not_ready`, `unavailable`.
   */
  offersOf(variantIds: readonly number[]): Promise<readonly VariantOffer[]>
}

export interface OffersDeps extends Pick<ServiceKit, 'views'> {
  readonly facts: Pick<ServiceKit['facts'], 'partitionOf'>
}

/** Creates a lookup that reads the view of products. The view may not include the most recent changes yet. */
export function viewOffers({ views, facts }: OffersDeps): Offers {
  async function offerOf(variantId: number): Promise<VariantOffer> {
    const place = placeOfVariant(variantId)
    if (place === undefined) return 'UNKNOWN'
    const partition = facts.partitionOf(productDecisions, String(place.productId))
    return caughtUp(await readOffer(views, CATALOG_PRODUCTS_VIEW, partition, place))
  }
  return { offersOf: (variantIds) => Promise.all(variantIds.map(offerOf)) }
}
