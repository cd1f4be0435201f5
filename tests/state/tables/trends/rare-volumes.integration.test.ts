import { expect, test } from 'vitest'
import type { TrendRareVolumes } from '../../../../schemas/trends/types.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { trendRareVolumesTable } from '../../../../state/tables/trends/trend-rare-volumes.ts'
import { readVolumes, trendVolumesTable } from '../../../../state/tables/trends/trend-volumes.ts'
import { testDatabase } from '../database.ts'

const ALONE = { cluster: undefined }
const MINUTE_MS = 60_000
/** The full minute before the test, in epoch ms. A fixed time would not do, because rows expire after 90 days. */
const AT = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS

test('a table from before added rows gets their column, and added rows add to the volumes of their minute', async () => {
  const { client } = await testDatabase()
  await tableStore(trendVolumesTable, client, ALONE).prepare()
  const columns = trendRareVolumesTable.columns.filter((column) => !column.startsWith('adds_as'))
  const before = tableStore({ ...trendRareVolumesTable, columns, orderBy: '(term, minute)', migrations: [] }, client, ALONE)
  await before.prepare()
  let offset = 0
  const put = async (store: typeof before, adds_as: string, volume: number) => {
    const record: TrendRareVolumes = { adds_as, rows: [{ term: 'café', minute: AT, woeids: [1], volumes: [volume] }] }
    const rows = trendRareVolumesTable.rowsOf(0, record).map((row) => ({ offset, row }))
    offset++
    await store.insert({ topic: 'trend-rare-volumes', partition: 0, rows })
  }
  const read = async () => {
    const found = await readVolumes(client as unknown as TableReader, {
      woeid: 1,
      term: 'café',
      from: AT,
      to: AT + MINUTE_MS,
      stepMs: MINUTE_MS,
    })
    return found.get(AT)
  }
  await put(before, '', 3)
  const after = tableStore(trendRareVolumesTable, client, ALONE)
  await after.prepare()
  expect(await read()).toBe(3)
  await put(after, '', 5)
  await put(after, '0-17', 2)
  await put(after, '0-18', 2)
  // The same row again, as after a crash of the sink.
  await put(after, '0-18', 2)
  expect(await read()).toBe(9)
  await client.command({ query: 'OPTIMIZE TABLE trend_rare_volumes FINAL' })
  expect(await read()).toBe(9)
})
