import type { Runtime } from '../../runtime/runtime.ts'
import type { GroupPeer } from '../transport.ts'

/** How long a list of members is used before it is read again. Groups rarely change. */
const MEMBERS_MAX_AGE_MS = 10_000
/** Pause before a process is checked a second time, so that a single wrong answer removes no member. */
const CONFIRM_AFTER_MS = 100

export interface NeighbourWatchOptions {
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'log'>
  readonly groupId: string
  /** Returns the current id of this member. */
  memberId(): string
  /** Reads the members of the group, sorted by id. */
  members(): Promise<readonly GroupPeer[]>
  /** See `GroupOptions.hasEnded`. */
  hasEnded(address: string): Promise<boolean>
  /** Removes another member from the group. @returns false if it was no longer in the group */
  remove(memberId: string): Promise<boolean>
  /** Fires when this member leaves. */
  readonly stopping: AbortSignal
}

/**
 * Watches one other member: the one with the next higher id. The member with the highest id watches the one with the
 * lowest id. Every member is thus watched by exactly one other member, however large the group is. After a member has
 * removed its neighbour, it watches the next one, so members whose processes ended together are removed one after
 * another.
 */
export interface NeighbourWatch {
  /**
   * Removes the neighbour if its process has ended.
   * @returns whether it removed a member
   */
  look(): Promise<boolean>
  /** Makes the next check read the members again, because the group has changed. */
  forgetMembers(): void
}

export function neighbourWatch({ runtime, groupId, memberId, members, hasEnded, remove, stopping }: NeighbourWatchOptions): NeighbourWatch {
  let known: readonly GroupPeer[] = []
  let knownAt = Number.NEGATIVE_INFINITY

  async function currentMembers(maxAgeMs: number): Promise<readonly GroupPeer[]> {
    const now = runtime.monotonic()
    if (now - knownAt < maxAgeMs) return known
    known = await members()
    knownAt = now
    return known
  }

  async function neighbour(maxAgeMs: number): Promise<GroupPeer | undefined> {
    const others = await currentMembers(maxAgeMs)
    const own = memberId()
    const next = others.find((member) => member.memberId > own) ?? others[0]
    return next === undefined || next.memberId === own ? undefined : next
  }

  return {
    async look() {
      const suspect = await neighbour(MEMBERS_MAX_AGE_MS)
      if (suspect?.address === undefined || !(await hasEnded(suspect.address))) return false
      await runtime.sleep(CONFIRM_AFTER_MS, stopping)
      if (stopping.aborted) return false
      // The process may have been started again since the members were read. It then has the same member id, but
      // usually another address.
      const current = await neighbour(0)
      if (current?.address !== suspect.address || current.memberId !== suspect.memberId) return false
      if (!(await hasEnded(current.address))) return false
      knownAt = Number.NEGATIVE_INFINITY
      if (!(await remove(current.memberId))) return false
      runtime.log.warn({ groupId, memberId: current.memberId, address: current.address }, 'kafka_member_of_ended_process_removed')
      return true
    },
    forgetMembers() {
      knownAt = Number.NEGATIVE_INFINITY
    },
  }
}
