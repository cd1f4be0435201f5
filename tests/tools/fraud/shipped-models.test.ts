import { expect, test } from 'vitest'
import { DEFAULT_POLICY } from '../../../schemas/fraud/decision/policy.ts'
import shipped from '../../../schemas/fraud/models/shipped/default.json' with { type: 'json' }
import { judge, ruledTraffic } from '../../../tools/fraud/patterns/judge.ts'
import { PATTERNS } from '../../../tools/fraud/patterns/payment.ts'
import { generateTraffic, type TrafficOptions } from '../../../tools/fraud/patterns/traffic.ts'
import { loadModels, scoreAll } from '../../../tools/fraud/train/score.ts'

/**
 * Options of traffic that the models have not seen. Training, calibration and the report use seeds 1 to 3. Seed 3 was
 * also used during development, so it is not independent. Seed 4,711 was first used when the models were finished.
 */
const UNSEEN = { seed: 4_711, people: 400, days: 30, occurrences: 25 }
/** Options that make frauds about as frequent as in real traffic. */
const RARE_FRAUDS = { ...UNSEEN, occurrences: 1 }
const MOST_FALSE_POSITIVES = 0.01
/** Maximum share of fraudulent payments among all payments of RARE_FRAUDS. */
const MOST_FRAUDS = 0.01
const LEAST_FOUND = 0.95

async function judged(options: TrafficOptions) {
  const models = await loadModels((name) => `schemas/fraud/models/shipped/${name}-${shipped.versions[name]}.json`)
  const ruled = [...ruledTraffic(generateTraffic(options))]
  const scores = await scoreAll(
    models,
    ruled.map(({ input }) => input),
  )
  const frauds = ruled.filter(({ payment }) => payment.pattern !== undefined).length
  return { ...judge(ruled, scores, DEFAULT_POLICY), fraudShare: frauds / ruled.length }
}

test('on traffic of an unseen seed, the shipped models and the seeded rules find more than 95 % of the frauds of each pattern', async () => {
  const { blocked, falsePositives, falsePositivesWithoutVictims, patterns } = await judged(UNSEEN)
  expect(falsePositivesWithoutVictims).toBeLessThan(MOST_FALSE_POSITIVES)
  // In this test, one payment in seven is fraudulent, so many users are victims, and their normal payments look
  // suspicious. The limit above leaves these payments out. The limit in the next test includes them.
  expect(falsePositives).toBeGreaterThan(falsePositivesWithoutVictims)
  expect(blocked).toBeGreaterThan(0.002)
  expect(blocked).toBeLessThan(0.004)
  for (const pattern of PATTERNS) {
    expect(patterns[pattern].occurrences, pattern).toBeGreaterThan(LEAST_FOUND)
    expect(patterns[pattern].payments, pattern).toBeGreaterThan(LEAST_FOUND)
  }
})

test('with few frauds, less than 1 % of all normal payments are reviewed or blocked, including payments of victims', async () => {
  const { fraudShare, falsePositives, patterns } = await judged(RARE_FRAUDS)
  expect(fraudShare).toBeLessThan(MOST_FRAUDS)
  expect(falsePositives).toBeLessThan(MOST_FALSE_POSITIVES)
  for (const pattern of PATTERNS) expect(patterns[pattern].occurrences, pattern).toBe(1)
})

test('a seed determines the traffic, and the traffic is in chronological order', () => {
  const small = { seed: 5, people: 20, days: 10, occurrences: 2 }
  const traffic = generateTraffic(small)
  expect(traffic).toEqual(generateTraffic(small))
  expect(traffic).not.toEqual(generateTraffic({ ...small, seed: 6 }))
  const times = traffic.map(({ request }) => request.timestamp)
  expect(times).toEqual(times.toSorted((one, other) => one - other))
  expect(new Set(traffic.map(({ request }) => request.transaction_id)).size).toBe(traffic.length)
  for (const pattern of PATTERNS) {
    expect(new Set(traffic.filter((one) => one.pattern === pattern).map(({ occurrence }) => occurrence)).size).toBe(2)
  }
})
