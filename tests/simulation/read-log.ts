import { readChunks } from '../../kafka/record-batch/reader.ts'
import type { Cluster } from './cluster/cluster.ts'

export interface ReadRecord {
  readonly key: string
  readonly value: string
  readonly partition: number
  readonly offset: number
}

/** Returns the committed records of a topic by partition, as a read_committed consumer sees them. */
export function committedRecords(cluster: Cluster, topic: string): ReadRecord[][] {
  const logs = cluster.topics.get(topic)?.logs ?? []
  return logs.map((log) => {
    const { records, aborted } = log.read(0, log.lastStable, Number.POSITIVE_INFINITY)
    const ranges = aborted.map(({ producerId, first }) => ({ producerId, firstOffset: first }))
    const chunks = readChunks({ topic, partition: log.partition, records, from: 0, aborted: ranges, verifyChecksums: true })
    return chunks.flatMap(({ buffer, count, offsets, keyStart, keyEnd, valueStart, valueEnd }) =>
      Array.from({ length: count }, (_, i) => ({
        key: buffer.toString('utf8', keyStart[i], keyEnd[i]),
        value: buffer.toString('utf8', valueStart[i], valueEnd[i]),
        partition: log.partition,
        offset: offsets[i],
      })),
    )
  })
}
