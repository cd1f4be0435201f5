import { expect, test } from 'vitest'
import { manualRuntime } from '../../runtime/manual.ts'

test('both clocks move only when the test advances them', () => {
  const runtime = manualRuntime({ startAt: 1_000 })
  expect([runtime.now(), runtime.monotonic()]).toEqual([1_000, 0])
  runtime.advance(250)
  expect([runtime.now(), runtime.monotonic()]).toEqual([1_250, 250])
})

test('the wall clock can be set without changing the monotonic clock', () => {
  const runtime = manualRuntime({ startAt: 1_000 })
  runtime.advance(100)
  runtime.setNow(500)
  expect([runtime.now(), runtime.monotonic()]).toEqual([500, 100])
  runtime.advance(10)
  expect(runtime.now()).toBe(510)
})

test('each timer fires at its time, including timers set by other timers', () => {
  const runtime = manualRuntime()
  const fired: string[] = []
  const note = (name: string) => () => fired.push(`${name} ${runtime.monotonic()}`)
  runtime.setTimer(30, note('late'))
  runtime.setTimer(10, () => {
    note('early')()
    runtime.setTimer(5, note('nested'))
  })
  runtime.setTimer(10, note('second'))
  const cancel = runtime.setTimer(20, note('cancelled'))
  cancel()
  runtime.advance(29)
  expect(fired).toEqual(['early 10', 'second 10', 'nested 15'])
  runtime.advance(1)
  expect(fired.at(-1)).toBe('late 30')
})

test('a sleep ends when its time is over or its signal fires', async () => {
  const runtime = manualRuntime()
  const stopping = new AbortController()
  const ended: string[] = []
  const short = runtime.sleep(10).then(() => ended.push('short'))
  const long = runtime.sleep(1_000, stopping.signal).then(() => ended.push('long'))
  runtime.advance(10)
  await short
  expect(ended).toEqual(['short'])
  stopping.abort()
  await long
  await runtime.sleep(1_000, stopping.signal)
  expect(runtime.monotonic()).toBe(10)
})

test('ids are distinct and look like UUIDs', () => {
  const runtime = manualRuntime()
  const ids = [runtime.id(), runtime.id()]
  expect(new Set(ids).size).toBe(2)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
})
