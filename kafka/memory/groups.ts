import {
  type CommittedOffset,
  FencedError,
  type GroupEvent,
  type GroupPeer,
  type OffsetToCommit,
  partitionKey,
  type TopicPartition,
  TransportError,
} from '../transport.ts'

/**
 * Consumer groups as in KIP-848: a partition gets a new owner only after the previous owner has left the group, has
 * expired, has joined again, or has reported that it no longer owns the partition.
 */
export interface MemoryGroups {
  /**
   * Adds a member to the group.
   * @returns the number of this membership. A member that joins again with the same id gets a new number, and calls
   * with the earlier number have no effect
   */
  join(groupId: string, memberId: string, topics: readonly string[], address?: string): number
  leave(groupId: string, memberId: string): void
  subscribe(groupId: string, memberId: string, topics: readonly string[], life: number): void
  announce(groupId: string, memberId: string, notice: string | undefined, life: number): void
  /** Simulates the session timeout of a member that has stopped sending heartbeats. */
  expire(groupId: string, memberId: string): void
  /**
   * Returns the next event of a membership; undefined if there is none.
   * @param life the membership's number, from `join`; by default, the number of the latest membership with this member
   * id
   */
  takeEvent(groupId: string, memberId: string, life?: number): GroupEvent | undefined
  acknowledge(groupId: string, memberId: string, owned: readonly TopicPartition[], life?: number): void
  epoch(groupId: string, memberId: string): number
  members(groupId: string): string[]
  owned(groupId: string, memberId: string): readonly string[]
  /** Returns the members, as `GroupMember.members` does. */
  peers(groupId: string): GroupPeer[]
  committed(groupId: string): ReadonlyMap<string, CommittedOffset>
  /**
   * Commits offsets.
   * @throws FencedError when the member is not in the group, or when no member is given and the group has members
   * @throws TransportError `UNKNOWN_TOPIC_OR_PARTITION` when a partition does not exist. As on a broker, the offsets of
   * all other partitions are committed.
   */
  commit(groupId: string, memberId: string | undefined, offsets: Iterable<OffsetToCommit>): void
  /** Throws FencedError when the member is not in the group. */
  check(groupId: string, memberId: string): void
  /** Deletes the group's offsets of one topic or of all topics, as a broker does after their retention time. */
  forgetOffsets(groupId: string, topic?: string): void
}

interface Member {
  readonly life: number
  topics: readonly string[]
  readonly address: string | undefined
  notice: string | undefined
  owned: Map<string, TopicPartition>
  /** The partitions that the member last received, as one string. */
  lastSent: string | undefined
  epoch: number
}

interface Group {
  epoch: number
  readonly members: Map<string, Member>
  readonly fenced: Set<string>
  readonly offsets: Map<string, CommittedOffset>
}

export function memoryGroups(partitionCount: (topic: string) => number | undefined): MemoryGroups {
  const groups = new Map<string, Group>()

  function group(groupId: string): Group {
    const known = groups.get(groupId)
    if (known !== undefined) return known
    const fresh: Group = { epoch: 0, members: new Map(), fenced: new Set(), offsets: new Map() }
    groups.set(groupId, fresh)
    return fresh
  }

  function memberOf(groupId: string, memberId: string): Member {
    const member = group(groupId).members.get(memberId)
    if (member === undefined) throw new FencedError(`member ${memberId} is not in group ${groupId}`)
    return member
  }

  /**
   * Returns the target assignment of a member. It consists of contiguous partitions per topic, as with the `range`
   * assignor. A member gets the same partition numbers of all topics with equal partition counts and the same
   * subscribers.
   */
  function target(of: Group, memberId: string): TopicPartition[] {
    const member = of.members.get(memberId)
    return (member?.topics ?? []).flatMap((topic) => {
      const count = partitionCount(topic)
      if (count === undefined) return []
      const subscribed = [...of.members].filter(([, other]) => other.topics.includes(topic)).map(([id]) => id)
      const sorted = subscribed.sort()
      const index = sorted.indexOf(memberId)
      const share = Math.floor(count / sorted.length)
      const extra = count % sorted.length
      const first = index * share + Math.min(index, extra)
      return Array.from({ length: share + (index < extra ? 1 : 0) }, (_, i) => ({ topic, partition: first + i }))
    })
  }

  /** Returns the target assignment without the partitions that other members still own. */
  function assignable(of: Group, memberId: string): TopicPartition[] {
    const others = [...of.members].filter(([id]) => id !== memberId)
    return target(of, memberId).filter(
      ({ topic, partition }) => !others.some(([, other]) => other.owned.has(partitionKey(topic, partition))),
    )
  }

  function remove(groupId: string, memberId: string): void {
    const of = group(groupId)
    if (of.members.delete(memberId)) of.epoch++
  }

  return {
    join(groupId, memberId, topics, address) {
      const of = group(groupId)
      of.fenced.delete(memberId)
      of.epoch++
      of.members.set(memberId, {
        life: of.epoch,
        topics,
        address,
        notice: undefined,
        owned: new Map(),
        lastSent: undefined,
        epoch: of.epoch,
      })
      return of.epoch
    },
    leave: remove,
    subscribe(groupId, memberId, topics, life) {
      const of = group(groupId)
      const member = of.members.get(memberId)
      if (member === undefined || member.life !== life) return
      of.epoch++
      member.topics = topics
    },
    announce(groupId, memberId, notice, life) {
      const member = group(groupId).members.get(memberId)
      if (member?.life === life) member.notice = notice
    },
    expire(groupId, memberId) {
      remove(groupId, memberId)
      group(groupId).fenced.add(memberId)
    },
    takeEvent(groupId, memberId, life) {
      const of = group(groupId)
      if (of.fenced.delete(memberId)) return { type: 'fenced', reason: 'the session timed out' }
      const member = of.members.get(memberId)
      if (member === undefined || member.life !== (life ?? member.life)) return undefined
      const partitions = assignable(of, memberId)
      const lastSent = partitions.map(({ topic, partition }) => partitionKey(topic, partition)).join(' ')
      member.epoch = of.epoch
      if (lastSent === member.lastSent) return undefined
      member.lastSent = lastSent
      // The member owns these partitions now. Other members get a partition only after this member has acknowledged a
      // set that does not contain it.
      for (const each of partitions) member.owned.set(partitionKey(each.topic, each.partition), each)
      return { type: 'assignment', partitions }
    },
    acknowledge(groupId, memberId, owned, life) {
      const member = group(groupId).members.get(memberId)
      if (member !== undefined && member.life === (life ?? member.life))
        member.owned = new Map(owned.map((each) => [partitionKey(each.topic, each.partition), each]))
    },
    epoch: (groupId, memberId) => group(groupId).members.get(memberId)?.epoch ?? -1,
    members: (groupId) => [...group(groupId).members.keys()],
    owned: (groupId, memberId) => [...(group(groupId).members.get(memberId)?.owned.keys() ?? [])],
    peers: (groupId) =>
      [...group(groupId).members]
        .map(([memberId, { address, owned, topics, notice }]) => ({ memberId, address, partitions: [...owned.values()], topics, notice }))
        .sort((a, b) => (a.memberId < b.memberId ? -1 : 1)),
    committed: (groupId) => group(groupId).offsets,
    check(groupId, memberId) {
      memberOf(groupId, memberId)
    },
    commit(groupId, memberId, offsets) {
      const of = group(groupId)
      if (memberId !== undefined) memberOf(groupId, memberId)
      else if (of.members.size > 0) throw new FencedError(`group ${groupId} has a member, so only a member can commit its offsets`)
      let unknown: TransportError | undefined
      for (const { topic, partition, offset, metadata = '', leaderEpoch } of offsets) {
        if (partition < (partitionCount(topic) ?? 0)) of.offsets.set(partitionKey(topic, partition), { offset, metadata, leaderEpoch })
        else unknown ??= new TransportError('UNKNOWN_TOPIC_OR_PARTITION', `topic ${topic} has no partition ${partition}`, { fatal: true })
      }
      if (unknown !== undefined) throw unknown
    },
    forgetOffsets(groupId, topic) {
      const { offsets } = group(groupId)
      if (topic === undefined) offsets.clear()
      else for (let partition = 0; partition < (partitionCount(topic) ?? 0); partition++) offsets.delete(partitionKey(topic, partition))
    },
  }
}
