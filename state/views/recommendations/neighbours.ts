import { type Neighbour, unpackNeighbours } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import type { ItemNeighbours } from '../../../schemas/recommendations/types.ts'
import { type BinaryReader, type NOT_CAUGHT_UP, type View, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * Neighbours of items. Fed by `item-neighbours`, partitioned like it.
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

/** @returns the neighbours, nearest first; empty if there are none */
export async function readNeighbours(
  reader: BinaryReader & ViewReader,
  partition: number,
  itemId: string,
): Promise<readonly Neighbour[] | typeof NOT_CAUGHT_UP> {
  const key = neighboursKey(partition, itemId)
  const packed = await withCaughtUp(reader, ITEM_NEIGHBOURS_VIEW, partition, reader.getBuffer(key))
  return packed === null ? [] : typeof packed === 'symbol' ? packed : unpackNeighbours(packed)
}

function neighboursKey(partition: number, itemId: string): string {
  return `${viewTag(ITEM_NEIGHBOURS_VIEW, partition)}:of:${itemId}`
}
