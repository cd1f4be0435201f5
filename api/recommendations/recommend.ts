import type { RecommendationContext } from '../../schemas/recommendations/ranking/ranking-features.ts'
import type { Neighbour } from '../../schemas/recommendations/signals/packed-neighbours.ts'
import { type Candidate, candidateSet } from './candidates/candidate.ts'
import { type CandidateSources, generateCandidates, type RecType } from './candidates/generate.ts'
import type { RecommendationModel } from './model/model.ts'
import { type ArrangedList, arrange, type NewReleaseBoost } from './rank/arrange.ts'
import { rankCandidates, type Scored } from './rank/rank.ts'
import { type Tastes, tastesOf } from './rank/tastes.ts'
import type { RequestUser } from './users/request-user.ts'

/** Everything that a list is computed from, without any request to a server. */
export interface RecommendRequest {
  readonly user: RequestUser
  readonly recType: RecType
  readonly context: RecommendationContext
  /** The item that the list is about. */
  readonly anchor: bigint | undefined
  /** Neighbours by item: of the anchor, else of the last ten items. */
  readonly neighbours: ReadonlyMap<bigint, readonly Neighbour[]>
  readonly model: RecommendationModel | undefined
  readonly diversity: boolean
  /** Epoch ms. */
  readonly now: number
}

export interface RecommendSources extends CandidateSources {
  readonly boost: () => NewReleaseBoost | undefined
}

export interface Recommended extends ArrangedList {
  readonly candidates: readonly Scored[]
  readonly tastes: Tastes
}

/** How many new items are considered for exploration. */
const EXPLORED = 6

/**
 * Computes a list: candidates, filter, ranking, arrangement. The API, the benchmark of quality and the replay that
 * makes training lists call this same function.
 */
export function recommend(sources: RecommendSources, request: RecommendRequest): Recommended {
  const { items } = sources
  const { user, model, context, now, recType, anchor } = request
  const vector = model?.foldIn(user.history)
  const tastes = tastesOf(items, user)
  const set = generateCandidates(sources, { ...request, vector })
  const ranking = { user, tastes, context, model, now }
  const candidates = rankCandidates(items, set.all(), ranking)
  const isAbout = recType === 'trending' || (anchor !== undefined && recType !== 'personalized')
  const explored = isAbout ? [] : rankCandidates(items, exploredFor(sources, user, tastes, candidates), ranking)
  const arranged = arrange(items, candidates, { diversity: request.diversity, boost: sources.boost(), model, explored, now })
  return { ...arranged, candidates, tastes }
}

/** Chooses new items by their upper confidence bound, those of genres that the user likes first. */
function exploredFor({ items, leaders }: CandidateSources, user: RequestUser, tastes: Tastes, present: readonly Scored[]): Candidate[] {
  const known = new Set(present.map(({ candidate }) => candidate.row))
  const set = candidateSet(
    (row) => items.idAt(row),
    (row, itemId) => known.has(row) || !items.isActive(row) || user.hidden.has(itemId) || user.hasWatched(itemId),
  )
  const likes = (row: number) => tastes.history.get(items.genreAt(row)) ?? 0
  const byBound = leaders.explored().map(({ row, bound }) => ({ row, value: bound * (1 + likes(row)) }))
  byBound.sort((a, b) => b.value - a.value || a.row - b.row)
  for (const { row } of byBound) {
    if (set.size === EXPLORED) break
    set.of(row, 'exploration')
  }
  return set.all()
}
