import { expect, test } from 'vitest'
import { systemRuntime } from '../../runtime/system.ts'

/** Duration of a sleep that outlasts the test. */
const LONG_MS = 3_600_000

test('a sleep ends when its signal fires, or at once if it has already fired', async () => {
  const runtime = systemRuntime()
  const stopping = new AbortController()
  const sleeping = runtime.sleep(LONG_MS, stopping.signal)
  stopping.abort()
  await sleeping
  await runtime.sleep(LONG_MS, stopping.signal)
  expect(stopping.signal.aborted).toBe(true)
})

test('a timer fires once, unless it is cancelled', async () => {
  const runtime = systemRuntime()
  const fired: string[] = []
  runtime.setTimer(1, () => fired.push('cancelled'))()
  await new Promise<void>((resolve) => {
    runtime.setTimer(2, () => {
      fired.push('fired')
      resolve()
    })
  })
  await runtime.nextTurn()
  expect(fired).toEqual(['fired'])
})

test('the monotonic clock does not go backwards', () => {
  const runtime = systemRuntime()
  const before = runtime.monotonic()
  expect(runtime.monotonic()).toBeGreaterThanOrEqual(before)
})
