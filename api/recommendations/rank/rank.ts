import {
  RANKING_FEATURES,
  RANKING_WIDTH,
  type RecommendationContext,
  userColumns,
  writeRankingFeatures,
} from '../../../schemas/recommendations/ranking/ranking-features.ts'
import type { Candidate } from '../candidates/candidate.ts'
import type { ItemTable } from '../items/item-table.ts'
import type { RecommendationModel } from '../model/model.ts'
import type { RequestUser } from '../users/request-user.ts'
import { scoreByRules } from './rules.ts'
import { preferenceFor, type Tastes } from './tastes.ts'

/** A candidate with its score. */
export interface Scored {
  readonly candidate: Candidate
  /** The ranker's score, 0 to 1. */
  readonly score: number
  /**
   * The ranking features of all candidates that were scored together, and the position at which the features of this
   * candidate start. Only a few candidates need an array of their own, and creating hundreds of arrays would take
   * noticeable time.
   */
  readonly rows: Float64Array
  readonly start: number
}

export interface RankRequest {
  readonly user: RequestUser
  readonly tastes: Tastes
  readonly context: RecommendationContext
  readonly model: RecommendationModel | undefined
  readonly now: number
}

/**
 * Scores all candidates with the model's trees. Without trees, the score is derived from the similarity of the vectors.
 * Without trees and vectors, the rules determine the score. The result is in the order of the given candidates.
 */
export function rankCandidates(items: ItemTable, candidates: readonly Candidate[], request: RankRequest): Scored[] {
  const { user, tastes, context, model, now } = request
  const rows = new Float64Array(candidates.length * RANKING_WIDTH)
  const columns = userColumns({ interactions: user.interactions, hoursAway: user.hoursAway, sessionItems: user.session.length, context })
  candidates.forEach((candidate, index) => {
    const genre = items.genreAt(candidate.row)
    writeRankingFeatures(rows, index * RANKING_WIDTH, columns, items.rankedAt(candidate.row, now), {
      vectorSimilarity: candidate.vectorSimilarity,
      neighbourScore: candidate.neighbourScore,
      neighbourBest: candidate.neighbourBest,
      neighbourLast: candidate.neighbourLast,
      neighbourCount: candidate.neighbourCount,
      anchorSimilarity: candidate.anchorSimilarity,
      trendingScore: candidate.trendingScore,
      isEditorial: candidate.isEditorial,
      sessionGenreShare: tastes.session.get(genre) ?? 0,
      historyGenreShare: tastes.history.get(genre) ?? 0,
      preferenceWeight: preferenceFor(items, tastes, candidate.row),
      timesShown: user.timesShown.size === 0 ? 0 : (user.timesShown.get(candidate.itemId) ?? 0),
    })
  })
  const scores = model?.score(rows, candidates.length) ?? scoreWithoutTrees(rows, candidates.length, model)
  return candidates.map((candidate, index) => ({ candidate, score: scores[index], rows, start: index * RANKING_WIDTH }))
}

/** Returns the ranking features of a candidate. */
export function featuresOf({ rows, start }: Pick<Scored, 'rows' | 'start'>): Float64Array {
  return rows.subarray(start, start + RANKING_WIDTH)
}

const SIMILARITY_COLUMN = RANKING_FEATURES.indexOf('vector_similarity')

function scoreWithoutTrees(rows: Float64Array, count: number, model: RecommendationModel | undefined): Float64Array {
  const similarities = Float64Array.from({ length: count }, (_, index) => rows[index * RANKING_WIDTH + SIMILARITY_COLUMN])
  const hasVectors = model !== undefined && similarities.some((similarity) => similarity !== 0)
  // Maps similarities from -1 to 1 to scores from 0 to 1.
  return hasVectors ? similarities.map((similarity) => (1 + similarity) / 2) : scoreByRules(rows, count)
}
