import { expect, test } from 'vitest'
import { testDriver } from '../../../pipelines/engine/testing.ts'
import { snippetViews } from '../../../pipelines/snippets/view-counts.ts'
import { snippetReads, snippetViewCounts } from '../../../schemas/snippets/topics.ts'

test('reads are aggregated into one record per snippet and commit, with the total so far, even after a restart', () => {
  const driver = testDriver(snippetViews, { commit: 'manual' })
  const read = (id: string) => driver.pipe(snippetReads, id, { read_at: driver.now })
  for (let count = 0; count < 1_000; count++) read('hot')
  read('cold')
  driver.settle()
  const counts = driver.read(snippetViewCounts).map(({ key, value }) => [key, value?.views])
  expect(counts).toHaveLength(2)
  expect(Object.fromEntries(counts)).toEqual({ hot: 1_000, cold: 1 })
  driver.restart({ wipeState: true })
  read('hot')
  driver.settle()
  expect(driver.read(snippetViewCounts).map(({ key, value }) => [key, value?.views])).toEqual([['hot', 1_001]])
})
