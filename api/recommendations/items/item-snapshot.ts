import type { FeedSnapshotForm } from '../../kit/snapshots/feed-snapshot.ts'
import type { SavedItems } from '../model/source.ts'
import { ITEM_TABLE_FORM, type ItemTable, itemTable } from './item-table.ts'
import { BLOCK, blockOf, contentOf, kindOf } from './saved-blocks.ts'

export interface LoadedItems {
  readonly items: ItemTable
  /** The contents of the most recently changed items. */
  readonly newer: readonly (readonly [itemId: bigint, content: string])[]
}

/** Number of contents in a block. */
const CONTENTS_AT_ONCE = 512

/** The snapshot of the items, their statistics, and the contents of the most recently changed items. */
export const itemSnapshot: FeedSnapshotForm<LoadedItems> = {
  name: 'recommendation-items',
  form: ITEM_TABLE_FORM,
  async load(blocks) {
    const items = itemTable()
    const newer: (readonly [bigint, string])[] = []
    for await (const block of blocks) {
      if (kindOf(block) !== BLOCK.newer) items.restore(block)
      else for (const [id, content] of JSON.parse(contentOf(block).toString()) as [string, string][]) newer.push([BigInt(id), content])
    }
    return { items, newer }
  },
}

export function* blocksOf(items: ItemTable, newer: SavedItems): Generator<Buffer> {
  yield* items.saved()
  const saved = [...newer.saved()]
  for (let start = 0; start < saved.length; start += CONTENTS_AT_ONCE) {
    const some = saved.slice(start, start + CONTENTS_AT_ONCE).map(([itemId, content]) => [String(itemId), content])
    yield blockOf(BLOCK.newer, Buffer.from(JSON.stringify(some)))
  }
}
