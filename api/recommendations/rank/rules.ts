import { RANKING_FEATURES, RANKING_WIDTH, type RankingFeature } from '../../../schemas/recommendations/ranking/ranking-features.ts'

/**
 * Version of the rules that rank items while there is no model: docs/services/recommendations.md#rules. Increase the
 * number with every change of the rules.
 */
export const RULES_VERSION = 'rules-1'

const BIAS = -3

/** Weights of the features for a user whose tastes are known. A feature that is not listed has the weight 0. */
const KNOWN_USER: Partial<Record<RankingFeature, number>> = {
  vector_similarity: 2,
  neighbour_score: 6,
  anchor_similarity: 3,
  trending_score: 0.5,
  is_editorial: 0.3,
  session_genre_share: 0.5,
  history_genre_share: 0.5,
  preference_weight: 0.3,
  popularity_log: 0.15,
  recent_activity_log: 0.1,
  click_rate: 2,
  mean_rating: 0.2,
  purchase_share: 0.5,
  given_popularity: 0.3,
  times_shown_log: -0.4,
}
/**
 * Additional weights for a new user. The weights decrease to 0 between the two numbers of interactions below.
 */
const NEW_USER: Partial<Record<RankingFeature, number>> = { trending_score: 1.5, preference_weight: 1.5, is_editorial: 0.5 }
const NEW_UNTIL_INTERACTIONS = 10
const KNOWN_FROM_INTERACTIONS = 20

const known = weightsOf(KNOWN_USER)
const extra = weightsOf(NEW_USER)
const INTERACTIONS_COLUMN = RANKING_FEATURES.indexOf('user_interactions_log')

/** Scores rows of ranking features, 0 to 1. */
export function scoreByRules(features: Float64Array, rows: number): Float64Array {
  const scores = new Float64Array(rows)
  for (let row = 0; row < rows; row++) {
    const start = row * RANKING_WIDTH
    const newness = newnessOf(Math.expm1(features[start + INTERACTIONS_COLUMN]))
    let sum = BIAS
    for (let column = 0; column < RANKING_WIDTH; column++) {
      sum += features[start + column] * (known[column] + newness * extra[column])
    }
    scores[row] = 1 / (1 + Math.exp(-sum))
  }
  return scores
}

/** Returns how new a user is, from 1 for a user with few interactions to 0 for a user with enough interactions. */
function newnessOf(interactions: number): number {
  const known = (interactions - NEW_UNTIL_INTERACTIONS) / (KNOWN_FROM_INTERACTIONS - NEW_UNTIL_INTERACTIONS)
  return 1 - Math.min(1, Math.max(0, known))
}

function weightsOf(weights: Partial<Record<RankingFeature, number>>): Float64Array {
  return Float64Array.from(RANKING_FEATURES, (name) => weights[name] ?? 0)
}
