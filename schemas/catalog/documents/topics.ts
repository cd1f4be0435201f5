import { decimalInt, utf8 } from '../../keys.ts'
import { avro } from '../../load.ts'
import { compacted, HOUR_MS } from '../../retention.ts'
import { LARGE_RECORDS, type Topic } from '../../topic.ts'
import { BY_PRODUCT, BY_SELLER } from '../partitions.ts'
import type { CatalogDocument, Category, CategoryLeaders, ImageReferences, Review, Seller } from '../types.ts'

/** The data about each product that search and lists use; key: product_id in decimal. */
export const catalogDocuments: Topic<string, CatalogDocument> = {
  name: 'catalog-documents',
  key: utf8,
  value: avro('catalog/CatalogDocument'),
  ...BY_PRODUCT,
  config: { ...compacted, ...LARGE_RECORDS },
}

/**
 * Star ratings by users; key: product_id in decimal. Kept forever, because nothing else contains the ratings except the
 * state that is computed from them.
 */
export const reviews: Topic<string, Review> = {
  name: 'reviews',
  key: utf8,
  value: avro('catalog/Review'),
  ...BY_PRODUCT,
  config: { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'segment.ms': String(24 * HOUR_MS) },
}

/** Public data of sellers; key: seller_id in decimal. */
export const sellers: Topic<string, Seller> = {
  name: 'sellers',
  key: utf8,
  value: avro('catalog/Seller'),
  ...BY_SELLER,
  config: compacted,
}

/**
 * Categories; key: category_id in decimal. One partition is enough, because every API instance keeps all categories in
 * memory.
 */
export const categories: Topic<string, Category> = {
  name: 'categories',
  key: utf8,
  value: avro('catalog/Category'),
  partitions: 1,
  config: compacted,
}

/** Best sellers of each category; key: category_id. */
export const categoryLeaders: Topic<number, CategoryLeaders> = {
  name: 'category-leaders',
  key: decimalInt,
  value: avro('catalog/CategoryLeaders'),
  partitions: 1,
  productionPartitions: 16,
  config: compacted,
}

/**
 * Reference counts of images; key: content hash. Each record counts only the products of its own partition that refer
 * to the image, so several partitions may have a record of the same image.
 */
export const catalogImages: Topic<string, ImageReferences> = {
  name: 'catalog-images',
  key: utf8,
  value: avro('catalog/ImageReferences'),
  ...BY_PRODUCT,
  config: compacted,
}
