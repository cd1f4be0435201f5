import { expect, onTestFinished, test, vi } from 'vitest'
import { arrivals } from '../../../api/kit/arrivals.ts'

test('a waiting caller checks its condition again after each change, and at no other time', async () => {
  const { changed, until } = arrivals()
  let value = 0
  const look = vi.fn(() => value === 2)
  const seen = until(look)
  for (const next of [1, 2]) {
    value = next
    changed()
    await Promise.resolve()
  }
  expect(await seen).toBe(true)
  expect(look.mock.calls.length).toBeLessThanOrEqual(3)
})

test('a caller waits for at most a second', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const seen = arrivals().until(() => false)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await seen).toBe(false)
})
