import type { Outputs } from '../task/outputs.ts'
import type { TaskContext } from '../task/task-context.ts'
import type { StreamDeclaration } from '../topology/declaration.ts'
import { type MarkedSource, timeMark } from './time-mark.ts'
import { timeMarkerHeaders } from './time-marker.ts'

/** The time markers that one task of a first stage sends to the later ones. */
export interface TaskMarks {
  /** See `TimeMark`. */
  observe(index: number, fetchedAt: number, highWatermark: number, now: number): void
  /** See `TimeMark`; of the first of them. */
  readonly asksFrom: number
  /** A marker can be sent with the next commit. */
  readonly due: boolean
  /** Sends the markers that are due, as part of the commit of the positions that made them so. */
  send(): void
}

export function taskMarks(
  streams: readonly StreamDeclaration[],
  sources: readonly MarkedSource[],
  { partition, partitions }: Pick<TaskContext, 'partition' | 'partitions'>,
  outputs: Outputs,
): TaskMarks {
  const marks = streams.flatMap((stream) =>
    stream.timeMarks.map((node) => ({ node, stage: stream.topic.name, mark: timeMark(node.everyMs, node.delayMs, sources.length) })),
  )

  return {
    observe(index, fetchedAt, highWatermark, now) {
      for (const { mark } of marks) mark.observe(index, fetchedAt, highWatermark, now)
    },
    get asksFrom() {
      return marks.reduce((least, { mark }) => Math.min(least, mark.asksFrom), Infinity)
    },
    get due() {
      return marks.some(({ mark }) => mark.ready(sources) !== undefined)
    },
    send() {
      for (const { node, stage, mark } of marks) {
        const time = mark.ready(sources)
        if (time === undefined) continue
        outputs.mark(node.to, time, timeMarkerHeaders({ stage, partition, partitions, time }))
        mark.sent()
      }
    },
  }
}
