import { expect, test } from 'vitest'
import { memoryWatch } from '../../../../api/limits/core/memory-watch.ts'

function watched() {
  const state = { ms: 0, ratio: 0.5, reads: 0, isDown: false }
  const changes: boolean[] = []
  const watch = memoryWatch({
    async read() {
      state.reads++
      if (state.isDown) throw new Error('connection refused')
      return state.ratio
    },
    monotonic: () => state.ms,
    onChange: (isShort) => void changes.push(isShort),
  })
  return { state, changes, watch }
}

test('memory counts as short from 90 % usage until usage falls below 80 %', async () => {
  const { state, changes, watch } = watched()
  const seen: boolean[] = []
  for (state.ratio of [0.89, 0.9, 0.85, 0.8, 0.79, 0.85]) {
    expect(await watch.ratio()).toBe(state.ratio)
    seen.push(watch.isShort)
  }
  expect(seen).toEqual([false, true, true, true, false, false])
  expect(changes).toEqual([true, false])
})

test('memory is queried at most every five seconds, and the last state is kept if there is no reply', async () => {
  const { state, watch } = watched()
  state.ratio = 0.95
  expect(watch.isShort).toBe(false)
  for (let use = 0; use < 100; use++) void watch.isShort
  await watch.ratio()
  expect([watch.isShort, state.reads]).toEqual([true, 1])
  state.isDown = true
  state.ms += 5_000
  expect(watch.isShort).toBe(true)
  expect(await watch.ratio()).toBeUndefined()
  expect([watch.isShort, state.reads]).toEqual([true, 2])
})
