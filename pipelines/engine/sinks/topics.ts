import type { Transport } from '../../../kafka/transport.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import type { SinkTarget } from './target.ts'

/**
 * Creates missing topics with their declared partition counts and configuration. The partition counts of existing
 * topics may differ from the declared ones.
 * @throws Error if the target needs equal counts and they differ
 */
export async function prepareSinkTopics(
  transport: Transport,
  sink: string,
  topics: readonly AnyTopic[],
  target: SinkTarget,
): Promise<void> {
  const existing = await transport.partitionCounts(topics.map((topic) => topic.name))
  const missing = topics.filter((topic) => !existing.has(topic.name))
  await transport.ensureTopics(missing.map(({ name, partitions, config }) => ({ name, partitions, config })))
  if (target.needsEqualPartitions !== true) return
  const counts = topics.map((topic) => existing.get(topic.name) ?? topic.partitions)
  if (new Set(counts).size <= 1) return
  const listed = topics.map((topic, index) => `${topic.name} has ${counts[index]}`).join(', ')
  throw new Error(
    `sink ${sink}: ${target.name} is partitioned like its topics, so they need equal partition counts: ${listed}. Add partitions to the topics that have fewer.`,
  )
}
