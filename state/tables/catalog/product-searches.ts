import type { ProductSearch } from '../../../schemas/catalog/types.ts'
import type { Table } from '../table.ts'
import { isoMonth, isoTime } from '../time.ts'

const KEPT_DAYS = 90

/** Searches of the catalogue and their results, kept for 90 days. Fed by `product-searches`. */
export const productSearchesTable: Table<string, ProductSearch> = {
  name: 'product_searches',
  columns: [
    "at DateTime64(3, 'UTC')",
    'query String',
    'category_id Nullable(Int32)',
    'brands Array(String)',
    'attributes Array(String)',
    'price_min_cents Nullable(Int64)',
    'price_max_cents Nullable(Int64)',
    'rating_min Nullable(Float64)',
    'sort LowCardinality(String)',
    'page Int32',
    'breadth LowCardinality(String)',
    'did_you_mean Nullable(String)',
    'total Int64',
    'product_ids Array(Int64)',
    'took_ms Float64',
  ],
  orderBy: '(at, query, kafka_partition, kafka_offset)',
  partitionBy: 'toYYYYMM(at)',
  ttl: `toDateTime(at) + INTERVAL ${KEPT_DAYS} DAY`,
  rowsOf: (_query, search) => (search === null ? [] : [{ ...search, at: isoTime(search.at) }]),
  partitionOf: (_query, { at }) => isoMonth(at),
}
