import type { Outputs } from '../task/outputs.ts'
import type { TaskContext } from '../task/task-context.ts'
import type { StreamDeclaration } from '../topology/declaration.ts'
import { type MarkedSource, timeMark } from './time-mark.ts'
import { timeMarkerHeaders } from './time-marker.ts'

/** The time markers that a task of a first stage sends to the later stages. */
export interface TaskMarks {
  /** See `TimeMark.observe`. */
  observe(index: number, fetchedAt: number, highWatermark: number, now: number): void
  /** The earliest `TimeMark.asksFrom` of all marks. */
  readonly asksFrom: number
  /** True when the next commit can send a marker. */
  readonly due: boolean
  /**
   * Sends the due markers in the transaction that commits the positions up to which the task has processed its sources.
   */
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
