import type { MemberlessGroup, TopicPartition } from '../../../kafka/transport.ts'
import { sharedQuestion } from './shared-question.ts'

/**
 * Thrown when a process with an earlier version of the sink owns the partition. In that version each sink was a member
 * of the group with the sink's name; in this version that group only stores offsets. During an upgrade or a downgrade,
 * this process waits until the other process has left the group.
 */
export class OwnedElsewhereError extends Error {
  override readonly name = 'OwnedElsewhereError'
}

/**
 * Uses the group that stores a sink's offsets to detect processes with an earlier version of the sink.
 * @returns a check that throws OwnedElsewhereError if such a process owns the partition
 */
export function ownershipCheck(group: MemberlessGroup): (partition: TopicPartition) => Promise<void> {
  const members = sharedQuestion(group.members)
  return async ({ topic, partition }) => {
    for (const { memberId, partitions } of await members()) {
      if (!partitions.some((owned) => owned.topic === topic && owned.partition === partition)) continue
      throw new OwnedElsewhereError(
        `member ${memberId} of group ${group.groupId} owns ${topic}-${partition} and runs an earlier version of the sink`,
      )
    }
  }
}
