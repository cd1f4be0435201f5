/**
 * Partition counts of the catalogue's topics, one for each kind of key. Topics with the same kind of key have equal
 * counts, so that one task processes everything about a key. The counts for production assume 500 million products.
 */
export const BY_PRODUCT = { partitions: 1, productionPartitions: 64 }
export const BY_SKU = { partitions: 1, productionPartitions: 64 }
export const BY_RESERVATION = { partitions: 1, productionPartitions: 64 }
export const BY_SELLER = { partitions: 1, productionPartitions: 64 }
