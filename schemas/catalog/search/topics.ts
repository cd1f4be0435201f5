import { utf8 } from '../../keys.ts'
import { avro } from '../../load.ts'
import { compacted, DAY_MS, HOUR_MS, keptFor } from '../../retention.ts'
import type { Topic } from '../../topic.ts'
import type { ProductSearch, SynonymGroup } from '../types.ts'

/** Retention in the topic. The ClickHouse table keeps searches longer. */
const SEARCHES_KEPT_DAYS = 7

/**
 * Groups of synonyms; key: the name of the group. A search for a term also finds its synonyms; in a one-way group, this
 * applies only to the first term. Every API process keeps all groups in memory.
 */
export const catalogSynonyms: Topic<string, SynonymGroup> = {
  name: 'catalog-synonyms',
  key: utf8,
  value: avro('catalog/SynonymGroup'),
  partitions: 1,
  config: compacted,
}

/** Answered searches; key: the query. */
export const productSearches: Topic<string, ProductSearch> = {
  name: 'product-searches',
  key: utf8,
  value: avro('catalog/ProductSearch'),
  partitions: 1,
  productionPartitions: 16,
  config: keptFor(SEARCHES_KEPT_DAYS * DAY_MS, HOUR_MS),
}

export const searchTopics = [catalogSynonyms, productSearches] as const
