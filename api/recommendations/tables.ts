import { setImmediate } from 'node:timers/promises'
import { isItemId } from '../../schemas/recommendations/item-id.ts'
import type { RecommendationContext } from '../../schemas/recommendations/ranking/ranking-features.ts'
import { editorialLists, itemStats, items as itemsTopic, trendingItems } from '../../schemas/recommendations/topics.ts'
import type { EditorialList, RecommendationItem, TrendingItems } from '../../schemas/recommendations/types.ts'
import type { ReadinessProbe } from '../kit/readiness.ts'
import type { ServiceKit } from '../service.ts'
import { boostByEditors, placedByEditors } from './candidates/editorial.ts'
import { trendingFor } from './candidates/trending.ts'
import { blocksOf, itemSnapshot } from './items/item-snapshot.ts'
import { type ItemTable, itemTable } from './items/item-table.ts'
import { leaders } from './items/leaders.ts'
import type { SavedItems } from './model/source.ts'
import type { RecommendSources } from './recommend.ts'
import type { RequestUser } from './users/request-user.ts'

/** All in-memory data that lists need, apart from models. Every process reads this data from topics. */
export interface RecommendationTables extends RecommendSources {
  readonly items: ItemTable
  readonly editorial: ReadonlyMap<string, EditorialList>
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<unknown>
}

export interface TablesDeps extends Pick<ServiceKit, 'topicFeeds' | 'feedSnapshots' | 'now'> {
  /**
   * Called with every changed item, but not for outdated records. Other parts of the process use this callback instead
   * of reading the topic a second time.
   */
  onItem(itemId: bigint, item: RecommendationItem | undefined): void
  /** The items whose contents are kept for models. The snapshot of the tables contains them. */
  readonly newer: SavedItems
}

/** Opens the tables. The items and their statistics come from a snapshot, if there is one, and then from the topics. */
export async function openTables({ topicFeeds, feedSnapshots, now, onItem, newer }: TablesDeps): Promise<RecommendationTables> {
  const snapshot = await feedSnapshots(itemSnapshot)
  const items = snapshot.loaded?.items ?? itemTable()
  for (const [itemId, content] of snapshot.loaded?.newer ?? []) newer.restore(itemId, content, items.updatedAt(items.rowOf(itemId)))
  const trending = new Map<string, TrendingItems>()
  const editorial = new Map<string, EditorialList>()

  function putItem(itemId: bigint, given: RecommendationItem | undefined, replaces: boolean): void {
    const item = isItemId(itemId) ? given : undefined
    if (replaces) items.putItem(itemId, undefined)
    if (item !== undefined && item.updated_at < items.updatedAt(items.rowOf(itemId))) return
    items.putItem(itemId, item)
    onItem(itemId, item)
  }

  const feeds = await Promise.all([
    topicFeeds(itemsTopic, putItem, items.itemIds, snapshot.positionIn(itemsTopic.name)),
    // The feed gets no keys to clear, so that items keep their last statistics even if the topic is deleted and created
    // again.
    topicFeeds(
      itemStats,
      (itemId, stats) => items.putStats(itemId, stats),
      () => [],
      snapshot.positionIn(itemStats.name),
    ),
    topicFeeds(
      trendingItems,
      (group, list) => assign(trending, group, list),
      () => trending.keys(),
    ),
    topicFeeds(
      editorialLists,
      (name, list) => assign(editorial, name, list),
      () => editorial.keys(),
    ),
  ])
  const kept = new Map([
    [itemsTopic.name, feeds[0]],
    [itemStats.name, feeds[1]],
  ])
  snapshot.keep(kept, () => blocksOf(items, newer))
  const trendingLists = {
    listOf: (group: string) => trending.get(group),
    isActive: (itemId: bigint) => items.isActive(items.rowOf(itemId)),
  }

  return {
    items,
    leaders: leaders({ items, now, otherWork: setImmediate }),
    editorial,
    trendingFor: (user: RequestUser) => trendingFor(trendingLists, user, now()),
    editorialFor: (context: RecommendationContext) => placedByEditors(editorial, context, now()),
    boost: () => boostByEditors(editorial, now()),
    probes: feeds.map(({ probe }) => probe),
    close: () => Promise.all([snapshot.close(), ...feeds.map((feed) => feed.close())]),
  }
}

function assign<V>(map: Map<string, V>, key: string, value: V | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}
