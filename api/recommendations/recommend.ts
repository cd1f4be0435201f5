import type { RecommendationContext } from '../../schemas/recommendations/ranking/ranking-features.ts'
import type { Neighbour } from '../../schemas/recommendations/signals/packed-neighbours.ts'
import { type Candidate, type CandidateSet, newCandidate } from './candidates/candidate.ts'
import { type CandidateSources, generateCandidates, type RecType } from './candidates/generate.ts'
import { placeOfGreatest } from './model/greatest-values.ts'
import type { RecommendationModel } from './model/model.ts'
import { type ArrangedList, arrange, type NewReleaseBoost } from './rank/arrange.ts'
import { rankCandidates, type Scored } from './rank/rank.ts'
import { type Tastes, tastesOf } from './rank/tastes.ts'
import type { RequestUser } from './users/request-user.ts'

/** The data of one request. Apart from this data, a list depends only on the sources. */
export interface RecommendRequest {
  readonly user: RequestUser
  readonly recType: RecType
  readonly context: RecommendationContext
  /** The item on which the list is based. */
  readonly anchor: bigint | undefined
  /** Neighbours, keyed by item: those of the anchor, or those of the user's last ten items if there is no anchor. */
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

/** Maximum number of new items that are considered for exploration. */
const EXPLORED = 6

/**
 * Computes a list in three steps: it generates candidates, ranks them, and arranges the best ones. The API, the quality
 * benchmark and the replay that makes training lists all call this function.
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
  const explored = isAbout ? [] : rankCandidates(items, exploredFor(sources, user, tastes, set), ranking)
  const arranged = arrange(items, candidates, { diversity: request.diversity, boost: sources.boost(), model, explored, now })
  return { ...arranged, candidates, tastes }
}

/** Chooses new items by their upper confidence bound. Genres that the user likes raise the bound. */
function exploredFor({ items, leaders }: CandidateSources, user: RequestUser, tastes: Tastes, present: CandidateSet): Candidate[] {
  const isExcluded = (row: number, itemId: bigint) =>
    present.known(row) !== undefined || !items.isActive(row) || user.hidden.has(itemId) || user.hasWatched(itemId)
  const offered = leaders.explored()
  const values = new Float64Array(offered.length)
  offered.forEach(({ row, bound }, at) => {
    values[at] = bound * (1 + (tastes.history.get(items.genreAt(row)) ?? 0))
  })
  const chosen: Candidate[] = []
  for (let look = 0; look < offered.length && chosen.length < EXPLORED; look++) {
    const best = placeOfGreatest(values)
    values[best] = TAKEN
    const { row } = offered[best]
    const itemId = items.idAt(row)
    if (!isExcluded(row, itemId)) chosen.push(newCandidate(row, itemId, 'exploration'))
  }
  return chosen
}

const TAKEN = Number.NEGATIVE_INFINITY
