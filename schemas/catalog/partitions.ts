/**
 * Partitions of the topics of the catalogue, by what their keys are. Topics with equal keys have equal counts, so that
 * one task has all that concerns a key. The base for production is 500M products.
 */
export const BY_PRODUCT = { partitions: 1, productionPartitions: 64 }
export const BY_SKU = { partitions: 1, productionPartitions: 64 }
export const BY_RESERVATION = { partitions: 1, productionPartitions: 64 }
export const BY_SELLER = { partitions: 1, productionPartitions: 64 }
