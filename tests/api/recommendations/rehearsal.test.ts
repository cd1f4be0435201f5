import { expect, test } from 'vitest'
import { type RehearsalDeps, rehearsal } from '../../../api/recommendations/serve/rehearsal.ts'

const DATA = { missing: 'still reading' as string | undefined }

/** Opens a rehearsal on a simulated clock. Each list takes `listMs`. */
function opened({ size = 5_000, listMs = 1, ...changed }: { size?: number; listMs?: number } & Partial<RehearsalDeps> = {}) {
  const state = { ...DATA, time: 0, lists: 0 }
  const probe = rehearsal({
    items: { size, idAt: (row) => BigInt(row + 1) },
    needs: [{ name: 'items', check: async () => state.missing }],
    settled: async () => undefined,
    async rehearse(user) {
      expect(user.history.length).toBeGreaterThan(0)
      expect(user.recent.every((itemId) => user.hasWatched(itemId))).toBe(true)
      state.lists++
      state.time += listMs
    },
    otherWork: async () => undefined,
    wait: () => new Promise(() => undefined),
    random: () => (state.lists % 97) / 97,
    now: () => 1_000_000 + state.time,
    monotonic: () => state.time,
    ...changed,
  })
  return { probe, state }
}

test('the process is ready after a rehearsal of more than a hundred lists, and does not repeat the rehearsal', async () => {
  const { probe, state } = opened()
  expect(await probe.check()).toBe('the rehearsal is waiting for the data that lists need')
  expect(state.lists).toBe(0)
  state.missing = undefined
  expect(await probe.check()).toBe('the rehearsal has not ended yet')
  await expect.poll(() => probe.check()).toBeUndefined()
  const { lists } = state
  expect(lists).toBeGreaterThan(100)
  // Once the rehearsal has finished, the probe stays healthy, even if data is missing later.
  state.missing = 'away'
  expect(await probe.check()).toBeUndefined()
  expect(state.lists).toBe(lists)
})

test('if lists are slow, the rehearsal ends after two seconds', async () => {
  const { probe, state } = opened({ listMs: 150 })
  state.missing = undefined
  await probe.check()
  await expect.poll(() => probe.check()).toBeUndefined()
  expect(state.time).toBeGreaterThanOrEqual(2_000)
  expect(state.time).toBeLessThan(2_300)
})

test('the process becomes ready even if lists cannot be made or a model is not fetched in time', async () => {
  const broken = opened({ rehearse: () => Promise.reject(new Error('a fault')) })
  const slow = opened({ settled: () => new Promise(() => undefined), wait: async () => undefined })
  for (const { probe, state } of [broken, slow]) {
    state.missing = undefined
    await probe.check()
    await expect.poll(() => probe.check()).toBeUndefined()
  }
  expect(slow.state.lists).toBeGreaterThan(100)
})

test('with fewer than a thousand items, the process is ready without a rehearsal', async () => {
  const { probe, state } = opened({ size: 999 })
  state.missing = undefined
  expect(await probe.check()).toBeUndefined()
  expect(state.lists).toBe(0)
})
