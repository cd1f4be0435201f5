import { FencedError, type MemberlessGroup, type OffsetToCommit } from '../transport.ts'
import type { Cluster } from './cluster.ts'
import { openCoordinator } from './coordinator.ts'
import { MemberFenced } from './errors.ts'
import { describeMembers } from './group-members.ts'
import { commitOffsets, fetchCommitted, NO_MEMBER, type OffsetOwner } from './group-offsets.ts'
import type { Context } from './options.ts'

/** Opens the committed offsets of a group without members; see `MemberlessGroup`. */
export function openMemberlessGroup(context: Context, cluster: Cluster, groupId: string): MemberlessGroup {
  const coordinator = openCoordinator(context, cluster, 'group', groupId)
  const closing = new AbortController()
  const owner: OffsetOwner = {
    groupId,
    ...NO_MEMBER,
    async heartbeat() {
      throw hasMember()
    },
    signal: closing.signal,
  }

  function hasMember(): FencedError {
    return new FencedError(`group ${groupId} has a member, so only a member can commit its offsets`)
  }

  async function commit(offsets: ReadonlyMap<string, OffsetToCommit>): Promise<void> {
    try {
      await commitOffsets(context, coordinator, owner, offsets)
    } catch (error) {
      throw error instanceof MemberFenced ? hasMember() : error
    }
  }

  async function close(): Promise<void> {
    closing.abort()
    await coordinator.close()
  }

  return {
    groupId,
    committed: (partitions) => fetchCommitted(context, coordinator, owner, partitions),
    commit,
    members: () => describeMembers(context, coordinator, groupId, closing.signal),
    close,
  }
}
