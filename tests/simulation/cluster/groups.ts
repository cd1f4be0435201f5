import type { Scheduler } from '../scheduler.ts'
import { Refused } from './errors.ts'
import { ExpectedProducers } from './expected-producers.ts'
import type { Identity, Marker } from './transactions.ts'

export interface TopicPartitions {
  readonly topic: string
  readonly partitions: readonly number[]
}

export interface StoredOffset {
  readonly offset: number
  readonly metadata: string | null
  readonly leaderEpoch: number
}

interface PendingOffsets {
  readonly epoch: number
  readonly offsets: Map<string, StoredOffset>
}

export interface Heartbeat {
  readonly memberId: string
  readonly epoch: number
  readonly clientId: string
  /** Rack of the member; null when unchanged. */
  readonly rackId: string | null
  readonly rebalanceTimeoutMs: number
  /** Topics to which the member subscribes; null when unchanged. */
  readonly topics: readonly string[] | null
  /** Keys of the partitions that the member owns; null when unchanged. */
  readonly owned: ReadonlySet<string> | null
}

export interface GroupMemberState {
  readonly id: string
  clientId: string
  rackId: string | null
  epoch: number
  previousEpoch: number
  topics: readonly string[]
  seenAt: number
  rebalanceTimeoutMs: number
  /** Keys of the partitions that are assigned to the member. */
  assigned: Set<string>
  /** Keys of the partitions that the member must revoke but has not revoked yet. */
  revoking: Set<string>
  revokingSince: number
}

/**
 * Session timeout. Kafka's default for group.consumer.session.timeout.ms is 45 s, but a shorter timeout makes
 * simulations shorter.
 */
const SESSION_TIMEOUT_MS = 6_000
export const HEARTBEAT_INTERVAL_MS = 1_000
const JOIN_EPOCH = 0
const LEAVE_EPOCH = -1

/** A consumer group of the new protocol (KIP-848), with the range assignor and committed offsets. */
export class Group {
  readonly id: string
  readonly members = new Map<string, GroupMemberState>()
  readonly offsets = new Map<string, StoredOffset>()
  /** Offsets of open transactions, by producer id. */
  readonly #pending = new Map<number, PendingOffsets>()
  readonly #expected = new ExpectedProducers()
  epoch = 0
  readonly #scheduler: Scheduler
  readonly #partitionsOf: (topic: string) => number
  #target = new Map<string, Set<string>>()

  constructor(id: string, scheduler: Scheduler, partitionsOf: (topic: string) => number) {
    this.id = id
    this.#scheduler = scheduler
    this.#partitionsOf = partitionsOf
  }

  /** @returns the member (undefined if it has left), and whether the response must contain its assignment */
  heartbeat(beat: Heartbeat): { readonly member: GroupMemberState | undefined; readonly changed: boolean } {
    this.expire()
    if (beat.epoch === LEAVE_EPOCH) {
      if (this.members.delete(beat.memberId)) this.#rebalance()
      return { member: undefined, changed: false }
    }
    const member = this.#memberOf(beat)
    member.seenAt = this.#scheduler.now()
    member.clientId = beat.clientId
    member.rackId = beat.rackId ?? member.rackId
    if (beat.rebalanceTimeoutMs > 0) member.rebalanceTimeoutMs = beat.rebalanceTimeoutMs
    if (beat.topics !== null && beat.topics.join() !== member.topics.join()) {
      member.topics = [...beat.topics]
      this.#rebalance()
    }
    const before = [...member.assigned].sort().join()
    this.#reconcile(member, beat.owned)
    return { member, changed: beat.epoch === JOIN_EPOCH || beat.topics !== null || before !== [...member.assigned].sort().join() }
  }

  #memberOf({ memberId, epoch, clientId, owned }: Heartbeat): GroupMemberState {
    const known = this.members.get(memberId)
    if (epoch === JOIN_EPOCH) {
      if (known !== undefined) {
        // A member that rejoins owns no partitions, but it is still the same member.
        known.assigned.clear()
        known.revoking.clear()
        known.epoch = known.previousEpoch = JOIN_EPOCH
        return known
      }
      const now = this.#scheduler.now()
      const born = {
        id: memberId,
        clientId,
        rackId: null,
        epoch: 0,
        previousEpoch: 0,
        topics: [],
        seenAt: now,
        rebalanceTimeoutMs: SESSION_TIMEOUT_MS,
      }
      const member: GroupMemberState = { ...born, assigned: new Set(), revoking: new Set(), revokingSince: 0 }
      this.members.set(memberId, member)
      return member
    }
    if (known === undefined) throw new Refused('UNKNOWN_MEMBER_ID')
    if (epoch > known.epoch) throw new Refused('FENCED_MEMBER_EPOCH')
    if (epoch < known.epoch) {
      const repeats = epoch === known.previousEpoch && owned !== null && [...owned].every((key) => known.assigned.has(key))
      if (!repeats) throw new Refused('FENCED_MEMBER_EPOCH')
    }
    return known
  }

  /** Restarts all session timeouts, as a new coordinator does after reading its log. */
  loaded(at: number): void {
    for (const member of this.members.values()) member.seenAt = Math.max(member.seenAt, at)
  }

  /** Removes members whose sessions have timed out, and members that take too long to revoke partitions. */
  expire(): void {
    const now = this.#scheduler.now()
    for (const member of [...this.members.values()]) {
      const isSilent = now - member.seenAt > SESSION_TIMEOUT_MS
      const isSlow = member.revoking.size > 0 && now - member.revokingSince > member.rebalanceTimeoutMs
      if (isSilent || isSlow) this.remove(member.id)
    }
  }

  remove(memberId: string): void {
    if (this.members.delete(memberId)) this.#rebalance()
  }

  /** Must be called when the partition count of a topic has changed. */
  topicsChanged(): void {
    this.#rebalance()
  }

  /**
   * Assigns partitions as the range assignor does: the subscribers of each topic, sorted by id, get ranges of
   * consecutive partitions of the topic.
   */
  #rebalance(): void {
    this.epoch++
    this.#target = new Map([...this.members.keys()].map((id) => [id, new Set<string>()]))
    const topics = new Set([...this.members.values()].flatMap((member) => member.topics))
    for (const topic of topics) {
      const subscribers = [...this.members.values()]
        .filter((member) => member.topics.includes(topic))
        .sort((a, b) => (a.id < b.id ? -1 : 1))
      const count = this.#partitionsOf(topic)
      const least = Math.floor(count / subscribers.length)
      let next = 0
      subscribers.forEach((member, at) => {
        const share = least + (at < count % subscribers.length ? 1 : 0)
        for (let i = 0; i < share; i++) this.#target.get(member.id)?.add(keyOf(topic, next++))
      })
    }
  }

  /**
   * Moves the member one step closer to its target assignment. The member first has to revoke the partitions that it
   * must give up. After that, it gets those target partitions that are free.
   */
  #reconcile(member: GroupMemberState, owned: ReadonlySet<string> | null): void {
    if (member.revoking.size > 0) {
      if (owned === null || [...owned].some((key) => member.revoking.has(key))) return
      member.revoking.clear()
    }
    const target = this.#target.get(member.id) as Set<string>
    const surplus = [...member.assigned].filter((key) => !target.has(key))
    if (surplus.length > 0) {
      for (const key of surplus) {
        member.assigned.delete(key)
        member.revoking.add(key)
      }
      member.revokingSince = this.#scheduler.now()
      return
    }
    for (const key of target) if (!member.assigned.has(key) && this.#isFree(key, member)) member.assigned.add(key)
    if (member.epoch === this.epoch) return
    member.previousEpoch = member.epoch
    member.epoch = this.epoch
  }

  #isFree(key: string, wanting: GroupMemberState): boolean {
    for (const member of this.members.values())
      if (member !== wanting && (member.assigned.has(key) || member.revoking.has(key))) return false
    return true
  }

  /**
   * @param transactional true for offsets in a transaction. These may be committed without a member id even if the
   * group has members
   */
  checkMember(memberId: string, epoch: number, transactional: boolean): void {
    this.expire()
    if (memberId === '' && epoch < 0) {
      if (this.members.size > 0 && !transactional) throw new Refused('UNKNOWN_MEMBER_ID')
      return
    }
    const member = this.members.get(memberId)
    if (member === undefined) throw new Refused('UNKNOWN_MEMBER_ID')
    if (member.epoch !== epoch) throw new Refused(transactional ? 'ILLEGAL_GENERATION' : 'STALE_MEMBER_EPOCH')
  }

  isStable(key: string): boolean {
    for (const { offsets } of this.#pending.values()) if (offsets.has(key)) return false
    return true
  }

  hasPending({ producerId, epoch }: Identity): boolean {
    return this.#pending.get(producerId)?.epoch === epoch
  }

  /** Must be called before the coordinator is asked whether this group belongs to the producer's transaction. */
  expectPending(producer: Identity, adds: boolean): void {
    this.#expected.add(producer, 0, adds)
  }

  addPending(producer: Identity, offsets: Iterable<readonly [string, StoredOffset]>): void {
    const { producerId, epoch } = producer
    if (!this.hasPending(producer)) {
      if (this.#expected.find(producerId) === undefined) throw new Refused('INVALID_TXN_STATE')
      this.#pending.set(producerId, { epoch, offsets: new Map() })
      this.#expected.begun(producerId)
    }
    for (const [key, offset] of offsets) this.#pending.get(producerId)?.offsets.set(key, offset)
  }

  endPending(producer: Identity, marker: Marker): void {
    const known = this.#pending.get(producer.producerId)
    this.#pending.delete(producer.producerId)
    this.#expected.ended(producer)
    if (marker === 'commit') for (const [key, offset] of known?.offsets ?? []) this.offsets.set(key, offset)
  }
}

export function keyOf(topic: string, partition: number): string {
  return `${topic}:${partition}`
}

export function byTopic(keys: Iterable<string>): TopicPartitions[] {
  const topics = Map.groupBy([...keys].sort(), (key) => key.slice(0, key.lastIndexOf(':')))
  return [...topics].map(([topic, of]) => ({ topic, partitions: of.map((key) => Number(key.slice(key.lastIndexOf(':') + 1))) }))
}
