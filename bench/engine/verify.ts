import { partitionKey, type TopicPartition, type Transport } from '../../kafka/transport.ts'
import { type OutputCheck, PARTITIONS } from './job.ts'

const POLL_MS = 1_000
/**
 * How long the reader waits for the next record while it has not reached the end of the log. If none arrives in this
 * time, an open transaction is probably blocking the reader.
 */
const SILENCE_MS = 30_000

/**
 * Reads the whole output topic with read_committed and checks every record.
 * @returns 'ok', or a description of the first problem: a difference, missing output, or an end that cannot be read
 */
export async function verifyOutput(transport: Transport, topic: string, check: OutputCheck): Promise<string> {
  const partitions: TopicPartition[] = Array.from({ length: PARTITIONS }, (_, partition) => ({ topic, partition }))
  const ends = await transport.offsets(partitions, 'end')
  const fetcher = transport.fetcher({ isolation: 'read_committed' })
  for (const partition of partitions) fetcher.assign(partition, 0, 'fail')
  const atEnd = (each: TopicPartition) => (fetcher.position(each) ?? 0) >= (ends.get(partitionKey(topic, each.partition)) ?? 0)
  let lastData = Date.now()
  try {
    while (!partitions.every(atEnd)) {
      for (const { chunks } of await fetcher.poll(POLL_MS)) {
        for (const { buffer, count, keyStart, keyEnd, valueStart, valueEnd } of chunks) {
          lastData = Date.now()
          for (let i = 0; i < count; i++) {
            const difference = check.record(buffer, keyStart[i], keyEnd[i], valueStart[i], valueEnd[i])
            if (difference !== undefined) return difference
          }
        }
      }
      if (Date.now() - lastData > SILENCE_MS) return 'the end of the output cannot be read; a transaction is probably still open'
    }
    return check.missing() ?? 'ok'
  } finally {
    await fetcher.close()
  }
}
