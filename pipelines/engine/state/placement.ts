/**
 * Returns the member to which Kafka's `range` assignor assigns a partition of a topic. Members get contiguous shares in
 * the order of their ids. If the partitions do not divide evenly, the first members get one more partition each.
 * @param members ids of all members, sorted
 * @returns undefined if there are no members
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
 * Returns the members that keep a standby copy of a partition. The first of them would get the partition if its owner
 * left, the second would get it if the first also left, and so on. All workers compute the same result independently.
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
