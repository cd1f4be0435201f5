import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { faultHands } from './faults.ts'
import type { RecommendationFault } from './plan.ts'
import type { RecommendationsSystem } from './system.ts'

const HOLD_MS = 20

test('overlapping faults of the same worker wait for each other, even if there are fewer workers than APIs', async () => {
  const happened: string[] = []
  const worker = {
    async kill() {
      happened.push('kill')
    },
    async restart() {
      happened.push('restart')
      await delay(1)
    },
  }
  const hands = faultHands({ workers: [worker], apis: [] } as unknown as RecommendationsSystem, () => undefined)
  const fault = (api: number): RecommendationFault => ({ kind: 'worker-killed', api, holdMs: HOLD_MS, gapMs: 0, overlaps: true })
  await hands.inflict([fault(0), fault(1)])
  expect(happened).toEqual(['kill', 'restart', 'kill', 'restart'])
})
