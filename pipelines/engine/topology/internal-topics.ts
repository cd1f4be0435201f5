import type { TopicSpec } from '../../../kafka/transport.ts'
import { erasable, idsErasable } from '../../../schemas/retention.ts'
import { type AnyTopic, LARGE_RECORDS } from '../../../schemas/topic.ts'

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
 * How long tombstones stay in a changelog. State that was last complete longer ago than this may have missed some
 * tombstones, so it is restored from the beginning. If other workers write in the meantime, the retention is therefore
 * also the longest downtime after which a worker can still use its own state folder.
 */
export const CHANGELOG_DELETE_RETENTION_MS = 24 * 3_600_000

/** Returns the name of the topic between two sub-topologies. */
export function repartitionTopicName(topology: string, name: string): string {
  return `${topology}-${name}-repartition`
}

/** Returns the name of the topic to which a logged store writes its changes. */
export function changelogTopicName(topology: string, store: string): string {
  return `${topology}-${store}-changelog`
}

/** Returns the name of the topic for records that a topology could not process. */
export function deadLetterTopicName(topology: string): string {
  return `${topology}-dead-letters`
}

/** Describes a repartition topic. @param declared the topology's own options for the topic */
export function repartitionSpec(name: string, partitions: number, declared: Pick<AnyTopic, 'config' | 'erases'> = {}): TopicSpec {
  const config = { 'cleanup.policy': 'delete', 'retention.ms': String(REPARTITION_RETENTION_MS), ...LARGE_RECORDS, ...declared.config }
  return { name, partitions, config, ...(declared.erases && { erases: true }) }
}

interface ChangelogOptions {
  /** True if replaced values must be erased within the hour. */
  readonly isErasable?: boolean | undefined
  /** See `TopologyOptions`. */
  readonly erasesIds?: boolean | undefined
}

/** Describes the changelog topic of a store. */
export function changelogSpec(topology: string, store: string, partitions: number, options: ChangelogOptions = {}): TopicSpec {
  const { isErasable, erasesIds } = options
  return {
    name: changelogTopicName(topology, store),
    partitions,
    config: {
      'cleanup.policy': 'compact',
      'delete.retention.ms': String(CHANGELOG_DELETE_RETENTION_MS),
      ...LARGE_RECORDS,
      ...(erasesIds && idsErasable),
      ...(isErasable && erasable),
    },
    ...((isErasable || erasesIds) && { erases: true }),
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
