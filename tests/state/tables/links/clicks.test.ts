import { expect, test } from 'vitest'
import { type ClickCursor, readClicks } from '../../../../state/tables/links/clicks.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'

const DAY_MS = 86_400_000

/** The parameters of a query for clicks. */
interface Asked {
  readonly to: number
  readonly afterTime: number
  readonly afterPartition: number
  readonly afterOffset: string
  readonly limit: number
}

/** Simulates a table with clicks at these times, which must ascend. Records the parameters of the queries. */
function tableOf(times: readonly number[]): { reader: TableReader; queries: Asked[] } {
  const queries: Asked[] = []
  const reader: TableReader = {
    async query({ query_params }) {
      const asked = query_params as unknown as Asked
      queries.push(asked)
      const { to, afterTime, afterPartition, afterOffset, limit } = asked
      const isAfter = (at: number, offset: number) =>
        at > afterTime || (at === afterTime && (afterPartition < 0 || offset > Number(afterOffset)))
      const found = [...times.entries()].filter(([offset, at]) => at < to && isAfter(at, offset)).slice(0, limit)
      const rows = found.map(([offset, at]) => [at, 0, String(offset), 'direct', 'DE', 'Chrome', 'desktop', false])
      return { json: async <Row>() => rows as Row[] }
    },
  }
  return { reader, queries }
}

async function allPages(reader: TableReader, range: { readonly from: number; readonly to: number }, limit: number): Promise<number[][]> {
  const pages: number[][] = []
  let next: ClickCursor | undefined
  do {
    const page = await readClicks(reader, { code: 'a', ...range }, next, limit)
    pages.push(page.clicks.map(({ clickedAt }) => clickedAt))
    next = page.next
  } while (next !== undefined)
  return pages
}

test('if a page needs less than a day of clicks, its query covers at most one day from the end of the previous page', async () => {
  // Ten clicks per day, in pairs with the same time.
  const times = Array.from({ length: 900 }, (_, click) => Math.floor(click / 2) * (DAY_MS / 5))
  const { reader, queries } = tableOf(times)
  const pages = await allPages(reader, { from: 0, to: 90 * DAY_MS }, 5)
  expect(pages.flat()).toEqual(times)
  expect(pages.slice(0, -1).every((page) => page.length === 5)).toBe(true)
  for (const { to, afterTime } of queries.slice(0, -3)) expect(to - afterTime).toBeLessThanOrEqual(DAY_MS)
})

test('four clicks within 90 days are found with at most four queries', async () => {
  const times = [DAY_MS / 2, 3 * DAY_MS, 80 * DAY_MS, 90 * DAY_MS - 1]
  const { reader, queries } = tableOf(times)
  expect(await allPages(reader, { from: 0, to: 90 * DAY_MS }, 10_000)).toEqual([times])
  expect(queries.length).toBeLessThanOrEqual(4)
})

test('a range without clicks has one empty page', async () => {
  const { reader } = tableOf([])
  expect(await allPages(reader, { from: 0, to: 90 * DAY_MS }, 10)).toEqual([[]])
  expect(await allPages(reader, { from: 5, to: 5 }, 10)).toEqual([[]])
})
