import { expect, test } from 'vitest'
import { historyBuilder } from '../../../tools/recommendations/history/history.ts'
import { trainVersion } from '../../../tools/recommendations/train/train-version.ts'
import { START } from '../../api/kit/harness.ts'
import { interaction } from '../../pipelines/recommendations/events.ts'

const MINUTE = 60_000
const EVENTS = 400
const USERS = 4

/**
 * Begins a training run. Returns the time (epoch ms) before which the candidate learns from interactions, or the reason
 * why training was skipped.
 */
async function begun(inForceTrainedAt: number): Promise<number | string> {
  const builder = historyBuilder()
  for (let index = 0; index < EVENTS; index++) {
    builder.add(BigInt(1 + (index % USERS)), interaction({ item_id: BigInt(1 + (index % 7)), timestamp: START + index * MINUTE }))
  }
  let learnedUntil: number | undefined
  const outcome = trainVersion({
    folder: '/nonexistent',
    tools: '/nonexistent',
    history: builder.build(),
    catalogue: { items: new Map(), users: new Map(), preferences: new Map(), editorial: new Map() },
    shown: [],
    inForce: { model: {} as never, trainedAt: inForceTrainedAt },
    servedLists(before) {
      learnedUntil = before
      return Promise.reject(new Error('enough for this test'))
    },
    sequence: 2,
    trainedAt: START + EVENTS * MINUTE,
    seed: 1,
  })
  return await outcome.then(
    ({ reason }) => reason,
    () => learnedUntil!,
  )
}

test('a candidate learns from the interactions before the training run of the version in force', async () => {
  expect(await begun(START + 300 * MINUTE)).toBe(START + 300 * MINUTE)
})

test('if all interactions are newer than the version in force, a candidate learns from the older half of the interactions', async () => {
  expect(await begun(START - MINUTE)).toBe(START + (EVENTS / 2) * MINUTE)
})
