import { BY_PRODUCT } from '../../../schemas/catalog/partitions.ts'
import { avro, decimalInt, topology, utf8 } from '../../engine/index.ts'
import { declareCategories } from './categories.ts'
import { declareProducts } from './products.ts'
import { declareSellers } from './sellers.ts'

const BY_CATEGORY = { partitions: 1, productionPartitions: 16 }

/**
 * Commit interval. It is long enough for several changes of one product to share a commit, so that the product's
 * document is written only once.
 */
const COMMIT_INTERVAL_MS = 100

/**
 * Builds the documents that search shows, and each category's best sellers, from products, prices, stock, stars and
 * sellers.
 */
export const catalogTopology = topology(
  'catalog',
  function declareCatalog(t) {
    const byProduct = t.repartition('by-product', { key: utf8, value: avro('catalog/DocumentNote'), ...BY_PRODUCT })
    const byCategory = t.repartition('by-category', { key: decimalInt, value: avro('catalog/CategorySale'), ...BY_CATEGORY })
    declareSellers(t, byProduct)
    declareProducts(t, { byProduct, byCategory })
    declareCategories(t, byCategory, byProduct)
  },
  { commitIntervalMs: COMMIT_INTERVAL_MS, commitWhenIdle: false },
)
