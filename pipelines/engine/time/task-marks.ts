import type { Outputs } from '../task/outputs.ts'
import type { TaskContext } from '../task/task-context.ts'
import type { StreamDeclaration } from '../topology/declaration.ts'
import { type MarkedSource, type TimeMarks, timeMark, timeMarks } from './time-mark.ts'
import { timeMarkerHeaders } from './time-marker.ts'

/** Creates the time marks with which a task of a first stage sends time markers to later stages. */
export function taskMarks(
  streams: readonly StreamDeclaration[],
  sources: readonly MarkedSource[],
  { partition, partitions }: Pick<TaskContext, 'partition' | 'partitions'>,
  outputs: Outputs,
): TimeMarks {
  const marks = streams.flatMap(({ topic, timeMarks: nodes }) =>
    nodes.map(({ everyMs, delayMs, to }) => ({
      mark: timeMark(everyMs, delayMs, sources.length),
      reached: (time: number) => outputs.mark(to, time, timeMarkerHeaders({ stage: topic.name, partition, partitions, time })),
    })),
  )
  return timeMarks(marks, sources)
}
