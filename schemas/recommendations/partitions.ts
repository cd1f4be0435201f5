/**
 * Partition count of all topics that are keyed by a user. All these topics have the same count, so that one task owns
 * everything about a user.
 */
export const BY_USER = { partitions: 1, productionPartitions: 200 }
/** Partition count of all topics that are keyed by an item. */
export const BY_ITEM = { partitions: 1, productionPartitions: 64 }
