import type { Runtime } from '../../runtime/runtime.ts'
import { groupView } from '../group-view.ts'
import type { GroupPeer } from '../transport.ts'

/** How long a list of members is used before it is read again. The time can be long, because groups rarely change. */
const MEMBERS_MAX_AGE_MS = 10_000
/** Pause before a process is checked a second time, so that a single wrong answer does not remove a member. */
const CONFIRM_AFTER_MS = 100

export interface NeighbourWatchOptions {
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'log'>
  readonly groupId: string
  /** Returns the current id of this member. */
  memberId(): string
  /** Reads the members of the group, sorted by id. */
  members(): Promise<GroupPeer[]>
  /** See `GroupOptions.hasEnded`. */
  hasEnded(address: string): Promise<boolean>
  /**
   * Removes another member from the group.
   * @returns false if the coordinator refused, for example because that member was no longer in the group
   */
  remove(memberId: string): Promise<boolean>
  /** Fires when this member leaves. */
  readonly stopping: AbortSignal
}

/**
 * Watches the neighbour: the member with the next higher id, or the member with the lowest id if this one has the
 * highest. At most one other member therefore watches each member, however large the group is. After a member has
 * removed its neighbour, it watches the next one. If several processes ended together, their members are therefore
 * removed one after another.
 */
export interface NeighbourWatch {
  /**
   * Removes the neighbour if its process has ended. Does nothing while an earlier call is still running.
   * @returns whether it removed a member
   */
  look(): Promise<boolean>
  /** Makes the next check read the members again, because the group has changed. */
  forgetMembers(): void
}

export function neighbourWatch({ runtime, groupId, memberId, members, hasEnded, remove, stopping }: NeighbourWatchOptions): NeighbourWatch {
  const group = groupView({ members }, runtime)
  let isLooking = false

  async function neighbour(): Promise<GroupPeer | undefined> {
    const all = await group.members(MEMBERS_MAX_AGE_MS)
    const own = memberId()
    const next = all.find((member) => member.memberId > own) ?? all[0]
    return next === undefined || next.memberId === own ? undefined : next
  }

  async function removeIfEnded(): Promise<boolean> {
    const suspect = await neighbour()
    if (suspect?.address === undefined || !(await hasEnded(suspect.address))) return false
    await runtime.sleep(CONFIRM_AFTER_MS, stopping)
    if (stopping.aborted) return false
    // The process may have restarted since the members were read. A restarted process has the same member id, but
    // usually another address.
    group.forget()
    const current = await neighbour()
    if (current?.address !== suspect.address || current.memberId !== suspect.memberId) return false
    if (!(await hasEnded(current.address))) return false
    group.forget()
    if (!(await remove(current.memberId))) return false
    runtime.log.warn({ groupId, memberId: current.memberId, address: current.address }, 'kafka_member_of_ended_process_removed')
    return true
  }

  return {
    async look() {
      if (isLooking) return false
      isLooking = true
      try {
        return await removeIfEnded()
      } finally {
        isLooking = false
      }
    },
    forgetMembers: group.forget,
  }
}
