/**
 * Features of one candidate for the ranker; see docs/services/recommendations.md#ranking. Training and serving compute
 * them with the same function, so that a model gets the same numbers in training and in serving.
 */

/**
 * The columns of a row, in this order. Add a new column only at the end. A new column requires a new version of the
 * ranker.
 */
export const RANKING_FEATURES = [
  'vector_similarity',
  'neighbour_score',
  'anchor_similarity',
  'trending_score',
  'is_editorial',
  'session_genre_share',
  'history_genre_share',
  'preference_weight',
  'popularity_log',
  'recent_activity_log',
  'click_rate',
  'mean_rating',
  'purchase_share',
  'given_popularity',
  'item_interactions_log',
  'item_age_days_log',
  'times_shown_log',
  'user_interactions_log',
  'user_hours_away_log',
  'session_items_log',
  'context',
  'neighbour_best',
  'neighbour_last',
  'neighbour_count',
  'user_seconds_away_log',
] as const

export type RankingFeature = (typeof RANKING_FEATURES)[number]

/** Number of doubles per row. */
export const RANKING_WIDTH = RANKING_FEATURES.length

/** The places where lists are shown. Rows contain the indexes of these contexts, so never change the order. */
export const CONTEXTS = ['homepage', 'post_play', 'product_page'] as const
export type RecommendationContext = (typeof CONTEXTS)[number]

/** The features that all candidates of a request share. */
export interface RankedUser {
  /** Number of the user's interactions so far. */
  readonly interactions: number
  /** Hours since the user's last event; undefined if there was none within 7 days. */
  readonly hoursAway: number | undefined
  /** Number of different items in the session. */
  readonly sessionItems: number
  readonly context: RecommendationContext
}

/** The features of an item at the time of the request. */
export interface RankedItem {
  /**
   * Decayed number of events other than SKIP and NOT_INTERESTED. An event's weight halves every 30 days. Until the item
   * has 500 interactions, this includes up to 50 assumed events for its given popularity.
   */
  readonly popularity: number
  /** Like `popularity`, but an event's weight halves every 6 hours, and no events are assumed. */
  readonly recentActivity: number
  /** Share of impressions after which users chose the item, including assumed prior choices and impressions. */
  readonly clickRate: number
  /** Mean number of stars, from 1 to 5, including assumed prior ratings. */
  readonly meanRating: number
  /** Purchases per interaction, from 0 to 1, including assumed prior purchases and interactions. */
  readonly purchaseShare: number
  /** The popularity that the producer of the item provided, from 0 to 1. */
  readonly givenPopularity: number
  /** Number of interactions with the item so far. */
  readonly interactions: number
  readonly ageDays: number
}

/** What connects the user with the item. */
export interface RankedMatch {
  /**
   * Dot product of the user's vector and the item's factors, divided by the greatest length of the factors of any item.
   * From -1 to 1; 0 without a model, or if the user or the item has no vector.
   */
  readonly vectorSimilarity: number
  /**
   * Sum of the candidate's strengths as a neighbour of the user's last ten items. Newer items have more weight. If the
   * list is based on an item, that item counts instead of the last ten items.
   */
  readonly neighbourScore: number
  /**
   * The candidate as a neighbour of the same items as for `neighbourScore`. `neighbourBest` is its maximum strength,
   * `neighbourLast` is its strength as a neighbour of the newest item, and `neighbourCount` is the number of items
   * whose neighbour it is.
   */
  readonly neighbourBest: number
  readonly neighbourLast: number
  readonly neighbourCount: number
  /**
   * Similarity to the item on which the list is based, from 0 to 1; 0 if the list is not based on an item, or if the
   * two items are not similar.
   */
  readonly anchorSimilarity: number
  /** Rank-based score among the trending items: 1 for the first item, 0 if the candidate is not among them. */
  readonly trendingScore: number
  readonly isEditorial: boolean
  /**
   * The shares of the session's items (`sessionGenreShare`) and of the positive interactions among the last 100
   * (`historyGenreShare`) that have the candidate's genre, from 0 to 1.
   */
  readonly sessionGenreShare: number
  readonly historyGenreShare: number
  /** Sum of the weights of the preferences that the candidate meets, limited to -1 to 1; 0 if it meets none. */
  readonly preferenceWeight: number
  /** How often the candidate was recently shown to the user without being chosen. */
  readonly timesShown: number
}

/** The value of `hoursAway` for users without an event within 7 days. */
const NEVER_HOURS = 7 * 24
const SECONDS_PER_HOUR = 3_600

/** The columns that all candidates of a request share. */
export interface UserColumns {
  readonly interactionsLog: number
  readonly hoursAwayLog: number
  readonly secondsAwayLog: number
  readonly sessionItemsLog: number
  readonly context: number
}

/** Computes a user's columns once for all candidates, because logarithms are costly. */
export function userColumns({ interactions, hoursAway = NEVER_HOURS, sessionItems, context }: RankedUser): UserColumns {
  return {
    interactionsLog: Math.log1p(interactions),
    hoursAwayLog: Math.log1p(hoursAway),
    secondsAwayLog: Math.log1p(hoursAway * SECONDS_PER_HOUR),
    sessionItemsLog: Math.log1p(sessionItems),
    context: CONTEXTS.indexOf(context),
  }
}

/** Writes the row of one candidate: `RANKING_WIDTH` doubles, starting at `offset`. */
export function writeRankingFeatures(out: Float64Array, offset: number, user: UserColumns, item: RankedItem, match: RankedMatch): void {
  let at = offset
  out[at++] = match.vectorSimilarity
  out[at++] = match.neighbourScore
  out[at++] = match.anchorSimilarity
  out[at++] = match.trendingScore
  out[at++] = match.isEditorial ? 1 : 0
  out[at++] = match.sessionGenreShare
  out[at++] = match.historyGenreShare
  out[at++] = match.preferenceWeight
  out[at++] = Math.log1p(item.popularity)
  out[at++] = Math.log1p(item.recentActivity)
  out[at++] = item.clickRate
  out[at++] = item.meanRating
  out[at++] = item.purchaseShare
  out[at++] = item.givenPopularity
  out[at++] = Math.log1p(item.interactions)
  out[at++] = Math.log1p(item.ageDays)
  out[at++] = Math.log1p(match.timesShown)
  out[at++] = user.interactionsLog
  out[at++] = user.hoursAwayLog
  out[at++] = user.sessionItemsLog
  out[at++] = user.context
  out[at++] = match.neighbourBest
  out[at++] = match.neighbourLast
  out[at++] = match.neighbourCount
  out[at] = user.secondsAwayLog
}
