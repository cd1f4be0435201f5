import { expect, test } from 'vitest'
import { readTraffic } from '../../../../state/tables/limits/traffic.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'

/** Maximum number of rows in a replay. */
const MAX_ROWS = 500_000

test.each([
  [MAX_ROWS, false],
  [MAX_ROWS + 1, true],
])(
  'with %d rows of traffic, a replay reads half a million rows and reports whether any rows are missing: %s',
  async (stored, isTruncated) => {
    const row = [0, 'user:1', 'free', '', '1', '192.0.2.1', 1]
    const reader = {
      query: async ({ query_params: { rows } }: { query_params: Record<string, unknown> }) => ({
        json: async () => (rows === undefined ? [[0]] : new Array(Math.min(stored, rows as number)).fill(row)),
      }),
    } as unknown as TableReader
    const pattern = { method: undefined, kind: 'global', path: '' } as const
    const { rows, truncated } = await readTraffic(reader, { from: 0, to: 1_000, pattern, tier: '*' })
    let read = 0
    for (const _ of rows) read++
    expect([read, truncated]).toEqual([MAX_ROWS, isTruncated])
  },
)
