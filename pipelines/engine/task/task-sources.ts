import type { PartitionData } from '../../../kafka/transport.ts'
import type { Codecs } from '../topology/codecs.ts'
import type { Declaration, StreamDeclaration } from '../topology/declaration.ts'
import { timeStagesInto } from '../topology/sub-topology.ts'
import { SourceIntake } from './intake.ts'

/** The source partitions of one task together. */
export interface TaskSources {
  /** One per stream, in the order declared. */
  readonly intakes: readonly SourceIntake[]
  of(topic: string): SourceIntake | undefined
  /** Takes what a poll returned. @returns the index of its source */
  push(data: PartitionData): number
  /** Next offset of each source to process. */
  positions(): number[]
  movedSince(positions: readonly number[]): boolean
  readonly queuedRecords: number
  readonly queuedBytes: number
  /** Everything that the broker was known to have is processed. */
  readonly caughtUp: boolean
  /** When the high watermarks of all sources were known, epoch ms; undefined while one is not. */
  readonly fetchedAt: number | undefined
}

export interface TaskSourceOptions {
  readonly declaration: Declaration
  readonly partition: number
  readonly codecs: Codecs
  readonly isMissing: (schemaId: number) => boolean
}

export function taskSources(streams: readonly StreamDeclaration[], options: TaskSourceOptions): TaskSources {
  const { declaration, partition, codecs, isMissing } = options
  const intakes = streams.map((stream) => {
    const seesMarkers = timeStagesInto(declaration, stream.topic.name).length > 0
    const valueCodec = codecs.topicValue(stream.topic)
    return new SourceIntake(stream, { partition, keyCodec: stream.topic.key, valueCodec, isMissing, seesMarkers })
  })

  return {
    intakes,
    of: (topic) => intakes.find((intake) => intake.topic === topic),
    push(data) {
      const index = intakes.findIndex((intake) => intake.topic === data.topic)
      intakes[index].push(data)
      return index
    },
    positions: () => intakes.map((intake) => intake.position),
    movedSince: (positions) => intakes.some((intake, i) => intake.position !== positions[i]),
    get queuedRecords() {
      return intakes.reduce((sum, intake) => sum + intake.queuedRecords, 0)
    },
    get queuedBytes() {
      return intakes.reduce((sum, intake) => sum + intake.queuedBytes, 0)
    },
    get caughtUp() {
      return intakes.every((intake) => intake.queuedRecords === 0 && intake.position >= intake.highWatermark)
    },
    get fetchedAt() {
      let least: number | undefined
      for (const { fetchedAt } of intakes) {
        if (fetchedAt === undefined) return undefined
        if (least === undefined || fetchedAt < least) least = fetchedAt
      }
      return least
    },
  }
}
