import { expect, test } from 'vitest'
import { blocksOf, itemSnapshot } from '../../../../api/recommendations/items/item-snapshot.ts'
import { type ItemTable, itemTable } from '../../../../api/recommendations/items/item-table.ts'
import { MAX_TRAITS } from '../../../../api/recommendations/items/traits.ts'
import type { ItemStats, RecommendationItem } from '../../../../schemas/recommendations/types.ts'
import { integer, type Random, seededRandom } from '../../../../tools/random/random.ts'

const NOW = Date.UTC(2026, 0)
/** Number of items. They fill more than one page of the table. */
const ITEMS = 70_000
/** One in this many items is compared. */
const SAMPLE = 7n
const NEWER = { saved: () => [[7n, '{"title":"Heat"}']] as const, restore() {} }

type Change = (table: ItemTable) => void

function itemOf(random: Random, updated_at: number): RecommendationItem {
  const genres = `Genre ${integer(random, 300)}`
  const attributes = Object.fromEntries(
    Array.from({ length: integer(random, MAX_TRAITS) }, (_, at) => [`name ${at}`, `${integer(random, 9)}`]),
  )
  const status = random() < 0.1 ? 'INACTIVE' : 'ACTIVE'
  return {
    ...{ title: '', description: '', category_path: '', popularity: random(), thumbnail_url: null },
    ...{ attributes: { ...attributes, genres }, status, created_at: integer(random, NOW), updated_at },
  }
}

function statsOf(random: Random): ItemStats {
  const [popularity, entered, recent, shown, chosen, events, purchases, ratings] = Array.from({ length: 8 }, random)
  const counts = { popularity, entered, recent, shown, chosen, events, purchases, ratings }
  return { at: NOW - integer(random, NOW / 2), ...counts, rating_sum: 3, interactions: integer(random, 900) }
}

/**
 * Returns a function that puts a random item or random statistics into a table, or deletes an item.
 * @param at the `updated_at` of the random item
 */
function changeOf(random: Random, at: number): Change {
  const itemId = BigInt(1 + integer(random, 2 * ITEMS))
  const kind = random()
  if (kind < 0.05) return (table) => table.putItem(itemId, undefined)
  if (kind < 0.5) {
    const stats = statsOf(random)
    return (table) => table.putStats(itemId, stats)
  }
  const item = itemOf(random, at)
  return (table) => table.putItem(itemId, item)
}

/** Returns what a table contains about a sample of the items. */
function contentsOf(table: ItemTable): Map<bigint, unknown> {
  const rows = Array.from({ length: table.size }, (_, row) => row).filter((row) => table.idAt(row) % SAMPLE === 0n)
  return new Map(
    rows.map((row) => [
      table.idAt(row),
      {
        ...table.rankedAt(row, NOW),
        isItem: table.isItem(row),
        // The other properties of a deleted item do not matter.
        item: table.isItem(row) && {
          isActive: table.isActive(row),
          genre: table.genreName(table.genreAt(row)),
          traits: Array.from({ length: MAX_TRAITS }, (_, place) => table.traitAt(row, place)),
          createdAt: table.createdAt(row),
          updatedAt: table.updatedAt(row),
        },
        entered: table.enteredAt(row),
        shown: table.shownAt(row, NOW),
        chosen: table.chosenAt(row, NOW),
        found: table.rowOf(table.idAt(row)) === row,
      },
    ]),
  )
}

async function* asRead(blocks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* blocks
}

test('a table that was saved while it changed equals the original once it is loaded and the changes are applied to it', async () => {
  const random = seededRandom(5)
  const table = itemTable()
  for (let row = 0; row < ITEMS; row++) table.putItem(BigInt(1 + row), itemOf(random, 1))
  for (let change = 0; change < ITEMS; change++) changeOf(random, 2)(table)
  const changes: Change[] = []
  const blocks: Buffer[] = []
  for (const block of blocksOf(table, NEWER)) {
    blocks.push(block)
    for (let at = 0; at < 2_000; at++) {
      const change = changeOf(random, 3)
      changes.push(change)
      change(table)
    }
  }
  const { items, newer } = await itemSnapshot.load(asRead(blocks))
  expect(newer).toEqual([[7n, '{"title":"Heat"}']])
  for (const change of changes) change(items)
  const [expected, found] = [contentsOf(table), contentsOf(items)]
  expect(items.size).toBe(table.size)
  const different = [...expected].filter(([itemId, content]) => JSON.stringify(content) !== JSON.stringify(found.get(itemId)))
  expect(different).toEqual([])
})

test('a table that does not change while it is saved is loaded exactly, even if it is empty', async () => {
  const table = itemTable()
  const load = async () => (await itemSnapshot.load(asRead([...blocksOf(table, NEWER)]))).items
  expect((await load()).size).toBe(0)
  const random = seededRandom(6)
  for (let at = 0; at < 3_000; at++) changeOf(random, 1)(table)
  const loaded = await load()
  expect([...contentsOf(loaded)]).toEqual([...contentsOf(table)])
  expect([...loaded.itemIds()]).toEqual([...table.itemIds()])
})

test('blocks that are cut off or of an unknown kind are refused', async () => {
  const [block] = blocksOf(itemTable(), NEWER)
  await expect(itemSnapshot.load(asRead([block.subarray(0, 100)]))).rejects.toThrow('a page has 99 bytes')
  await expect(itemSnapshot.load(asRead([Buffer.of(99)]))).rejects.toThrow('unknown kind 99')
})

test('an item whose id is not positive is no longer active after its snapshot is loaded', async () => {
  const before = itemTable()
  for (const id of [0n, -5n, 1n]) before.putItem(id, { ...itemOf(seededRandom(1), NOW), status: 'ACTIVE' })
  const { items } = await itemSnapshot.load(asRead([...blocksOf(before, NEWER)]))
  expect([0n, -5n, 1n].map((id) => items.isActive(items.rowOf(id)))).toEqual([false, false, true])
  expect([...items.itemIds()]).toEqual([1n])
})
