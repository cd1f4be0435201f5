import type { TopicSpec } from '../../../kafka/transport.ts'
import { erasable } from '../../../schemas/retention.ts'
import { LARGE_RECORDS } from '../../../schemas/topic.ts'

/**
 * Retention of repartition records. They are read within minutes, but a week leaves time to repair a stopped pipeline
 * without loss.
 */
const REPARTITION_RETENTION_MS = 7 * 24 * 3_600_000
/**
 * Retention of dead letters. The retention is long, because dead letters wait for an operator, who may be on holiday.
 */
const DEAD_LETTER_RETENTION_MS = 30 * 24 * 3_600_000
/**
 * How long tombstones stay in a changelog. State that is older may have missed some tombstones, so it is restored from
 * the beginning. The retention is therefore also the longest downtime after which a worker can still use its own state
 * folder.
 */
export const CHANGELOG_DELETE_RETENTION_MS = 24 * 3_600_000

/** Returns the name of the topic between two sub-topologies. */
export function repartitionTopicName(topology: string, name: string): string {
  return `${topology}-${name}-repartition`
}

/** Returns the name of the topic that contains every change of a store. */
export function changelogTopicName(topology: string, store: string): string {
  return `${topology}-${store}-changelog`
}

/** Returns the name of the topic for records that a topology could not process. */
export function deadLetterTopicName(topology: string): string {
  return `${topology}-dead-letters`
}

export function repartitionSpec(name: string, partitions: number): TopicSpec {
  return { name, partitions, config: { 'cleanup.policy': 'delete', 'retention.ms': String(REPARTITION_RETENTION_MS), ...LARGE_RECORDS } }
}

/**
 * Describes the changelog topic of a store.
 * @param isErasable whether replaced values must be erased within the hour
 */
export function changelogSpec(topology: string, store: string, partitions: number, isErasable = false): TopicSpec {
  return {
    name: changelogTopicName(topology, store),
    partitions,
    config: {
      'cleanup.policy': 'compact',
      'delete.retention.ms': String(CHANGELOG_DELETE_RETENTION_MS),
      ...LARGE_RECORDS,
      ...(isErasable && erasable),
    },
    ...(isErasable && { erases: true }),
  }
}

/** Describes a dead-letter topic. It has one partition, because dead letters are few and their order helps readers. */
export function deadLetterSpec(topology: string): TopicSpec {
  return {
    name: deadLetterTopicName(topology),
    partitions: 1,
    config: { 'cleanup.policy': 'delete', 'retention.ms': String(DEAD_LETTER_RETENTION_MS), ...LARGE_RECORDS },
  }
}
