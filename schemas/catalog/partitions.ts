/**
 * Partition counts of the topics that are keyed by product, sku, cart or seller. Topics with the same kind of key have
 * equal counts, so that one task processes everything about a key. The counts for production assume 500 million
 * products.
 */
export const BY_PRODUCT = { partitions: 1, productionPartitions: 64 }
export const BY_SKU = { partitions: 1, productionPartitions: 64 }
export const BY_RESERVATION = { partitions: 1, productionPartitions: 64 }
export const BY_SELLER = { partitions: 1, productionPartitions: 64 }
