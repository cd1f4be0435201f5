import { connectImages } from '../../state/blobs/images.ts'
import { searchClient } from '../../state/indexes/client.ts'
import { indexReader } from '../../state/indexes/reader.ts'
import { isDecimalUserId } from '../kit/auth/authorize.ts'
import type { OpenService, ServiceKit } from '../service.ts'
import { categoriesPart } from './categories/part.ts'
import { openCategories } from './categories/table.ts'
import { detailPart } from './detail/part.ts'
import { catalogErrors } from './errors.ts'
import { images } from './images/images.ts'
import { imagesPart } from './images/part.ts'
import { inventoryPart } from './inventory/part.ts'
import { viewOffers } from './offers.ts'
import type { CatalogPart } from './part.ts'
import { productsPart } from './products/part.ts'
import { rebuildsPart } from './rebuilds/part.ts'
import { openRebuilds } from './rebuilds/table.ts'
import { reservationsPart } from './reservations/part.ts'
import { reviewsPart } from './reviews/part.ts'
import { productIndex } from './search/engine/product-index.ts'
import { searchPart } from './search/part.ts'
import { sellersPart } from './sellers/part.ts'
import type { CatalogSettings } from './settings.ts'
import { shopPart } from './shop/part.ts'

export interface CatalogDeps extends ServiceKit, CatalogSettings {}

/** Creates the handlers of the product catalogue: docs/services/catalog.md */
export async function catalogHandlers(deps: CatalogDeps): Promise<OpenService> {
  const categories = await openCategories(deps)
  const productImages = images(await connectImages(deps.state.images))
  const rebuilds = await openRebuilds(deps)
  const stockDeps = { ...deps, offers: viewOffers(deps) }
  const search = await searchPart({ ...deps, categories, index: productIndex(indexReader(searchClient(deps.state.opensearchUrl))) })
  // biome-ignore format: one line per part
  const parts: readonly CatalogPart[] = [
    // The search comes before the product page, because the route of that page also matches the paths of the search.
    search,
    productsPart({ ...deps, categories, images: productImages }),
    categoriesPart({ ...deps, categories }),
    sellersPart(deps),
    reviewsPart(deps),
    detailPart({ ...deps, categories }),
    imagesPart(productImages),
    shopPart({ ...deps, categories, search: search.search }),
    inventoryPart(stockDeps),
    reservationsPart(stockDeps),
    rebuildsPart({ ...deps, rebuilds }),
  ]
  return {
    name: 'catalog',
    description: 'Products of sellers with their variants, prices and stock, and a search for products.',
    isUserId: isDecimalUserId,
    errors: Object.values(catalogErrors),
    probes: [...parts.flatMap(({ probes = [] }) => probes), deps.commands.probe],
    routes: parts.flatMap(({ routes }) => routes),
    async close() {
      await Promise.all(parts.map((part) => part.close?.()))
    },
  }
}
