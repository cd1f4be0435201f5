import { expect, test } from 'vitest'
import { scoreByRules } from '../../../../api/recommendations/rank/rules.ts'
import { RANKING_FEATURES, RANKING_WIDTH, type RankingFeature } from '../../../../schemas/recommendations/ranking/ranking-features.ts'

/** Returns the weighted sum that the rules compute for one candidate. */
function sumOf(features: Partial<Record<RankingFeature, number>>): number {
  const row = Float64Array.from(RANKING_FEATURES, (name) => features[name] ?? 0)
  const [score] = scoreByRules(row, row.length / RANKING_WIDTH)
  return Math.log(score / (1 - score))
}

test.each(['preference_weight', 'trending_score', 'is_editorial'] as const)(
  'the additional weight of %s for a new user falls to zero between the 10th and the 20th interaction',
  (name) => {
    const gainAt = (interactions: number) => {
      const user = { user_interactions_log: Math.log1p(interactions) }
      return sumOf({ ...user, [name]: 1 }) - sumOf(user)
    }
    const [atFirst, later] = [gainAt(0), gainAt(1_000)]
    expect(atFirst).toBeGreaterThan(later)
    expect(gainAt(10)).toBeCloseTo(atFirst, 9)
    expect(gainAt(15)).toBeCloseTo((atFirst + later) / 2, 9)
    expect(gainAt(20)).toBeCloseTo(later, 9)
  },
)

test('each time an item is shown but not chosen, its score falls', () => {
  const sums = [0, 1, 2, 3].map((times) => sumOf({ times_shown_log: Math.log1p(times) }))
  expect(sums).toEqual(sums.toSorted((a, b) => b - a))
  expect(new Set(sums).size).toBe(4)
})
