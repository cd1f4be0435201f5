import { expect, test } from 'vitest'
import {
  RANKING_FEATURES,
  RANKING_WIDTH,
  userColumns,
  writeRankingFeatures,
} from '../../../../schemas/recommendations/ranking/ranking-features.ts'

const USER = { interactions: 3, hoursAway: undefined, sessionItems: 2, context: 'product_page' } as const
const ITEM = {
  popularity: 7,
  recentActivity: 1,
  clickRate: 0.25,
  meanRating: 4,
  purchaseShare: 0.125,
  givenPopularity: 0.5,
  interactions: 15,
  ageDays: 31,
}
const MATCH = {
  vectorSimilarity: -0.5,
  neighbourScore: 0.75,
  neighbourBest: 0.7,
  neighbourLast: 0.05,
  neighbourCount: 2,
  anchorSimilarity: 0.1,
  trendingScore: 0.2,
  isEditorial: true,
  sessionGenreShare: 0.3,
  historyGenreShare: 0.4,
  preferenceWeight: 0.6,
  timesShown: 1,
}

test('a row has its columns in order, and writing a row does not change adjacent rows', () => {
  const out = new Float64Array(RANKING_WIDTH + 2).fill(99)
  writeRankingFeatures(out, 1, userColumns(USER), ITEM, MATCH)

  const row = Object.fromEntries(RANKING_FEATURES.map((name, index) => [name, out[index + 1]]))
  expect(row).toEqual({
    vector_similarity: -0.5,
    neighbour_score: 0.75,
    anchor_similarity: 0.1,
    trending_score: 0.2,
    is_editorial: 1,
    session_genre_share: 0.3,
    history_genre_share: 0.4,
    preference_weight: 0.6,
    popularity_log: Math.log(8),
    recent_activity_log: Math.log(2),
    click_rate: 0.25,
    mean_rating: 4,
    purchase_share: 0.125,
    given_popularity: 0.5,
    item_interactions_log: Math.log(16),
    item_age_days_log: Math.log(32),
    times_shown_log: Math.log(2),
    user_interactions_log: Math.log(4),
    user_hours_away_log: Math.log(169),
    session_items_log: Math.log(3),
    context: 2,
    neighbour_best: 0.7,
    neighbour_last: 0.05,
    neighbour_count: 2,
    user_seconds_away_log: Math.log(168 * 3_600 + 1),
  })
  expect([out[0], out[RANKING_WIDTH + 1]]).toEqual([99, 99])
})
