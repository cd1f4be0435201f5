/**
 * The member that Kafka's `range` assignor gives a partition of a topic: contiguous shares in the order of the member ids, the first ones
 * greater by one where they do not divide evenly.
 * @param members ids of all members, sorted
 */
export function rangeOwner(members: readonly string[], partition: number, partitions: number): string | undefined {
  if (members.length === 0) return undefined
  const share = Math.floor(partitions / members.length)
  const greater = partitions % members.length
  const inGreater = greater * (share + 1)
  const index = partition < inGreater ? Math.floor(partition / (share + 1)) : greater + Math.floor((partition - inGreater) / share)
  return members[index]
}

/**
 * The members that keep a standby copy of a partition: whoever the assignor would give it if its owner died, then if that one died too, and so on.
 * Every worker comes to the same answer by itself.
 * @param members ids of all members, sorted
 */
export function standbyOwners(members: readonly string[], partition: number, partitions: number, copies: number): string[] {
  const standbys: string[] = []
  let left = members
  let owner = rangeOwner(left, partition, partitions)
  while (owner !== undefined && standbys.length < copies) {
    const gone = owner
    left = left.filter((member) => member !== gone)
    owner = rangeOwner(left, partition, partitions)
    if (owner !== undefined) standbys.push(owner)
  }
  return standbys
}
