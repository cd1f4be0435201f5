import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import type { Index } from '../search-index.ts'
import { PRODUCTS_INDEX, productSourceOf, productsMappings, productsSettings } from './products.ts'

/**
 * The index that product searches use. It is filled from `catalog-documents`, and a document's id is its product_id.
 */
export const productsIndex: Index<string, CatalogDocument> = {
  name: PRODUCTS_INDEX,
  version: 4,
  settings: productsSettings,
  mappings: productsMappings,
  documentOf: (_key, document) => productSourceOf(document),
}
