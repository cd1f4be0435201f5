import { expect, test } from 'vitest'
import type { Interaction } from '../../../schemas/recommendations/types.ts'
import { interactionsTable } from '../../../state/tables/recommendations/interactions.ts'
import { tableStore } from '../../../state/tables/store.ts'
import { exportHistory } from '../../../tools/recommendations/history/export.ts'
import { testDatabase } from '../../state/tables/database.ts'

const NOW = Date.UTC(2026, 10, 20)
const EVENT: Interaction = {
  event_id: '',
  item_id: 1n,
  event_type: 'VIEW',
  withdrawn: false,
  timestamp: NOW,
  page: null,
  position: null,
  rec_request_id: null,
  device: null,
  session_id: null,
  dwell_time_sec: null,
  rating: null,
  watch_pct: null,
}
const KNOWN: ReadonlySet<bigint> = new Set([1n, 2n])

/** Inserts events and exports them. Each event consists of a user, an item, and a time in seconds before NOW. */
async function exported(events: readonly (readonly [bigint, bigint, number])[], mostOfUser?: number) {
  const { client } = await testDatabase()
  const store = tableStore(interactionsTable, client, { cluster: undefined })
  await store.prepare()
  const rows = events.flatMap(([userId, item_id, ago], offset) => {
    const event = { ...EVENT, event_id: `event ${offset}`, item_id, timestamp: NOW - ago * 1_000 }
    return interactionsTable.rowsOf(userId, event).map((row) => ({ offset, row }))
  })
  await store.insert({ topic: 'interactions', partition: 0, rows })
  const { count, userIds, at } = await exportHistory(client, { before: NOW, isKnown: (itemId) => KNOWN.has(itemId), mostOfUser })
  return Array.from({ length: count }, (_, index) => [userIds[index], at(index).item_id, (NOW - at(index).timestamp) / 1_000])
}

test('interactions before the given time are in chronological order, without interactions with items that do not exist', async () => {
  const events = [
    [7n, 1n, 5],
    [7n, 3n, 4],
    [8n, 2n, 9],
    [8n, 1n, 0],
  ] as const
  expect(await exported(events)).toEqual([
    [8n, 2n, 9],
    [7n, 1n, 5],
  ])
})

test('a user with more interactions than a person could have is left out', async () => {
  const ofProgram = [1, 2, 3].map((ago) => [7n, 1n, ago] as const)
  expect(await exported([...ofProgram, [8n, 1n, 4], [8n, 2n, 2]], 2)).toEqual([
    [8n, 1n, 4],
    [8n, 2n, 2],
  ])
})
