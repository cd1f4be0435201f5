import { expect, test } from 'vitest'
import type { LimitTraffic } from '../../../../schemas/limits/types.ts'
import { limitTrafficTable, readTraffic } from '../../../../state/tables/limits/traffic.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { testDatabase } from '../database.ts'

/** The beginning of the current hour, epoch ms. The rows must be recent, because old ones expire. */
const HOUR = Math.floor(Date.now() / 3_600_000) * 3_600_000

function traffic(node: string, second: number, left_out: number, paths: readonly string[]): LimitTraffic {
  const caller = { client_id: 'user:1', tier: 'free', api_key_id: '', user_id: '1', ip: '192.0.2.1' }
  const entries = paths.map((path) => ({ ...caller, method: 'GET', path, requests: 2, refused: 0 }))
  return { node, second: HOUR + second * 1_000, entries, left_out }
}

test('a replay counts each request once, even if an insert was repeated, and reads only the paths of the rule', async () => {
  const { client } = await testDatabase()
  const store = tableStore(limitTrafficTable, client, { cluster: undefined })
  await store.prepare()
  await client.command({ query: 'SYSTEM STOP MERGES limit_traffic' })
  const records = [traffic('a', 2, 3, ['/x', '/x/y', '/z']), traffic('b', 1, 4, ['/x']), traffic('b', 2, 5, ['/x'])]
  const rows = records.flatMap((record, offset) => limitTrafficTable.rowsOf(record.node, record).map((row) => ({ offset, row })))
  await store.insert({ topic: 'limit-traffic', partition: 0, rows })
  // A different topic name gives the insert a different deduplication token.
  await store.insert({ topic: 'limit-traffic-again', partition: 0, rows })
  async function replayed(kind: 'global' | 'prefix' | 'exact', path: string) {
    const query = { from: HOUR, to: HOUR + 3_000, pattern: { method: 'GET', kind, path }, tier: '*' }
    const { rows: found, ...rest } = await readTraffic(client as never, query)
    return { ...rest, found: [...found].map(({ second, requests }) => [second - HOUR / 1_000, requests]) }
  }
  const rest = { leftOut: 12, truncated: false }
  expect(await replayed('global', '')).toEqual({
    ...rest,
    found: [
      [1, 2],
      [2, 8],
    ],
  })
  expect(await replayed('prefix', '/x')).toEqual({
    ...rest,
    found: [
      [1, 2],
      [2, 6],
    ],
  })
  expect(await replayed('exact', '/z')).toEqual({ ...rest, found: [[2, 2]] })
})
