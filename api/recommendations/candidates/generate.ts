import type { RecommendationContext } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import type { Neighbour } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import type { ItemTable } from '../items/item-table.ts'
import type { Leaders } from '../items/leaders.ts'
import { isAboutGenre, traitOf } from '../items/traits.ts'
import type { RecommendationModel } from '../model/model.ts'
import type { RequestUser } from '../users/request-user.ts'
import { type Candidate, type CandidateSet, candidateSet } from './candidate.ts'
import { byCategory, byNeighbours, byVector, type SimilarItem } from './similarity.ts'

/** The kinds of lists: docs/services/recommendations.md#lists */
export const REC_TYPES = ['personalized', 'similar', 'trending', 'because_you_watched'] as const
export type RecType = (typeof REC_TYPES)[number]

/** The kind of list in each context, for requests that do not name a kind. */
export const DEFAULT_REC_TYPE: Readonly<Record<RecommendationContext, RecType>> = {
  homepage: 'personalized',
  product_page: 'similar',
  post_play: 'because_you_watched',
}

/** The data from which candidates are generated. */
export interface CandidateSources {
  readonly items: ItemTable
  readonly leaders: Leaders
  /** Ids of the trending items for a user, best first. */
  trendingFor(user: RequestUser): readonly bigint[]
  /** Ids of the items that editors have chosen for a context, best first. They may contain repetitions. */
  editorialFor(context: RecommendationContext): Iterable<bigint>
}

export interface CandidateRequest {
  readonly user: RequestUser
  readonly recType: RecType
  readonly context: RecommendationContext
  /** The item on which the list is based. */
  readonly anchor: bigint | undefined
  /** Neighbours, keyed by item: those of the anchor, or those of the user's last ten items if there is no anchor. */
  readonly neighbours: ReadonlyMap<bigint, readonly Neighbour[]>
  readonly model: RecommendationModel | undefined
  /**
   * The user's vector; undefined if there is no model, its vectors are unavailable, or the model has factors for none
   * of the user's items.
   */
  readonly vector: Float32Array | undefined
}

const BY_VECTOR = 200
const BY_ITEMS = 200
const TRENDING = 50
const EDITORIAL = 50
const PER_PREFERENCE = 30
/** Weight of each of the user's last items relative to the next newer item. */
const OLDER_ITEM = 0.8

/**
 * Collects the candidates of a request from the channels that suit the kind of list. Leaves out the anchor and items
 * that are watched, hidden or inactive.
 */
export function generateCandidates(sources: CandidateSources, request: CandidateRequest): CandidateSet {
  const { items, leaders } = sources
  const { user, recType, anchor, model, vector } = request
  const set = candidateSet(
    (row) => items.idAt(row),
    (row, itemId) => !items.isActive(row) || itemId === anchor || user.hidden.has(itemId) || user.hasWatched(itemId),
  )

  function neighboursOf(itemId: bigint): readonly SimilarItem[] {
    return byNeighbours(items, itemId, request.neighbours.get(itemId) ?? [])
  }

  /** @param most maximum number of items that are found by vector or category */
  function similarTo(itemId: bigint, most: number): readonly SimilarItem[] {
    const near = neighboursOf(itemId)
    if (near.length > 0) return near
    const byContent = byVector(items, model, itemId, most)
    return byContent.length > 0 ? byContent : byCategory(items, leaders.ofGenre, items.rowOf(itemId), most)
  }

  function addNeighbours(): void {
    if (anchor !== undefined) {
      for (const { row, similarity, strength, by } of similarTo(anchor, BY_ITEMS)) {
        const candidate = set.of(row, by)
        if (candidate === undefined) continue
        candidate.anchorSimilarity = similarity
        addStrength(candidate, strength, 0)
        candidate.sourceItemId = anchor
      }
      return
    }
    // BY_ITEMS is divided equally among the last items. For an item without neighbours, `similarTo` finds up to `most`
    // items. If `most` were larger, the found items could fill the set before the other channels add candidates.
    const most = Math.ceil(BY_ITEMS / user.lastViewed.length)
    const strongest = new Map<number, number>()
    let share = 1
    for (const [place, itemId] of user.recent.entries()) {
      // Only the last five items name candidates. Older items add weight to candidates that are already named.
      const isNaming = place < user.lastViewed.length
      for (const { row, strength, by } of isNaming ? similarTo(itemId, most) : neighboursOf(itemId)) {
        const candidate = isNaming ? set.of(row, by) : set.known(row)
        if (candidate === undefined) continue
        addStrength(candidate, strength, place)
        const part = share * strength
        if (part <= (strongest.get(row) ?? 0)) continue
        strongest.set(row, part)
        candidate.sourceItemId = itemId
      }
      share *= OLDER_ITEM
    }
  }

  function addStrength(candidate: Candidate, strength: number, place: number): void {
    candidate.neighbourScore += strength * OLDER_ITEM ** place
    candidate.neighbourBest = Math.max(candidate.neighbourBest, strength)
    if (place === 0) candidate.neighbourLast = strength
    candidate.neighbourCount++
  }

  function addVector(): void {
    if (model === undefined || vector === undefined) return
    for (const { itemId, similarity } of model.nearest(vector, BY_VECTOR)) {
      const candidate = set.of(items.rowOf(itemId), 'vector')
      if (candidate !== undefined) candidate.vectorSimilarity = similarity
    }
  }

  /**
   * Sets the vector similarity of candidates from other channels. The similarity is just as meaningful for these
   * candidates as for candidates from the vector channel.
   */
  function addProducts(): void {
    if (model === undefined || vector === undefined) return
    for (const candidate of set.all()) {
      if (candidate.vectorSimilarity === 0) candidate.vectorSimilarity = model.productWith(vector, candidate.itemId) ?? 0
    }
  }

  /**
   * Adds the first active items among the trending items. Unknown and inactive items do not count towards `most`,
   * because events may name any id.
   */
  function addTrending(most: number): void {
    let place = 0
    for (const itemId of sources.trendingFor(user)) {
      if (place === most) return
      const row = items.rowOf(itemId)
      if (!items.isActive(row)) continue
      const candidate = set.of(row, 'trending')
      if (candidate !== undefined) candidate.trendingScore = Math.max(candidate.trendingScore, 1 - place / most)
      place++
    }
  }

  /** Adds the first items of the editors that may be shown to the user, at most EDITORIAL items. */
  function addEditorial(): void {
    let left = EDITORIAL
    for (const itemId of sources.editorialFor(request.context)) {
      const candidate = set.of(items.rowOf(itemId), 'editorial')
      if (candidate === undefined || candidate.isEditorial) continue
      candidate.isEditorial = true
      if (--left === 0) return
    }
  }

  function addPreferences(): void {
    const wanted = user.preferences
      .filter(({ weight }) => weight > 0)
      .map((stated) => {
        const genre = isAboutGenre(stated) ? items.genreNumber(stated.value) : 0
        return genre === 0 ? { trait: traitOf(stated.category, stated.value) } : { genre }
      })
    leaders.announce(wanted.flatMap(({ trait }) => trait ?? []))
    for (const { trait, genre } of wanted) {
      const best = trait === undefined ? leaders.ofGenre(genre) : leaders.ofTrait(trait)
      let left = PER_PREFERENCE
      for (const row of best) {
        if (left === 0) break
        if (set.of(row, 'preference') !== undefined) left--
      }
    }
  }

  const isAbout = (recType === 'similar' || recType === 'because_you_watched') && anchor !== undefined
  const isPersonal = recType !== 'trending' && !isAbout
  if (recType !== 'trending') addNeighbours()
  if (isPersonal) addEditorial()
  if (!isAbout) addTrending(recType === 'trending' ? BY_ITEMS : TRENDING)
  // The vector channel names up to BY_VECTOR items, so it comes after the channels above. If not all of its items fit
  // into the set, only the least similar items are missing.
  if (isPersonal) addVector()
  // A user may state a hundred preferences. The items of these preferences must not displace candidates from the
  // channels above.
  if (isPersonal) addPreferences()
  // Popular items fill the list if there are few events yet, or if the user has watched everything that is trending.
  if (set.size < TRENDING) for (const row of leaders.overall()) set.of(row, 'popular')
  addProducts()
  return set
}
