/** All topics keyed by a user have one partition count, so that one task owns everything about the user. */
export const BY_USER = { partitions: 1, productionPartitions: 200 }
/** Topics keyed by an item. */
export const BY_ITEM = { partitions: 1, productionPartitions: 64 }
