import type { Runtime } from '../runtime/runtime.ts'
import type { GroupMember, GroupPeer } from './transport.ts'

/** Caches the members of the group, so that many readers cause few requests to the coordinator. */
export interface GroupView {
  /**
   * Returns the members, sorted by member id. The result is at most `maxAgeMs` old, or comes from a request that is
   * already in flight.
   */
  members(maxAgeMs: number): Promise<readonly GroupPeer[]>
}

interface GroupCache extends GroupView {
  /** Makes the next call read the members again, because the group has changed. */
  forget(): void
}

export function groupView(group: Pick<GroupMember, 'members'>, runtime: Pick<Runtime, 'monotonic'>): GroupCache {
  let known: readonly GroupPeer[] = []
  let knownAt = -Infinity
  let asking: Promise<readonly GroupPeer[]> | undefined

  async function ask(): Promise<readonly GroupPeer[]> {
    const askedAt = runtime.monotonic()
    const request = group.members()
    asking = request
    try {
      const members = await request
      if (asking === request) {
        known = members
        knownAt = askedAt
      }
      return members
    } finally {
      if (asking === request) asking = undefined
    }
  }

  return {
    async members(maxAgeMs) {
      if (runtime.monotonic() - knownAt <= maxAgeMs) return known
      return asking ?? ask()
    },
    forget() {
      knownAt = -Infinity
      // The answer to an earlier request may not contain the change.
      asking = undefined
    },
  }
}
