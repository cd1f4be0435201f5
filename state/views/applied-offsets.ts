import { positionsKey } from './apply.ts'
import { NOT_CAUGHT_UP, type ViewReader, withCaughtUp } from './view.ts'

/**
 * Returns the positions of a view's partition in the given topics, as text. If two returned texts are equal, the view
 * contained the same records both times. A reader can therefore check with a few small reads whether its cache is
 * current.
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
