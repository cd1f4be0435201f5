import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Cluster } from '../../../kafka/client/cluster.ts'
import { FetchPosition } from '../../../kafka/client/fetch-positions.ts'
import { openFetchRetry } from '../../../kafka/client/fetch-retry.ts'
import type { Context } from '../../../kafka/client/options.ts'
import { manualRuntime } from '../../../runtime/manual.ts'

/** The longest pause between two retries: a second, plus up to 10 % at random. */
const LONGEST_PAUSE_MS = 1_100
const STEP_MS = 10

test('if a position becomes due just after the retry loop has found that it is not due, a later turn of the loop fetches it', async () => {
  const runtime = manualRuntime()
  const state = new FetchPosition({ topic: 'payments', partition: 0 }, 7, 'fail', 3)
  const cluster = { refresh: async () => {} } as unknown as Cluster
  let fetches = 0
  let looks = 0
  const hooks = {
    failed: (error: Error) => expect.unreachable(error.message),
    schedule() {
      looks++
      const isDue = state.retryAt <= runtime.monotonic()
      if (isDue) fetches++
      // The loop has just found that the position is not due yet. Now the position becomes due.
      else runtime.advance(state.retryAt - runtime.monotonic())
    },
  }
  const retry = openFetchRetry({ runtime } as unknown as Context, cluster, new Map([['payments-0', state]]), hooks)
  // After eight failed attempts, the pause before the next retry is about a second. `refreshSoon` runs the loop after
  // 20 ms, so the position is not due yet.
  for (let attempt = 0; attempt < 8; attempt++) retry.postpone(state)
  retry.refreshSoon()
  for (let passed = 0; passed < 2 * LONGEST_PAUSE_MS && fetches === 0; passed += STEP_MS) {
    runtime.advance(STEP_MS)
    await nextTurn()
  }
  expect([looks, fetches]).toEqual([2, 1])
})

test('a new position does not wait for the planned retry of a position that has failed often', async () => {
  const runtime = manualRuntime()
  const failing = new FetchPosition({ topic: 'payments', partition: 0 }, 7, 'fail', 3)
  const fresh = new FetchPosition({ topic: 'refunds', partition: 0 }, 0, 'fail', 3)
  const positions = new Map([['payments-0', failing]])
  const refreshed: string[][] = []
  const cluster = { refresh: async (topics: string[]) => void refreshed.push(topics) } as unknown as Cluster
  const hooks = { failed: (error: Error) => expect.unreachable(error.message), schedule() {} }
  const retry = openFetchRetry({ runtime } as unknown as Context, cluster, positions, hooks)
  for (let attempt = 0; attempt < 8; attempt++) retry.postpone(failing)
  retry.wakeAt(failing.retryAt)
  positions.set('refunds-0', fresh)
  retry.postpone(fresh)
  retry.refreshSoon(0)
  runtime.advance(0)
  await nextTurn()
  expect(refreshed).toEqual([['payments', 'refunds']])
  expect(fresh.retryAt).toBe(0)
  // The retry of the failing position still takes place at its planned time.
  runtime.advance(LONGEST_PAUSE_MS)
  await nextTurn()
  expect(refreshed).toHaveLength(2)
})
