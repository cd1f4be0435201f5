/**
 * Partition count of all topics that are keyed by a user. It is the same for all of them, so that one task owns
 * everything about a user.
 */
export const BY_USER = { partitions: 1, productionPartitions: 200 }
/** Topics keyed by an item. */
export const BY_ITEM = { partitions: 1, productionPartitions: 64 }
