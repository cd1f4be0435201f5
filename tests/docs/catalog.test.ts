import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MOST_LEVELS } from '../../api/catalog/categories/check.ts'
import { MOST_BULK_BYTES, MOST_LISTED } from '../../api/catalog/products/model.ts'
import { MOST_ATTRIBUTES, MOST_BRANDS, MOST_CATEGORIES } from '../../api/catalog/search/engine/facets.ts'
import { PERCENT } from '../../api/catalog/search/engine/sales-percentile.ts'
import { MOST_AT_ONCE, SHARED_MS } from '../../api/catalog/search/part.ts'
import { LOGGED_PRODUCTS } from '../../api/catalog/search/results/answer.ts'
import { ENOUGH } from '../../api/catalog/search/searcher.ts'
import { MOST_SYNONYM_WORDS } from '../../api/catalog/search/text/plan.ts'
import { MOST_TERM_WORDS } from '../../api/catalog/search/text/synonyms.ts'
import { MARGIN_MS, UNTOUCHED_MS } from '../../pipelines/catalog/images/sweep.ts'
import { PRODUCTS_PER_TICK, RUN_PERIODS_EVERY_MS } from '../../pipelines/catalog/products/topology.ts'
import { KEPT_AFTER_END_MS } from '../../pipelines/catalog/reservations/topology.ts'
import { indexRebuilds } from '../../schemas/catalog/rebuilds/topics.ts'
import { RECENCY_MS, TEXT_HALF } from '../../state/indexes/catalog/relevance.ts'
import { priceHistoryTable } from '../../state/tables/catalog/price-history.ts'
import { productSearchesTable } from '../../state/tables/catalog/product-searches.ts'
import { productVersionsTable } from '../../state/tables/catalog/product-versions.ts'

const MS_PER_SECOND = 1_000
const HOUR_MS = 3_600 * MS_PER_SECOND
const DAY_MS = 24 * HOUR_MS

const contract = readFileSync(join(import.meta.dirname, '../../docs/services/catalog.md'), 'utf8').replaceAll(/\s+/g, ' ')

// A test of the behaviour behind most of these values would need a search server, thousands of records, or days.
test.each<[string, unknown, unknown]>([
  ['A path has at most 16 levels', MOST_LEVELS, 16],
  ['`page` × `limit` may be at most 10,000', MOST_LISTED, 10_000],
  ['in at most 8 MiB', MOST_BULK_BYTES, 8 * 2 ** 20],
  ['possible until a day after the cart has ended', KEPT_AFTER_END_MS, DAY_MS],
  ['at a rate of 2,000 per second', (PRODUCTS_PER_TICK * MS_PER_SECOND) / RUN_PERIODS_EVERY_MS, 2_000],
  ['last stored more than 72 hours ago', UNTOUCHED_MS, 72 * HOUR_MS],
  ['waited for a worker for more than 71 hours', UNTOUCHED_MS - MARGIN_MS, 71 * HOUR_MS],
  ['If fewer than 10 products contain all words', ENOUGH, 10],
  ['`brands` (the 50 most frequent)', MOST_BRANDS, 50],
  ['`categories` (the 50 most frequent', MOST_CATEGORIES, 50],
  ['`attributes` (the 200 most frequent values', MOST_ATTRIBUTES, 200],
  ['adds at most 200 words from synonyms', MOST_SYNONYM_WORDS, 200],
  ['A term has 1 to 4 words', MOST_TERM_WORDS, 4],
  ['already running 100 searches', MOST_AT_ONCE, 100],
  ['Identical searches within 0.2 seconds may share one response', SHARED_MS, 200],
  ['the first ten products of the page', LOGGED_PRODUCTS, 10],
  ['the 99th percentile of v', PERCENT, 99],
  ['s / (s + 14)', TEXT_HALF, 14],
  ['e^(−age of the product / 90 days)', RECENCY_MS, 90 * DAY_MS],
  ['`GET` returns the same fields for seven days', indexRebuilds.config?.['retention.ms'], String(7 * DAY_MS)],
  ['every version, for five years', productVersionsTable.ttl, 'toDateTime(at) + INTERVAL 5 YEAR'],
  ['whether the guard was overridden, for five years', priceHistoryTable.ttl, 'toDateTime(at) + INTERVAL 5 YEAR'],
  ['each successful search of the last 90 days', productSearchesTable.ttl, 'toDateTime(at) + INTERVAL 90 DAY'],
])('the contract of the catalogue promises "%s", and the code keeps this promise', (promise, value, promised) => {
  expect(contract).toContain(promise)
  expect(value).toBe(promised)
})
