import { headersOf } from '../../../kafka/record-batch/chunk.ts'
import type { RecordChunk, RecordHeader } from '../../../kafka/transport.ts'

/**
 * A time marker is a record without key and value. Its header says: everything that this partition of the stage knew at
 * time `time` lies before it.
 */
export interface TimeMarker {
  /** The topic that the sending stage reads: its name among the stages. */
  readonly stage: string
  /** Partition of the sending task. */
  readonly partition: number
  /** How many partitions the sending stage has: markers of all of them are needed. */
  readonly partitions: number
  /** Epoch ms, a multiple of the stage's period. */
  readonly time: number
}

const TIME_MARKER_HEADER = 'millrace-time'

/** As text, so that a console consumer shows it: `time partition/partitions stage`. */
export function timeMarkerHeaders(marker: TimeMarker): readonly RecordHeader[] {
  const text = `${marker.time} ${marker.partition}/${marker.partitions} ${marker.stage}`
  return [{ key: TIME_MARKER_HEADER, value: Buffer.from(text, 'utf8') }]
}

/** The marker in record `row`, undefined when it is an ordinary record. */
export function timeMarkerAt(chunk: RecordChunk, row: number): TimeMarker | undefined {
  if (chunk.headerStart[row] < 0) return undefined
  const header = headersOf(chunk, row).find((candidate) => candidate.key === TIME_MARKER_HEADER)
  const match = /^(\d+) (\d+)\/(\d+) (.+)$/.exec(header?.value?.toString('utf8') ?? '')
  if (match === null) return undefined
  const [, time, partition, partitions, stage] = match
  return { time: Number(time), partition: Number(partition), partitions: Number(partitions), stage }
}
