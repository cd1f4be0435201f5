import { type Neighbour, unpackNeighbours } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import type { ItemNeighbours } from '../../../schemas/recommendations/types.ts'
import { type BinaryReader, caughtUpKey, NOT_CAUGHT_UP, type View, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * Neighbours of items. Fed by `item-neighbours` and partitioned like it.
 *
 * | key | value |
 * |---|---|
 * | `{item-neighbours:<p>}:of:<item>` | bytes: see schemas/recommendations/signals/packed-neighbours.ts |
 */
const ITEM_NEIGHBOURS_VIEW = 'item-neighbours'

export const itemNeighboursView: View<bigint, ItemNeighbours> = {
  name: ITEM_NEIGHBOURS_VIEW,
  operationsFor(partition, itemId, value) {
    const key = neighboursKey(partition, String(itemId))
    return value === null ? [{ op: 'del', key }] : [{ op: 'set', key, value: Buffer.from(value.neighbours) }]
  },
}

/** Reads single values, either as text or as bytes. */
interface OneNeighbourReader extends Pick<ViewReader, 'get'> {
  getBuffer(key: string): Promise<Buffer | null>
}

/** Returns the neighbours of an item, nearest first; empty if there are none. */
export async function readNeighbours(
  reader: OneNeighbourReader,
  partition: number,
  itemId: string,
): Promise<readonly Neighbour[] | typeof NOT_CAUGHT_UP> {
  const value = reader.getBuffer(neighboursKey(partition, itemId))
  const packed = await withCaughtUp(reader, ITEM_NEIGHBOURS_VIEW, partition, value)
  return packed === null ? [] : typeof packed === 'symbol' ? packed : unpackNeighbours(packed)
}

/** Returns the neighbours of items of one partition, in the order of the items. One command reads all of them. */
export async function readNeighboursOf(
  reader: BinaryReader,
  partition: number,
  itemIds: readonly string[],
): Promise<readonly (readonly Neighbour[])[] | typeof NOT_CAUGHT_UP> {
  const keys = itemIds.map((itemId) => neighboursKey(partition, itemId))
  const [caughtUp, ...lists] = await reader.mgetBuffer([caughtUpKey(ITEM_NEIGHBOURS_VIEW, partition), ...keys])
  return caughtUp === null ? NOT_CAUGHT_UP : lists.map((packed) => (packed === null ? [] : unpackNeighbours(packed)))
}

function neighboursKey(partition: number, itemId: string): string {
  return `${viewTag(ITEM_NEIGHBOURS_VIEW, partition)}:of:${itemId}`
}
