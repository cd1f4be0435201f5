import { expect, test } from 'vitest'
import { spacedReports } from '../../runtime/spaced-reports.ts'

test('the first failure is reported at once, and later ones are counted and reported once a minute', () => {
  let now = 5_000
  const reports = spacedReports(() => now)
  const failedAt = (at: number) => {
    now = at
    return reports.failed()
  }
  expect(failedAt(5_000)).toBe(1)
  expect([6_000, 30_000, 64_999].map(failedAt)).toEqual([undefined, undefined, undefined])
  expect(failedAt(65_000)).toBe(4)
  expect(failedAt(65_001)).toBe(undefined)
  expect(failedAt(500_000)).toBe(2)
})
