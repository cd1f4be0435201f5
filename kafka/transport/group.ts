import type { TopicPartition } from './partitions.ts'

export type GroupEvent =
  /**
   * The target assignment has changed to exactly these partitions. Finish and commit the records of revoked partitions,
   * then `acknowledge`.
   */
  | { readonly type: 'assignment'; readonly partitions: readonly TopicPartition[] }
  /** The membership is lost. Drop uncommitted results, then `rejoin`. */
  | { readonly type: 'fenced'; readonly reason: string }
  /** The membership failed for a reason that a retry cannot fix (authorization, unsupported broker). */
  | { readonly type: 'failed'; readonly error: Error }

export interface GroupOptions {
  readonly groupId: string
  /**
   * A unique id that the worker slot keeps across restarts. A member that joins with this id before the session of its
   * earlier membership has timed out gets the same partitions back at once.
   */
  readonly memberId: string
  /** Receives the member id that replaces a refused one (Kafka 4.0 and 4.1), so that the caller can store it. */
  readonly onMemberId?: (memberId: string) => void
  /**
   * Called when `takeEvent` has an event to return. Use it to wake a loop that would otherwise check for events only
   * later.
   */
  readonly onEvent?: () => void
  readonly topics: readonly string[]
  /** The HTTP address of this process (http://host:port). The other members can see it. */
  readonly address?: string
  /**
   * Returns true only if the process that published an address has certainly ended. If this option is given, the
   * members watch each other, and remove a member from the group when its process has ended. The partitions of that
   * member then move within one or two heartbeat intervals instead of after the session timeout. Removing a live member
   * is safe: like a member whose session has timed out, it is fenced and joins again.
   */
  readonly hasEnded?: (address: string) => Promise<boolean>
  /** Server-side assignor. Default `range`. */
  readonly assignor?: string
  /**
   * How long the member may take to give up revoked partitions before the coordinator removes it from the group, in ms.
   * Default 5 min.
   */
  readonly rebalanceTimeoutMs?: number
}

/** A group member as its coordinator describes it. */
export interface GroupPeer {
  readonly memberId: string
  /** The address that the member published; undefined when it published no address. */
  readonly address: string | undefined
  /** The partitions that the member owns now. */
  readonly partitions: readonly TopicPartition[]
  /** The topics that the member subscribes to. */
  readonly topics: readonly string[]
  /** The last notice that the member announced; undefined if it has never announced one. */
  readonly notice: string | undefined
}

/** The committed offsets and the members of a consumer group. */
interface GroupOffsets {
  readonly groupId: string
  /**
   * Returns the committed offsets, keyed by `partitionKey`; partitions without a committed offset are absent. Waits
   * while a transaction that includes these offsets is open (require_stable).
   */
  committed(partitions: readonly TopicPartition[]): Promise<Map<string, CommittedOffset>>
  /**
   * Commits offsets outside a transaction (for at-least-once processing).
   * @throws FencedError when the membership is lost, or when a group that should be empty has a member
   */
  commit(offsets: ReadonlyMap<string, OffsetToCommit>): Promise<void>
  /** Returns all members, sorted by member id. The `range` assignor assigns partitions in this order. */
  members(): Promise<GroupPeer[]>
}

/** A member of a KIP-848 consumer group. It sends heartbeats automatically from `join` to `leave`. */
export interface GroupMember extends GroupOffsets {
  /** The member's id. It changes when the broker refuses the old id at a join (Kafka 4.0 and 4.1). */
  readonly memberId: string
  /** The member epoch from the last heartbeat response. */
  readonly epoch: number
  /** Number of stalls of the event loop in which another thread sent the heartbeats. */
  readonly stalls: number
  /** Joins the group. Has no effect after `leave`. A member that is stopped while it starts therefore does not join. */
  join(): Promise<void>
  /**
   * Returns the next event, or undefined. A new assignment replaces an earlier one that the caller has not taken yet.
   */
  takeEvent(): GroupEvent | undefined
  /**
   * Reports the partitions that the member owns now. Must be called after the results for revoked partitions are
   * committed.
   */
  acknowledge(owned: readonly TopicPartition[]): void
  /**
   * Joins again without owning any partition. Call it after a `fenced` event, or when the producer was fenced and the
   * worker starts over.
   */
  rejoin(): Promise<void>
  /**
   * Sends one heartbeat and reads the member epoch from the answer. Rejects if the membership is lost or the
   * coordinator does not answer.
   */
  heartbeat(): Promise<void>
  /**
   * Resolves at once if the group confirmed the membership recently; otherwise asks the coordinator. Must be called
   * before records are sent outside a transaction. A process that was suspended for longer than its session may have
   * lost its partitions, and only this check prevents it from writing. Rejects with FencedError if the membership is
   * lost, and with TransportError if the coordinator does not confirm it in time.
   */
  confirm(): Promise<void>
  /**
   * Replaces the subscribed topics and informs the coordinator at once. The member keeps its partitions of the topics
   * that it still subscribes to.
   */
  subscribe(topics: readonly string[]): void
  /**
   * Publishes a short, non-empty text. The other members see this text as `GroupPeer.notice`. If the member has joined,
   * the text is sent at once.
   */
  announce(notice: string): void
  /**
   * Leaves the group, so that the coordinator reassigns the partitions at once. With `keepPlace` the member stops
   * without leaving: a process that joins with the same member id before the session times out gets the same
   * partitions.
   */
  leave(options?: { readonly keepPlace?: boolean }): Promise<void>
}

/**
 * The committed offsets of a group without members. Kafka accepts commits for this kind of group from any client, so
 * the caller must ensure that no other process commits.
 */
export interface MemberlessGroup extends GroupOffsets {
  close(): Promise<void>
}

export interface OffsetToCommit extends TopicPartition {
  /** The offset of the next record to read. */
  readonly offset: number
  /**
   * The metadata of the commit. The client reads this property just before it sends the offset. If the offset is sent
   * in parallel with records, and the leader of one of their partitions changes, the client reads the property and
   * sends the offset a second time, after all records are acknowledged.
   */
  readonly metadata?: string | undefined
  /** See `PartitionData.leaderEpoch`. */
  readonly leaderEpoch?: number
}

/** The offset and metadata that the group has stored for a partition. */
export interface CommittedOffset {
  readonly offset: number
  /**
   * The metadata from `OffsetToCommit`, or an empty string. Tasks store their event time and the leader epochs of their
   * changelogs here.
   */
  readonly metadata: string
  /** The leader epoch from `OffsetToCommit`; undefined when there is none. */
  readonly leaderEpoch?: number
}
