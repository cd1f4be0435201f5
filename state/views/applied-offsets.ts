import { positionsKey } from './apply.ts'
import { NOT_CAUGHT_UP, type ViewReader, withCaughtUp } from './view.ts'

/**
 * The offsets up to which each topic has been applied to a partition of a view, as text. While the text stays the same, nothing was written:
 * with one small read, readers learn that everything they know of the partition is still current.
 * @returns undefined when nothing is known of the partition
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
