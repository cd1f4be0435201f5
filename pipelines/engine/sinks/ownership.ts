import type { MemberlessGroup, TopicPartition } from '../../../kafka/transport.ts'
import { sharedQuestion } from './shared-question.ts'

/**
 * A process of an earlier version owns the partition. In that version each sink was a member of the group of its name,
 * which now only keeps offsets. During an upgrade or a downgrade this process waits until the other leaves.
 */
export class OwnedElsewhereError extends Error {
  override readonly name = 'OwnedElsewhereError'
}

/**
 * Checks whether another process owns a partition through the group that keeps a sink's offsets.
 * @returns a check that throws OwnedElsewhereError if so
 */
export function ownershipCheck(group: MemberlessGroup): (partition: TopicPartition) => Promise<void> {
  const members = sharedQuestion(group.members)
  return async ({ topic, partition }) => {
    for (const { memberId, partitions } of await members()) {
      if (!partitions.some((owned) => owned.topic === topic && owned.partition === partition)) continue
      throw new OwnedElsewhereError(
        `member ${memberId} of group ${group.groupId} owns ${topic}-${partition}: an earlier version of the sink`,
      )
    }
  }
}
