import type { ServiceSchemas } from '../service.ts'
import { catalogDocuments, catalogImages, categories, categoryLeaders, reviews, sellers } from './documents/topics.ts'
import { inventoryTopics } from './inventory/topics.ts'
import { CATALOG_LIMITS } from './limits.ts'
import { priceChanged, productCommands, productCreated, productDecisions, productUpdated, sellerProducts } from './products/topics.ts'
import { rebuildTopics } from './rebuilds/topics.ts'
import { reservationTopics } from './reservations/topics.ts'
import { searchTopics } from './search/topics.ts'
import { skuCommands, skuDecisions, skuUses } from './skus/topics.ts'

/** The topics and the initial rate limits of the catalog. */
// biome-ignore format: one line per part
export const catalogSchemas: ServiceSchemas = {
  limits: CATALOG_LIMITS,
  topics: [
    catalogDocuments, reviews, sellers, categories, categoryLeaders, catalogImages,
    productCommands, productDecisions, productCreated, productUpdated, priceChanged, sellerProducts,
    skuCommands, skuDecisions, skuUses,
    ...inventoryTopics,
    ...reservationTopics,
    ...searchTopics,
    ...rebuildTopics,
  ],
}
