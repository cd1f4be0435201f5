import { readChunks } from '../../kafka/record-batch/reader.ts'
import type { Cluster } from './cluster/cluster.ts'
import type { PartitionLog } from './cluster/partition-log.ts'

export interface ReadRecord {
  readonly key: string
  readonly value: string
  /** The encoded value in the log. */
  readonly bytes: Buffer
  readonly partition: number
  readonly offset: number
  /** Timestamp of the record, epoch ms. */
  readonly timestamp: number
}

interface Reading {
  readonly leaderEpoch: number
  readonly upTo: number
  readonly records: ReadRecord[]
}

/** Cache of the records from the last read, because a run reads its output repeatedly. */
const readings = new WeakMap<PartitionLog, Reading>()

/** Returns the committed records of a topic by partition, as a read_committed consumer would have seen them. */
export function committedRecords(cluster: Cluster, topic: string): ReadRecord[][] {
  return (cluster.topics.get(topic)?.logs ?? []).map(readLog)
}

function readLog(log: PartitionLog): ReadRecord[] {
  const { leaderEpoch, lastStable: upTo } = log
  const last = readings.get(log)
  if (last?.leaderEpoch === leaderEpoch && last.upTo === upTo) return last.records
  // Reuses the records from the previous read only if the leader has not changed.
  const from = last?.leaderEpoch === leaderEpoch ? last.upTo : 0
  const records = from === 0 ? readFrom(log, 0) : [...(last?.records ?? []), ...readFrom(log, from)]
  readings.set(log, { leaderEpoch, upTo, records })
  return records
}

function readFrom(log: PartitionLog, from: number): ReadRecord[] {
  const { topic, partition } = log
  const { records, aborted } = log.readEver(from)
  const ranges = aborted.map(({ producerId, first }) => ({ producerId, firstOffset: first }))
  const chunks = readChunks({ topic, partition, records, from, aborted: ranges, verifyChecksums: true })
  return chunks.flatMap(({ buffer, count, offsets, timestamps, keyStart, keyEnd, valueStart, valueEnd }) =>
    Array.from({ length: count }, (_, i) => ({
      key: buffer.toString('utf8', keyStart[i], keyEnd[i]),
      value: buffer.toString('utf8', valueStart[i], valueEnd[i]),
      bytes: buffer.subarray(valueStart[i], valueEnd[i]),
      partition,
      offset: offsets[i],
      timestamp: timestamps[i],
    })),
  )
}
