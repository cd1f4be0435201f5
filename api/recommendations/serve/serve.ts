import type { RecommendationContext } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import type { Neighbour } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import { interactions, itemNeighbours } from '../../../schemas/recommendations/topics.ts'
import { HOUR_MS } from '../../../schemas/retention.ts'
import type { ShownItem } from '../../../state/views/recommendations/items.ts'
import { readNeighboursOf } from '../../../state/views/recommendations/neighbours.ts'
import { readUser } from '../../../state/views/recommendations/users.ts'
import { NOT_CAUGHT_UP } from '../../../state/views/view.ts'
import type { ServiceKit } from '../../service.ts'
import type { RecType } from '../candidates/generate.ts'
import { type GuardedModel, guarded, type ModelPart } from '../model/guarded.ts'
import type { ModelSource } from '../model/model.ts'
import { type Arranged, type CappedList, cappedAgain } from '../rank/arrange.ts'
import type { Scored } from '../rank/rank.ts'
import { RULES_VERSION } from '../rank/rules.ts'
import { recommend } from '../recommend.ts'
import type { RecommendationTables } from '../tables.ts'
import { type RequestUser, requestUser, unknownUser } from '../users/request-user.ts'
import type { BoundedReads } from './bounded-reads.ts'
import { reasonOf } from './explanation.ts'
import type { LastList, LastLists } from './last-lists.ts'
import type { ListedItem, RestOfList } from './page-token.ts'
import type { ShownItems } from './shown-items.ts'

/** The ways in which an answer may be degraded: docs/services/recommendations.md#degraded */
export const DEGRADATIONS = ['features', 'neighbours', 'vectors', 'ranking', 'titles', 'model_age'] as const
export type Degradation = (typeof DEGRADATIONS)[number]

export interface ServeDeps extends Pick<ServiceKit, 'views' | 'facts' | 'now' | 'log'> {
  readonly tables: RecommendationTables
  readonly models: ModelSource
  readonly shown: ShownItems
  readonly last: LastLists
  readonly reads: BoundedReads
}

export interface ListRequest {
  readonly userId: bigint
  readonly recType: RecType
  readonly context: RecommendationContext
  readonly itemId: bigint | undefined
  readonly diversity: boolean
  /** Number of items on the page. The titles of later items are not read. */
  readonly limit: number
}

/** An item of an answer, with the details that `explain` shows. */
export interface AnswerItem extends ListedItem {
  readonly details: Arranged | undefined
}

export interface ServedList {
  readonly items: readonly AnswerItem[]
  /** Titles and other properties of the items on the page and of their sources. */
  readonly shown: ReadonlyMap<bigint, ShownItem>
  readonly degraded: readonly Degradation[]
  readonly modelVersion: string
  readonly isCapRelaxed: boolean
  readonly user: RequestUser
  /** All candidates with their scores, in no particular order; empty for later pages. */
  readonly candidates: readonly Scored[]
}

/** Maximum age of a model. If the model is older, `degraded` contains `model_age`. */
const MAX_MODEL_AGE_MS = 6 * HOUR_MS
/** The titles and other properties that an answer shows. */
interface Titles {
  readonly shown: ReadonlyMap<bigint, ShownItem>
  /** Whether the titles of all shown items are known. */
  readonly isComplete: boolean
}

const NOTHING: ReadonlySet<ModelPart> = new Set()

/**
 * Creates the functions that serve lists. A list usually takes three round trips to Redis: for features, neighbours and
 * titles. If a round trip fails, the list is computed without the data from this round trip.
 */
export function listServer(deps: ServeDeps) {
  const { views, facts, tables, models, shown, last, reads, now, log } = deps
  /** Model failures that have already been logged. A failure recurs with every request, so it is logged only once. */
  const logged = new Set<string>()

  /**
   * Returns the model for one request. If a part of the model fails, the request continues without it.
   * @param userId undefined if the request does not concern a user
   */
  function modelFor(userId: bigint | undefined): GuardedModel | undefined {
    const model = models.current(userId)
    return model && guarded(model, (part, error) => logFailure(model.version, part, error))
  }

  /**
   * Returns the user's features; undefined if they cannot be read in time, and NOT_CAUGHT_UP while the view is being
   * rebuilt.
   */
  async function findFeatures(userId: bigint): Promise<RequestUser | typeof NOT_CAUGHT_UP | undefined> {
    const stored = await reads.read(() => readUser(views, facts.partitionOf(interactions, userId), String(userId)))
    return stored === undefined || stored === NOT_CAUGHT_UP ? stored : requestUser(userId, stored, now())
  }

  async function readFeatures(userId: bigint): Promise<RequestUser | undefined> {
    const found = await findFeatures(userId)
    return found === NOT_CAUGHT_UP ? undefined : found
  }

  async function neighboursOf(itemIds: readonly bigint[]): Promise<ReadonlyMap<bigint, readonly Neighbour[]> | undefined> {
    if (itemIds.length === 0) return new Map()
    const groups = Map.groupBy(itemIds, (itemId) => facts.partitionOf(itemNeighbours, itemId))
    const found = await reads.read(() =>
      Promise.all(
        Array.from(groups, async ([partition, ids]) => {
          const lists = await readNeighboursOf(views, partition, ids.map(String))
          return typeof lists === 'symbol' ? [] : lists.map((list, index) => [ids[index], list] as const)
        }),
      ),
    )
    const whole = new Map(found?.flat())
    return whole.size === itemIds.length ? whole : undefined
  }

  async function titlesOf(items: readonly ListedItem[]): Promise<Titles> {
    const ids = [...new Set(items.flatMap(({ itemId, sourceItemId }) => (sourceItemId === undefined ? [itemId] : [itemId, sourceItemId])))]
    const known = await shown.read(ids)
    return { shown: known, isComplete: items.every(({ itemId }) => known.has(itemId)) }
  }

  /**
   * Reads the titles of the shown items. Items that the view reports as inactive are replaced by later items, within
   * the limit per genre.
   */
  async function shownOf<T extends ListedItem>({ items, isCapRelaxed }: CappedList<T>, limit: number): Promise<Titles & CappedList<T>> {
    const titles = await titlesOf(items.slice(0, limit))
    // Items that are missing from the view are kept. They may be active, because the view is empty after Redis has lost
    // its data.
    const kept = items.filter(({ itemId }) => titles.shown.get(itemId)?.status !== 'INACTIVE')
    if (kept.length === items.length) return { ...titles, items, isCapRelaxed }
    return await shownOf(cappedAgain(tables.items, kept), limit)
  }

  /**
   * Returns the last personalized list of a user, without items that can no longer be recommended, and within the limit
   * per genre. Returns undefined if there is no such list or nothing is left of it.
   */
  function fallback(user: RequestUser): LastList | undefined {
    const kept = last.of(user.id)
    const items = kept?.items.filter(({ itemId }) => isAllowed(user, itemId)) ?? []
    if (kept === undefined || items.length === 0) return undefined
    if (items.length === kept.items.length) return kept
    return { ...kept, ...cappedAgain(tables.items, items) }
  }

  function isAllowed(user: RequestUser, itemId: bigint): boolean {
    const { items } = tables
    return items.isActive(items.rowOf(itemId)) && !user.hidden.has(itemId) && !user.hasWatched(itemId)
  }

  async function serve(request: ListRequest): Promise<ServedList> {
    const degraded: Degradation[] = []
    const model = modelFor(request.userId)
    const found = await readFeatures(request.userId)
    const user = found ?? unknownUser(request.userId)
    if (found === undefined) degraded.push('features')
    const anchor = anchorOf(request, user)
    const wanted = anchor !== undefined ? [anchor] : request.recType === 'trending' ? [] : user.recent
    const neighbours = found === undefined && anchor === undefined ? new Map() : await neighboursOf(wanted)
    if (neighbours === undefined) degraded.push('neighbours')
    if (model !== undefined && now() - model.trainedAt > MAX_MODEL_AGE_MS) degraded.push('model_age')

    const listed = compute(request, { user, anchor, neighbours: neighbours ?? new Map(), model, degraded })
    const isPersonal = anchor === undefined && request.recType !== 'trending'
    const isComplete = found !== undefined && !degraded.includes('vectors')
    const earlier = isPersonal && !isComplete ? fallback(user) : undefined
    const made: readonly AnswerItem[] = earlier?.items.map((item) => ({ ...item, details: undefined })) ?? listed.items
    const { modelVersion, ...capped } = earlier ?? listed
    const { items, isCapRelaxed, ...titles } = await shownOf({ ...capped, items: made }, request.limit)
    if (user.hasUnreadPages()) degraded.push('features')
    if (!titles.isComplete) degraded.push('titles')
    if (isPersonal && isComplete) last.keep(request.userId, { items, modelVersion, isCapRelaxed })
    return {
      items,
      shown: titles.shown,
      degraded,
      modelVersion,
      isCapRelaxed,
      user,
      candidates: listed.candidates,
    }
  }

  /**
   * Makes the list that an invented user would get. Reads the same data from Redis as for any other list, and keeps
   * nothing about the user.
   */
  async function rehearse(user: RequestUser, limit: number): Promise<ServedList> {
    const request = { userId: user.id, recType: 'personalized', context: 'homepage', itemId: undefined, diversity: false, limit } as const
    await readFeatures(user.id)
    const neighbours = (await neighboursOf(user.recent)) ?? new Map()
    const listed = compute(request, { user, anchor: undefined, neighbours, model: modelFor(undefined), degraded: [] })
    const { items, isCapRelaxed, shown: titles } = await shownOf(listed, limit)
    return { ...listed, items, isCapRelaxed, shown: titles, degraded: [], user }
  }

  interface Computing {
    readonly user: RequestUser
    readonly anchor: bigint | undefined
    readonly neighbours: ReadonlyMap<bigint, readonly Neighbour[]>
    readonly model: GuardedModel | undefined
    readonly degraded: Degradation[]
  }

  function compute(request: ListRequest, { user, anchor, neighbours, model, degraded }: Computing) {
    const wanted = {
      user,
      recType: request.recType,
      context: request.context,
      anchor,
      neighbours,
      diversity: request.diversity,
      now: now(),
    }
    const isAbout = request.recType === 'similar' && anchor !== undefined
    const made = recommend(tables, { ...wanted, model })
    const failed = model?.failed ?? NOTHING
    degraded.push(...failed)
    // If the vectors and the trees have failed, the list is based on the rules.
    const isModelUsed = model !== undefined && !(failed.has('vectors') && failed.has('ranking'))
    const items = made.list.map((details): AnswerItem => {
      const { candidate, score } = details
      const channel = details.isExplored ? 'exploration' : candidate.channel
      return { itemId: candidate.itemId, score, ...reasonOf(channel, candidate.sourceItemId, isAbout), details }
    })
    return {
      items,
      candidates: made.candidates,
      isCapRelaxed: made.isCapRelaxed,
      modelVersion: isModelUsed ? model.version : RULES_VERSION,
    }
  }

  function logFailure(version: string, part: ModelPart, error: unknown): void {
    const name = `${version} ${part}`
    if (logged.has(name)) return
    logged.add(name)
    log.error({ version, part, err: error }, 'model_failed')
  }

  /** Serves the remaining items of a list, without items that can no longer be recommended to the user. */
  async function serveRest({ userId, items, modelVersion }: RestOfList, limit: number): Promise<ServedList> {
    const found = await readFeatures(userId)
    const user = found ?? unknownUser(userId)
    const fresh = items.filter(({ itemId }) => isAllowed(user, itemId))
    const titles = await titlesOf(fresh.slice(0, limit))
    const degraded: Degradation[] = [
      ...(found === undefined || found.hasUnreadPages() ? ['features' as const] : []),
      ...(titles.isComplete ? [] : ['titles' as const]),
    ]
    const details = { details: undefined }
    const rest = fresh.map((item) => ({ ...item, ...details }))
    return { items: rest, shown: titles.shown, degraded, modelVersion, isCapRelaxed: false, user, candidates: [] }
  }

  return { serve, serveRest, rehearse, findFeatures, readFeatures, neighboursOf, modelFor }
}

export type ListServer = ReturnType<typeof listServer>

/**
 * Returns the item on which the list is based. If the request names no item, `similar` and `because_you_watched` use
 * the last viewed item.
 */
function anchorOf({ recType, itemId }: ListRequest, user: RequestUser): bigint | undefined {
  if (recType === 'personalized' || recType === 'trending') return undefined
  return itemId ?? user.lastViewed[0]
}
