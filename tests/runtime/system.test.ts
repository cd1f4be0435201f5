import { expect, test } from 'vitest'
import { systemRuntime } from '../../runtime/system.ts'

/** Duration of a sleep that outlasts the test. */
const LONG_MS = 3_600_000
/** The shortest delay that a timer of Node cannot represent. */
const TOO_LONG_MS = 2 ** 31

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

test('a delay that is too long for a timer of Node does not end at once', async () => {
  const runtime = systemRuntime()
  const stopping = new AbortController()
  const ended: string[] = []
  const sleeping = runtime.sleep(TOO_LONG_MS, stopping.signal).then(() => ended.push('sleep'))
  const cancel = runtime.setTimer(TOO_LONG_MS, () => ended.push('timer'))
  // Node replaces such a delay with 1 ms. If the runtime passed the delay to Node, the sleep and the timer would end
  // during this sleep.
  await runtime.sleep(20)
  expect(ended).toEqual([])
  cancel()
  stopping.abort()
  await sleeping
})

test('the monotonic clock does not go backwards', () => {
  const runtime = systemRuntime()
  const before = runtime.monotonic()
  expect(runtime.monotonic()).toBeGreaterThanOrEqual(before)
})
