import { catalogDocuments, categoryLeaders, sellers } from '../../../schemas/catalog/documents/topics.ts'
import { CATALOG_DETAILS_VIEW } from '../../../state/views/catalog/catalog-details.ts'
import { CATEGORY_LEADERS_VIEW } from '../../../state/views/catalog/category-leaders.ts'
import { SELLERS_VIEW } from '../../../state/views/catalog/sellers.ts'
import { ApiError } from '../../kit/errors.ts'
import { viewProbe } from '../../kit/readiness.ts'
import { bind } from '../../kit/route.ts'
import { shortCache } from '../../kit/short-cache.ts'
import type { ServiceKit } from '../../service.ts'
import type { CategoryTable } from '../categories/table.ts'
import { catalogErrors } from '../errors.ts'
import type { CatalogPart } from '../part.ts'
import type { CatalogSettings } from '../settings.ts'
import { maySee } from '../visibility.ts'
import { keptPages, type Rendered } from './kept-pages.ts'
import { detailReader } from './read.ts'
import { productDetailRoute } from './routes.ts'

export interface DetailDeps
  extends Pick<ServiceKit, 'views' | 'sharedViews' | 'facts' | 'publicUrl' | 'now'>,
    Pick<CatalogSettings, 'currency'> {
  readonly categories: Pick<CategoryTable, 'tree'>
}

/** How long a cached answer may be served to readers without a token. */
const KEPT_MS = 1_000
/** Some 40 MB with descriptions of ordinary length. */
const MOST_KEPT = 4_096
/** The page of a product. */
export function detailPart(deps: DetailDeps): CatalogPart {
  const { views, facts, categories, now } = deps
  const { readTexts } = detailReader(deps)
  const pages = keptPages(deps)
  const recent = shortCache({ load: rendered, keptMs: KEPT_MS, maxEntries: MOST_KEPT, now })

  /** Returns the page of a product; undefined if the product does not exist. */
  async function rendered(productId: number): Promise<Rendered | undefined> {
    // Reading the tree throws if the categories are not known yet. It comes first, so nothing else is read then.
    const { tree } = categories
    const texts = await readTexts(productId, pages.isKnown(productId))
    return texts === undefined ? undefined : pages.page(productId, texts, tree)
  }

  return {
    probes: [
      viewProbe(views, facts, CATALOG_DETAILS_VIEW, catalogDocuments),
      viewProbe(views, facts, CATEGORY_LEADERS_VIEW, categoryLeaders),
      viewProbe(views, facts, SELLERS_VIEW, sellers),
    ],
    routes: [
      bind(productDetailRoute, async ({ params: { product_id }, caller }) => {
        // Sellers see their own writes at once.
        const found = await (caller === undefined ? recent.get(product_id) : rendered(product_id))
        if (found === undefined || !maySee(caller, found)) throw new ApiError(catalogErrors.product_not_found)
        return found.answer
      }),
    ],
  }
}
