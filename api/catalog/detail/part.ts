import { catalogDocuments, categoryLeaders, sellers } from '../../../schemas/catalog/documents/topics.ts'
import { CATALOG_DETAILS_VIEW } from '../../../state/views/catalog/catalog-details.ts'
import { CATEGORY_LEADERS_VIEW } from '../../../state/views/catalog/category-leaders.ts'
import { SELLERS_VIEW } from '../../../state/views/catalog/sellers.ts'
import type { Answer } from '../../kit/answer.ts'
import type { Caller } from '../../kit/auth/verify.ts'
import { ApiError } from '../../kit/errors.ts'
import { viewProbe } from '../../kit/readiness.ts'
import { bind } from '../../kit/route.ts'
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
  extends Pick<ServiceKit, 'views' | 'sharedViews' | 'watchedViews' | 'facts' | 'publicUrl' | 'now'>,
    Pick<CatalogSettings, 'currency'> {
  readonly categories: Pick<CategoryTable, 'tree'>
}

/** Creates the route of the product page. */
export function detailPart(deps: DetailDeps): CatalogPart {
  const { views, sharedViews, watchedViews, facts, categories, now } = deps
  const { readTexts } = detailReader(deps)
  const pages = keptPages(deps)
  const loading = new Map<number, Promise<Rendered | undefined>>()

  /** Returns the page of a product; undefined if the product does not exist. */
  async function rendered(productId: number): Promise<Rendered | undefined> {
    // The tree comes first, because reading it throws if the categories are not known yet. In any other order, the
    // reads of the product would be wasted.
    const { tree } = categories
    const startedAt = now()
    // Watching a page costs as much as reading it, so only pages that are requested repeatedly are watched.
    const watched = pages.isKept(productId) ? watchedViews.begin() : undefined
    const texts = await readTexts(productId, pages.isKnown(productId), watched ?? sharedViews)
    return texts === undefined ? undefined : pages.page(productId, texts, tree, { startedAt, unchangedAt: () => watched?.unchangedAt() })
  }

  /** Works like `rendered`, but concurrent callers share one read of the views. */
  function shared(productId: number): Promise<Rendered | undefined> {
    let load = loading.get(productId)
    if (load === undefined) {
      load = rendered(productId).finally(() => loading.delete(productId))
      loading.set(productId, load)
    }
    return load
  }

  /** Returns the page itself if nothing has to be read; otherwise a promise of the page. */
  function pageFor(productId: number, caller: Caller | undefined): Rendered | Promise<Rendered | undefined> {
    const recent = pages.recent(productId, categories.tree)
    if (recent !== undefined && !seesWritesAtOnce(caller, recent)) return recent
    // Callers with a token never share a read. Such a caller could be the seller, and the shared read may have begun
    // before the seller's last write.
    return caller === undefined ? shared(productId) : rendered(productId)
  }

  function shown(found: Rendered | undefined, caller: Caller | undefined): Answer {
    if (found === undefined || !maySee(caller, found)) throw new ApiError(catalogErrors.product_not_found)
    return found.answer
  }

  /** Returns whether the caller can change what the page shows, and therefore expects to see a change at once. */
  function seesWritesAtOnce(caller: Caller | undefined, { seller_id }: Rendered): boolean {
    return caller !== undefined && (caller.subject === seller_id || caller.scopes.has('admin'))
  }

  return {
    probes: [
      viewProbe(views, facts, CATALOG_DETAILS_VIEW, catalogDocuments),
      viewProbe(views, facts, CATEGORY_LEADERS_VIEW, categoryLeaders),
      viewProbe(views, facts, SELLERS_VIEW, sellers),
    ],
    routes: [
      bind(productDetailRoute, ({ params: { product_id }, caller }) => {
        const page = pageFor(product_id, caller)
        return page instanceof Promise ? page.then((found) => shown(found, caller)) : shown(page, caller)
      }),
    ],
  }
}
