import { positionsKey } from './apply.ts'
import { NOT_CAUGHT_UP, type ViewReader, withCaughtUp } from './view.ts'

/**
 * Returns the position of a view's partition in each of its topics, as text. If two values are equal, the view
 * contained the same records both times. With one small read, a reader can therefore check whether what it has cached
 * of these records is still current.
 * @returns undefined when a topic has no position yet; NOT_CAUGHT_UP while the partition is not caught up
 */
export async function readAppliedOffsets(
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
