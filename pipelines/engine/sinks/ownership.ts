import type { MemberlessGroup, TopicPartition } from '../../../kafka/transport.ts'
import { sharedQuestion } from './shared-question.ts'

/**
 * A process that runs an earlier version has the partition: there each sink was a member of the group of its own name, which now only keeps
 * offsets. During an upgrade or a return to that version the other process goes on, and this one waits until it has left.
 */
export class OwnedElsewhereError extends Error {
  override readonly name = 'OwnedElsewhereError'
}

/**
 * Looks whether another process owns a partition through the group that keeps a sink's offsets.
 * @returns throws OwnedElsewhereError if so
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
