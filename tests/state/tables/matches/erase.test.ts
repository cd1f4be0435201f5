import type { ClickHouseClient } from '@clickhouse/client'
import { expect, test } from 'vitest'
import { userEraser } from '../../../../state/tables/matches/erase.ts'
import { ANN, BOB, CAT } from '../../../pipelines/matches/swipes.ts'

const NOW = Date.UTC(2026, 0, 1)

test('a deletion counts as new even if a later deletion was found before it', async () => {
  let deletions: [string, number][] = []
  const query = async ({ query }: { query: string }) => ({ json: async () => (query.includes('match_deletions') ? deletions : [[0]]) })
  const eraser = userEraser({ query } as unknown as ClickHouseClient, { cluster: undefined })
  const findsNew = async (...found: [string, number][]) => {
    deletions = found
    return (await eraser.run(NOW)).hasNew
  }
  expect(await findsNew()).toBe(false)
  expect(await findsNew([ANN, NOW - 1_000])).toBe(true)
  expect(await findsNew([ANN, NOW - 1_000])).toBe(false)
  expect(await findsNew([ANN, NOW - 1_000], [BOB, NOW - 60_000])).toBe(true)
  expect(await findsNew([BOB, NOW - 60_000])).toBe(false)
  // A user may return and be deleted again.
  expect(await findsNew([BOB, NOW - 50_000], [CAT, NOW - 60_000])).toBe(true)
})

test('if ClickHouse does not finish the removal from one table in time, rows are still removed from the next table, and the error is passed on', async () => {
  const statements: string[] = []
  const client = {
    query: async ({ query }: { query: string }) => ({
      json: async () => (query.includes('match_deletions') ? [[ANN, NOW - 1_000]] : [[1]]),
    }),
    async command({ query }: { query: string }) {
      statements.push(query)
      if (query.startsWith('ALTER TABLE match_swipes')) throw new Error('Timeout error.')
    },
  }
  const eraser = userEraser(client as unknown as ClickHouseClient, { cluster: undefined })
  await expect(eraser.run(NOW)).rejects.toThrow('Timeout error.')
  expect(statements).toEqual([
    expect.stringContaining('ALTER TABLE match_swipes DELETE'),
    expect.stringContaining('ALTER TABLE matches DELETE'),
  ])
})
