import { readFileSync } from 'node:fs'
import type { ClickHouseClient } from '@clickhouse/client'
import { expect, test } from 'vitest'
import { matchSwipesTable } from '../../../state/tables/matches/swipes.ts'
import { interactionsTable } from '../../../state/tables/recommendations/interactions.ts'
import { recommendationsServedTable } from '../../../state/tables/recommendations/recommendations-served.ts'
import { tableStore } from '../../../state/tables/store.ts'
import type { AnyTable } from '../../../state/tables/table.ts'
import { trendRareVolumesTable } from '../../../state/tables/trends/trend-rare-volumes.ts'
import { trendVolumesTable } from '../../../state/tables/trends/trend-volumes.ts'
import { rowsOf, testDatabase } from './database.ts'

const HOUR_MS = 3_600_000
const MS_PER_SECOND = 1_000
/** The beginning of an hour, so that all minutes of a test are in one hour. */
const AT = Math.floor(Date.now() / HOUR_MS - 1) * HOUR_MS
const SECONDS = AT / MS_PER_SECOND

/** Returns the documented query that reads the table. Its result contains 64-bit integers as numbers. */
function documented(table: string): string {
  const page = readFileSync(new URL('../../../docs/tables.md', import.meta.url), 'utf8')
  const queries = [...page.matchAll(/```sql\n([^`]*)```/g)].map(([, sql]) => sql)
  const [query, ...others] = queries.filter((sql) => sql.includes(`FROM ${table} `))
  expect(others).toEqual([])
  return `${query} SETTINGS output_format_json_quote_64bit_integers = 0`
}

/** Fills a table, and inserts all rows again, as two sinks may do. */
async function fill<K, V>(client: ClickHouseClient, table: AnyTable<K, V>, rows: readonly object[]): Promise<void> {
  await tableStore(table, client, { cluster: undefined }).prepare()
  const values = rows.map((row, offset) => ({ ...row, kafka_topic: 'any', kafka_partition: 0, kafka_offset: offset }))
  for (const deduplicate of [1, 0] as const)
    await client.insert({
      table: table.name,
      values,
      format: 'JSONEachRow',
      clickhouse_settings: { insert_deduplicate: deduplicate, async_insert: 0, date_time_input_format: 'best_effort' },
    })
}

test('the documented query for the use of a term counts rare and frequent minutes once, and adds late tweets', async () => {
  const { client } = await testDatabase()
  await fill(client, trendVolumesTable, [
    { woeid: 1, term: 'coffee', minute: SECONDS, volume: 40 },
    { woeid: 1, term: 'coffee', minute: SECONDS + 60, volume: 7 },
    { woeid: 2, term: 'coffee', minute: SECONDS, volume: 90 },
  ])
  await fill(client, trendRareVolumesTable, [
    { term: 'coffee', minute: SECONDS, total: 4, woeids: [2, 1], volumes: [4, 3], adds_as: '' },
    { term: 'coffee', minute: SECONDS, total: 2, woeids: [1], volumes: [2], adds_as: '0-17' },
    { term: 'coffee', minute: SECONDS, total: 9, woeids: [2], volumes: [9], adds_as: '' },
  ])
  expect((await rowsOf<{ tweets: number }>(client, documented('trend_volumes'))).map(({ tweets }) => tweets)).toEqual([49])
})

test('the documented query for likes leaves out those that were taken back or replaced', async () => {
  const { client } = await testDatabase()
  const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
  const directions = [
    [1, 2, 'RIGHT'],
    [1, 3, 'SUPER_LIKE'],
    [1, 3, 'REWIND'],
    [4, 1, 'RIGHT'],
    [4, 1, 'LEFT'],
    [4, 2, 'LEFT'],
    [4, 2, 'SUPER_LIKE'],
  ] as const
  const swipes = directions.map(([swiper, target, direction], index) => {
    const ts = new Date(AT + index).toISOString()
    return { swipe_id: id(100 + index), swiper_id: id(swiper), target_id: id(target), direction, ts }
  })
  await fill(client, matchSwipesTable, swipes)
  expect(await rowsOf(client, documented('match_swipes'))).toEqual([{ users: 2, likes: 2 }])
})

test('the documented query for clicked recommendations counts each item of a request once', async () => {
  const { client } = await testDatabase()
  const served_at = new Date(AT).toISOString()
  const shown = (user_id: number, request_id: string, position: number, at = served_at) => ({
    ...{ user_id, request_id, position, item_id: 10 + position, rec_type: 'personalized', served_at: at },
  })
  const again = new Date(AT + MS_PER_SECOND).toISOString()
  const items = [shown(1, 'a', 0), shown(1, 'a', 1), shown(1, 'a', 1, again), shown(2, 'b', 0), shown(2, 'b', 1)]
  await fill(client, recommendationsServedTable, items)
  const event = (user_id: number, event_id: string, event_type: string, rec_request_id: string | null, item_id = 11) => ({
    ...{ user_id, event_id, event_type, rec_request_id, item_id, timestamp: served_at },
  })
  const events = [event(1, 'x', 'CLICK', 'a'), event(1, 'y', 'CLICK', 'a'), event(1, 'z', 'VIEW', 'a', 10), event(2, 'w', 'CLICK', null)]
  await fill(client, interactionsTable, events)
  expect(await rowsOf(client, documented('interactions'))).toEqual([{ rec_type: 'personalized', shown: 4, clicked: 1 }])
})
