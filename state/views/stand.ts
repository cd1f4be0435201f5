import { positionsKey } from './apply.ts'
import { NOT_CAUGHT_UP, type ViewReader, withCaughtUp } from './view.ts'

/**
 * How far each of its topics has been applied to a view's partition, as text: between two equal ones nothing was written. One small look
 * tells readers that all that they know of the partition is still so.
 * @returns undefined when nothing is known of it
 */
export async function readStand(
  reader: ViewReader,
  view: string,
  partition: number,
  topics: readonly string[],
): Promise<string | undefined | typeof NOT_CAUGHT_UP> {
  const key = positionsKey(view, partition)
  const positions = await withCaughtUp(reader, view, partition, Promise.all(topics.map((topic) => reader.hget(key, topic))))
  if (positions === NOT_CAUGHT_UP) return NOT_CAUGHT_UP
  return positions.includes(null) ? undefined : positions.join()
}
