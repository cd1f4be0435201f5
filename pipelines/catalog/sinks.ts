import { catalogDocuments, catalogImages, categoryLeaders, sellers } from '../../schemas/catalog/documents/topics.ts'
import { inventoryChanged, inventoryDecisions } from '../../schemas/catalog/inventory/topics.ts'
import { priceChanged, productCreated, productDecisions, productUpdated, sellerProducts } from '../../schemas/catalog/products/topics.ts'
import { reservationDecisions } from '../../schemas/catalog/reservations/topics.ts'
import { productSearches } from '../../schemas/catalog/search/topics.ts'
import { skuDecisions } from '../../schemas/catalog/skus/topics.ts'
import { productsIndex } from '../../state/indexes/catalog/products-index.ts'
import { priceHistoryTable } from '../../state/tables/catalog/price-history.ts'
import { productSearchesTable } from '../../state/tables/catalog/product-searches.ts'
import { productVersionsTable } from '../../state/tables/catalog/product-versions.ts'
import { stockMovementsTable } from '../../state/tables/catalog/stock-movements.ts'
import { cartsView } from '../../state/views/catalog/carts.ts'
import { catalogDetailsView } from '../../state/views/catalog/catalog-details.ts'
import { catalogImagesView } from '../../state/views/catalog/catalog-images.ts'
import { categoryLeadersView } from '../../state/views/catalog/category-leaders.ts'
import { catalogProductsView } from '../../state/views/catalog/products.ts'
import { sellerProductsView } from '../../state/views/catalog/seller-products.ts'
import { sellersView } from '../../state/views/catalog/sellers.ts'
import { catalogSkusView } from '../../state/views/catalog/skus.ts'
import { stockView } from '../../state/views/catalog/stock.ts'
import { decisionView } from '../../state/views/results.ts'
import { indexKeeper, indexSink, type SinkDeclaration, tableSink, viewSink } from '../sinks.ts'
import { smallerImages } from './images/smaller.ts'
import { productsRebuilds } from './rebuilds.ts'

/**
 * Sinks that fill the views from which the API reads products, sellers' product lists, and the results of commands
 * about products and skus.
 */
export const productSinks: readonly SinkDeclaration[] = [
  viewSink('catalog-products-view', decisionView(catalogProductsView), [productDecisions]),
  viewSink('catalog-skus-view', decisionView(catalogSkusView), [skuDecisions]),
  viewSink('seller-products-view', sellerProductsView, [sellerProducts]),
]

/** Sinks that fill the views from which the API reads stock, carts, and the results of commands about both. */
export const inventorySinks: readonly SinkDeclaration[] = [
  viewSink('catalog-stock-view', decisionView(stockView), [inventoryDecisions]),
  viewSink('catalog-carts-view', decisionView(cartsView), [reservationDecisions]),
]

/** The sink that keeps the product index up to date, and the job that builds and rebuilds this index. */
export const indexSinks: readonly SinkDeclaration[] = [
  indexSink('catalog-products-index', productsIndex, catalogDocuments),
  indexKeeper('catalog-index-keeper', productsIndex, catalogDocuments, productsRebuilds),
]

/** Sinks that no request waits for. */
export const catalogSinks: readonly SinkDeclaration[] = [
  tableSink('product-versions-table', productVersionsTable, productCreated, productUpdated),
  tableSink('price-history-table', priceHistoryTable, priceChanged),
  tableSink('stock-movements-table', stockMovementsTable, inventoryChanged),
  viewSink('catalog-images-view', catalogImagesView, [catalogImages]),
  smallerImages,
  tableSink('product-searches-table', productSearchesTable, productSearches),
  viewSink('catalog-details-view', catalogDetailsView, [catalogDocuments]),
  viewSink('category-leaders-view', categoryLeadersView, [categoryLeaders]),
  viewSink('sellers-view', sellersView, [sellers]),
]
