import type { TopicSpec } from '../../../kafka/transport.ts'
import { LARGE_RECORDS } from '../../../schemas/topic.ts'

/** Repartition records are read within minutes; a week lets a stopped pipeline be mended without loss. */
const REPARTITION_RETENTION_MS = 7 * 24 * 3_600_000
/** Dead letters wait for a person: long enough for a holiday. */
const DEAD_LETTER_RETENTION_MS = 30 * 24 * 3_600_000
/**
 * How long tombstones stay in a changelog. State that was last written longer ago may have missed some and is loaded anew,
 * so it is also the longest stop after which a worker still restores from its own folder.
 */
export const CHANGELOG_DELETE_RETENTION_MS = 24 * 3_600_000

/** Topic between two sub-topologies. */
export function repartitionTopicName(topology: string, name: string): string {
  return `${topology}-${name}-repartition`
}

/** Topic that holds every change of a store. */
export function changelogTopicName(topology: string, store: string): string {
  return `${topology}-${store}-changelog`
}

/** Topic for what a topology could not process. */
export function deadLetterTopicName(topology: string): string {
  return `${topology}-dead-letters`
}

export function repartitionSpec(name: string, partitions: number): TopicSpec {
  return { name, partitions, config: { 'cleanup.policy': 'delete', 'retention.ms': String(REPARTITION_RETENTION_MS), ...LARGE_RECORDS } }
}

export function changelogSpec(topology: string, store: string, partitions: number): TopicSpec {
  return {
    name: changelogTopicName(topology, store),
    partitions,
    config: { 'cleanup.policy': 'compact', 'delete.retention.ms': String(CHANGELOG_DELETE_RETENTION_MS), ...LARGE_RECORDS },
  }
}

/** One partition: dead letters are few, and their order helps who reads them. */
export function deadLetterSpec(topology: string): TopicSpec {
  return {
    name: deadLetterTopicName(topology),
    partitions: 1,
    config: { 'cleanup.policy': 'delete', 'retention.ms': String(DEAD_LETTER_RETENTION_MS), ...LARGE_RECORDS },
  }
}
