import type { ClickHouseClient } from '@clickhouse/client'
import { expect, test } from 'vitest'
import { RANKING_WIDTH } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import type { Interaction } from '../../../schemas/recommendations/types.ts'
import { interactionsTable } from '../../../state/tables/recommendations/interactions.ts'
import { recommendationsServedTable } from '../../../state/tables/recommendations/recommendations-served.ts'
import { tableStore } from '../../../state/tables/store.ts'
import type { Table } from '../../../state/tables/table.ts'
import { exportHistory } from '../../../tools/recommendations/history/export.ts'
import { historyBuilder } from '../../../tools/recommendations/history/history.ts'
import { servedLists } from '../../../tools/recommendations/history/served.ts'
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

/** A user, an item, a time in seconds before NOW, and further fields of the event. */
type PastEvent = readonly [bigint, bigint, number, Partial<Interaction>?]

function eventOf([, item_id, ago, more]: PastEvent, offset: number): Interaction {
  return { ...EVENT, event_id: `event ${offset}`, item_id, timestamp: NOW - ago * 1_000, ...more }
}

async function insert<K, V>(client: ClickHouseClient, table: Table<K, V>, records: readonly (readonly [K, V])[]): Promise<void> {
  const store = tableStore(table, client, { cluster: undefined })
  await store.prepare()
  const rows = records.flatMap(([key, value], offset) => table.rowsOf(key, value).map((row) => ({ offset, row })))
  await store.insert({ topic: table.name, partition: 0, rows })
}

/** Inserts events and exports them. */
async function exported(events: readonly PastEvent[], mostOfUser?: number) {
  const { client } = await testDatabase()
  await insert(
    client,
    interactionsTable,
    events.map((event, offset) => [event[0], eventOf(event, offset)]),
  )
  const { count, userIds, at } = await exportHistory(client, { before: NOW, isKnown: (itemId) => KNOWN.has(itemId), mostOfUser })
  return Array.from({ length: count }, (_, index) => [userIds[index], at(index).item_id, (NOW - at(index).timestamp) / 1_000])
}

test('only interactions before the given time and with known items are exported, in chronological order', async () => {
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

test('a user with more interactions than the given maximum is left out', async () => {
  const ofProgram = [1, 2, 3].map((ago) => [7n, 1n, ago] as const)
  expect(await exported([...ofProgram, [8n, 1n, 4], [8n, 2n, 2]], 2)).toEqual([
    [8n, 1n, 4],
    [8n, 2n, 2],
  ])
})

test('events that the streams reject are left out, because a single weight could spoil all vectors', async () => {
  const events: PastEvent[] = [
    [7n, 1n, 5, { watch_pct: 1e30 }],
    [7n, 1n, 4, { event_type: 'RATE', rating: 1e9 }],
    [7n, 1n, 3, { event_type: 'RATE', rating: 5 }],
  ]
  expect(await exported(events)).toEqual([[7n, 1n, 3]])
})

test('lists from which nothing was chosen do not take the places of older lists with a choice', async () => {
  const { client } = await testDatabase()
  const events: PastEvent[] = [
    [7n, 2n, 8_000],
    [7n, 1n, 5_000],
  ]
  const history = historyBuilder()
  events.forEach((event, offset) => void history.add(event[0], eventOf(event, offset)))
  await insert(
    client,
    interactionsTable,
    events.map((event, offset) => [event[0], eventOf(event, offset)]),
  )
  const listOf = (userId: bigint, ago: number, itemIds: readonly bigint[]) =>
    [
      userId,
      {
        ...{ request_id: `list ${ago}`, model_version: 'rules-1', context: 'homepage', rec_type: 'personalized', degraded: [] },
        ...{ served_at: NOW - ago * 1_000, features_offset: -1 },
        items: itemIds.map((item_id, position) => ({
          ...{ item_id, position, channel: 'trending', rec_type: 'trending', score: 0.5, source_item_id: null },
          features: Array.from({ length: RANKING_WIDTH }, (_, column) => column + position),
        })),
      },
    ] as const
  const unchosen = [2_000, 2_100, 2_200].map((ago) => listOf(8n, ago, [1n, 3n]))
  await insert(client, recommendationsServedTable, [listOf(7n, 5_100, [3n, 1n]), ...unchosen])
  const lists = await servedLists(client, history.build(), { before: NOW, most: 1 })
  expect(lists.map(({ labels, positions, features }) => [[...labels], [...positions!], features.length])).toEqual([
    [[0, 1], [0, 1], 2 * RANKING_WIDTH],
  ])
})
