import type { ProductEvent } from '../../../schemas/catalog/types.ts'
import type { Table } from '../table.ts'
import { isoMonth } from '../time.ts'

const RETENTION_YEARS = 5

/**
 * The versions of each product, kept for five years. Fed by `product.created` and `product.updated`. Read it with
 * FINAL.
 */
export const productVersionsTable: Table<string, ProductEvent> = {
  name: 'product_versions',
  columns: [
    'product_id UInt64',
    'version UInt32',
    'revision UInt64',
    'seller_id UInt64',
    'title String',
    'description String CODEC(ZSTD(3))',
    'category_id Int32',
    'brand LowCardinality(Nullable(String))',
    'status LowCardinality(String)',
    'variants Nested(variant_id UInt64, sku String, attributes Map(String, String), price_cents UInt64, compare_price Nullable(UInt64), weight_grams Nullable(UInt32), status LowCardinality(String))',
    'images Array(String)',
    "created_at DateTime64(3, 'UTC')",
    'actor String',
    "at DateTime64(3, 'UTC')",
  ],
  orderBy: '(product_id, version)',
  version: 'revision',
  partitionBy: 'toYYYYMM(at)',
  ttl: `toDateTime(at) + INTERVAL ${RETENTION_YEARS} YEAR`,
  rowsOf(_productId, event) {
    if (event === null) return []
    const { product, actor, at } = event
    const { product_id, version, revision, seller_id, title, description, category_id, brand, status, variants } = product
    return [
      {
        product_id,
        version,
        revision,
        seller_id: String(seller_id),
        title,
        description,
        category_id,
        brand,
        status,
        'variants.variant_id': variants.map((variant) => variant.variant_id),
        'variants.sku': variants.map((variant) => variant.sku),
        'variants.attributes': variants.map((variant) => variant.attributes),
        'variants.price_cents': variants.map((variant) => variant.price_cents),
        'variants.compare_price': variants.map((variant) => variant.compare_price),
        'variants.weight_grams': variants.map((variant) => variant.weight_grams),
        'variants.status': variants.map((variant) => variant.status),
        images: product.images.map(({ content_hash }) => content_hash),
        created_at: product.created_at,
        actor,
        at,
      },
    ]
  },
  partitionOf: (_productId, { at }) => isoMonth(at),
}
