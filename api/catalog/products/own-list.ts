import type { StoredProduct } from '../../../schemas/catalog/products/stored.ts'
import { sellerProducts } from '../../../schemas/catalog/products/topics.ts'
import { type ListedProducts, listedRevision, readSellerProducts } from '../../../state/views/catalog/seller-products.ts'
import type { ListReader, ViewReader } from '../../../state/views/view.ts'
import type { Facts } from '../../kit/facts.ts'
import { caughtUp } from '../../kit/readiness.ts'

export interface OwnListDeps {
  readonly views: ViewReader & ListReader
  readonly facts: Pick<Facts, 'partitionOf'>
  readonly pause: (ms: number) => Promise<unknown>
  /** Monotonic ms. */
  monotonic(): number
}

export interface OwnList {
  page(seller: string, paging: { readonly page: number; readonly limit: number }): Promise<ListedProducts>
  /**
   * Waits, for a limited time, until the seller's own list shows a change.
   * @param product the product after the change
   */
  untilShown(product: StoredProduct): Promise<void>
}

/**
 * How long to wait until the list shows a change. The list is a separate view, keyed by seller. Normally, it shows a
 * change about 20 ms after the command's answer.
 */
const SHOWN_WITHIN_MS = 500
const LOOK_EVERY_MS = 10

export function ownList({ views, facts, pause, monotonic }: OwnListDeps): OwnList {
  const partitionOf = (seller: string) => facts.partitionOf(sellerProducts, seller)

  async function isShown({ seller_id, product_id, revision, status }: StoredProduct): Promise<boolean> {
    const listed = await listedRevision(views, partitionOf(seller_id), seller_id, String(product_id))
    return status === 'DELETED' ? listed === undefined : listed !== undefined && listed >= revision
  }

  return {
    async page(seller, { page, limit }) {
      return caughtUp(await readSellerProducts(views, partitionOf(seller), seller, { from: (page - 1) * limit, count: limit }))
    },

    async untilShown(product) {
      const until = monotonic() + SHOWN_WITHIN_MS
      // The write is already committed, so a failure to read the list must not turn the write into an error.
      while (!(await isShown(product).catch(() => true)) && monotonic() < until) await pause(LOOK_EVERY_MS)
    },
  }
}
