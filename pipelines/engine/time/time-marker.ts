import { headersOf } from '../../../kafka/record-batch/chunk.ts'
import type { RecordChunk, RecordHeader } from '../../../kafka/transport.ts'

/**
 * A record without key and value that marks a time. Its header states that the sending partition has emitted everything
 * up to `time` before this marker.
 */
export interface TimeMarker {
  /** The topic that the sending stage reads. It identifies the stage. */
  readonly stage: string
  /** Partition of the sending task. */
  readonly partition: number
  /** Partition count of the sending stage. The receiver needs markers from all of these partitions. */
  readonly partitions: number
  /** Epoch ms, a multiple of the stage's period. */
  readonly time: number
}

const TIME_MARKER_HEADER = 'millrace-time'

/** Creates the header with the text `time partition/partitions stage`, which is readable in a console consumer. */
export function timeMarkerHeaders(marker: TimeMarker): readonly RecordHeader[] {
  const text = `${marker.time} ${marker.partition}/${marker.partitions} ${marker.stage}`
  return [{ key: TIME_MARKER_HEADER, value: Buffer.from(text, 'utf8') }]
}

/** Reads the marker in record `row`. Returns undefined for an ordinary record. */
export function timeMarkerAt(chunk: RecordChunk, row: number): TimeMarker | undefined {
  if (chunk.headerStart[row] < 0) return undefined
  const header = headersOf(chunk, row).find((candidate) => candidate.key === TIME_MARKER_HEADER)
  const match = /^(\d+) (\d+)\/(\d+) (.+)$/.exec(header?.value?.toString('utf8') ?? '')
  if (match === null) return undefined
  const [, time, partition, partitions, stage] = match
  return { time: Number(time), partition: Number(partition), partitions: Number(partitions), stage }
}
