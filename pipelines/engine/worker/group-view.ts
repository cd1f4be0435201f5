import type { GroupMember, GroupPeer } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'

/** Caches the members of the group, so that many readers cause few requests to the coordinator. */
export interface GroupView {
  /** Returns the members, sorted by member id. The result is at most `maxAgeMs` old. */
  members(maxAgeMs: number): Promise<readonly GroupPeer[]>
}

export function groupView(group: Pick<GroupMember, 'members'>, runtime: Pick<Runtime, 'monotonic'>): GroupView {
  let known: readonly GroupPeer[] = []
  let knownAt = -Infinity
  let asking: Promise<readonly GroupPeer[]> | undefined

  async function ask(): Promise<readonly GroupPeer[]> {
    const askedAt = runtime.monotonic()
    try {
      known = await group.members()
      knownAt = askedAt
      return known
    } finally {
      asking = undefined
    }
  }

  return {
    async members(maxAgeMs) {
      if (runtime.monotonic() - knownAt <= maxAgeMs) return known
      asking ??= ask()
      return asking
    },
  }
}
