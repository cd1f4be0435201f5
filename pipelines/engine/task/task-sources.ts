import type { PartitionData } from '../../../kafka/transport.ts'
import type { Codecs } from '../topology/codecs.ts'
import type { Declaration, StreamDeclaration } from '../topology/declaration.ts'
import { timeStagesInto } from '../topology/sub-topology.ts'
import type { FailedRecords } from './failed-records.ts'
import { RecordQueue } from './record-queue.ts'

export interface TaskSources {
  /** The queues of the task's streams, in the order of their declarations. */
  readonly queues: readonly RecordQueue[]
  of(topic: string): RecordQueue | undefined
  /** Adds the data that a poll returned. @returns the index of the source that got the data */
  push(data: PartitionData): number
  /** Returns the next offset to process in each source. */
  positions(): number[]
  movedSince(positions: readonly number[]): boolean
  readonly queuedRecords: number
  readonly queuedBytes: number
  /** True when all records before the known high watermarks are processed. */
  readonly caughtUp: boolean
  /**
   * Time (epoch ms) of the fetch that returned the oldest of the sources' high watermarks; undefined while the high
   * watermark of any source is unknown.
   */
  readonly fetchedAt: number | undefined
}

export interface TaskSourceOptions {
  readonly declaration: Declaration
  readonly partition: number
  readonly codecs: Codecs
  readonly isMissing: (schemaId: number) => boolean
  readonly failed: FailedRecords
}

export function taskSources(streams: readonly StreamDeclaration[], options: TaskSourceOptions): TaskSources {
  const { declaration, partition, codecs, isMissing, failed } = options
  const queues = streams.map((stream, source) => {
    const place = { topic: stream.topic.name, partition }
    const seesMarkers = timeStagesInto(declaration, stream.topic.name).length > 0
    const valueCodec = codecs.topicValue(stream.topic)
    return new RecordQueue(stream, {
      source,
      partition,
      keyCodec: stream.topic.key,
      valueCodec,
      isMissing,
      seesMarkers,
      checksBefore: failed.checksBefore(place),
      failed: failed.of(place),
    })
  })

  return {
    queues,
    of: (topic) => queues.find((queue) => queue.topic === topic),
    push(data) {
      const index = queues.findIndex((queue) => queue.topic === data.topic)
      queues[index].push(data)
      return index
    },
    positions: () => queues.map((queue) => queue.position),
    movedSince: (positions) => queues.some((queue, i) => queue.position !== positions[i]),
    get queuedRecords() {
      return queues.reduce((sum, queue) => sum + queue.queuedRecords, 0)
    },
    get queuedBytes() {
      return queues.reduce((sum, queue) => sum + queue.queuedBytes, 0)
    },
    get caughtUp() {
      return queues.every((queue) => queue.queuedRecords === 0 && queue.position >= queue.highWatermark)
    },
    get fetchedAt() {
      let least: number | undefined
      for (const { fetchedAt } of queues) {
        if (fetchedAt === undefined) return undefined
        if (least === undefined || fetchedAt < least) least = fetchedAt
      }
      return least
    },
  }
}
