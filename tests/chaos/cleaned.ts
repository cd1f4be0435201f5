import { partitionKey, type Transport } from '../../kafka/transport.ts'

const POLL_MS = 200
const PERCENT = 100

/**
 * Describes what share of a changelog's offsets has no committed record, such as 63 %. The log cleaner has removed most
 * of the missing records. The other offsets without a record belong to markers and aborted records.
 */
export async function cleanedText(transport: Transport, topic: string): Promise<string> {
  const count = (await transport.partitionCounts([topic])).get(topic) ?? 0
  const partitions = Array.from({ length: count }, (_, partition) => ({ topic, partition }))
  const ends = await transport.offsets(partitions, 'end')
  const fetcher = transport.fetcher({})
  let left = 0
  try {
    for (const partition of partitions) fetcher.assign(partition, 0, 'fail')
    const endOf = (partition: number) => ends.get(partitionKey(topic, partition)) ?? 0
    while (partitions.some((each) => (fetcher.position(each) ?? 0) < endOf(each.partition)))
      for (const { chunks } of await fetcher.poll(POLL_MS)) for (const { count } of chunks) left += count
  } finally {
    await fetcher.close()
  }
  const written = partitions.reduce((sum, { partition }) => sum + (ends.get(partitionKey(topic, partition)) ?? 0), 0)
  return `${Math.round((1 - left / written) * PERCENT)} % of the offsets of ${topic} have no record, mostly because the log cleaner has removed the records`
}
