import { expect, test } from 'vitest'
import { salesPercentile } from '../../../../../api/catalog/search/engine/sales-percentile.ts'

test('after the clock was set back, the percentile is read again', async () => {
  let now = 3_600_000
  let value = 1
  const search = async () => ({ aggregations: { sales: { values: [{ value }] } } }) as never
  const current = salesPercentile({ search }, () => now)
  expect(await current()).toBe(1)
  value = 2
  now = 0
  await current()
  await expect.poll(current).toBe(2)
})
