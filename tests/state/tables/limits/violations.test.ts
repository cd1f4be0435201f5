import { expect, test } from 'vitest'
import { readViolations } from '../../../../state/tables/limits/violations.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'

test('a violation that arrives while an older page is read does not cause a negative offset', async () => {
  const offsets: number[] = []
  const reader: TableReader = {
    async query({ query, query_params }) {
      const isCount = query.includes('count()')
      if (!isCount) offsets.push((query_params as { offset: number }).offset)
      // When the page was queried, only the 100 rows before it existed. The count includes a row that arrived later.
      const rows = isCount ? [[101]] : []
      return { json: async <Row>() => rows as Row[] }
    },
  }
  expect(await readViolations(reader, { offset: 100, limit: 50, now: Date.parse('2026-01-02T03:04:05Z') })).toEqual([])
  expect(offsets[0]).toBe(100)
  expect(offsets.length).toBeGreaterThan(1)
  for (const offset of offsets.slice(1)) expect(offset).toBe(0)
})
