import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import type { Index } from '../search-index.ts'
import { PRODUCTS_INDEX, productSourceOf, productsMappings, productsSettings } from './products.ts'

/** Products for search. Fed by `catalog-documents`; a document's id is its product_id. */
export const productsIndex: Index<string, CatalogDocument> = {
  name: PRODUCTS_INDEX,
  version: 1,
  // A change is searchable within a second.
  settings: { ...productsSettings, refresh_interval: '1s' },
  mappings: productsMappings,
  documentOf(_key, document) {
    const source = productSourceOf(document)
    // A 64-bit id may not fit into a JSON number, so it is sent as text.
    return source.is_public ? { ...source, seller_id: String(source.seller_id) } : source
  },
}
