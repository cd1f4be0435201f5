import type { CatalogDocument, Category } from '../../../schemas/catalog/types.ts'
import type {
  Interaction,
  ItemActivity,
  ItemNeighbours,
  ItemStats,
  RecommendationItem,
  RecommendationUser,
  ServedRecommendations,
  TrendingItems,
  UserPreferences,
  UserSelf,
} from '../../../schemas/recommendations/types.ts'
import type { Logged as LoggedText } from '../log-reader.ts'
import type { CameBack } from '../send.ts'
import type { Inflicted } from '../troubles.ts'

/** A record with its key as text. */
export type Logged<V> = Pick<LoggedText<V>, 'key' | 'value' | 'offset'>

export type CallKind = 'events' | 'hide' | 'list' | 'page' | 'similar' | 'features' | 'preferences' | 'user'

/** A request and its response. */
export interface Call extends CameBack {
  readonly kind: CallKind
  readonly user: string
  readonly api: number
  /** When the request was sent, in epoch ms. All processes of a round share one clock. */
  readonly from: number
  readonly to: number
  /** Ids of the sent events, without those that the API derived from the content of an event. */
  readonly eventIds: readonly string[]
}

/**
 * The records about the users and items of a round, by topic and in log order. Only `trending` and `allItemEvents`
 * include all rounds.
 */
export interface Logs {
  readonly interactions: readonly Logged<Interaction>[]
  readonly served: readonly Logged<ServedRecommendations>[]
  readonly users: readonly Logged<RecommendationUser>[]
  readonly preferences: readonly Logged<UserPreferences>[]
  readonly itemEvents: readonly Logged<ItemActivity>[]
  readonly itemStats: readonly Logged<ItemStats>[]
  readonly itemNeighbours: readonly Logged<ItemNeighbours>[]
  readonly items: readonly Logged<RecommendationItem>[]
  readonly documents: readonly Logged<CatalogDocument>[]
  readonly categories: readonly Logged<Category>[]
  /** The newest list of each group. */
  readonly trending: ReadonlyMap<string, TrendingItems>
  /** The item events of all rounds. `trending` depends on all of them. */
  readonly allItemEvents: readonly Logged<ItemActivity>[]
  /** The newest features of each user, and the pages of their watched items by number. */
  readonly features: ReadonlyMap<string, UserSelf>
  readonly pages: ReadonlyMap<string, ReadonlyMap<number, Uint8Array>>
}

/** Contents of the Redis views. */
export interface Views {
  readonly features: ReadonlyMap<string, UserSelf>
  readonly pages: ReadonlyMap<string, ReadonlyMap<number, Uint8Array>>
  /** The encoded neighbours of each item. */
  readonly neighbours: ReadonlyMap<string, Uint8Array>
}

/** Rows of ClickHouse, read with FINAL. */
export interface Tables {
  readonly interactions: readonly { readonly user_id: string; readonly event_id: string; readonly item_id: string; readonly at: string }[]
  readonly served: readonly { readonly request_id: string; readonly position: number; readonly item_id: string; readonly at: string }[]
}

/** All calls, logs and stored results of a finished round. */
export interface Evidence {
  readonly users: readonly string[]
  /** The items of the round, with which users may have interacted. */
  readonly items: readonly string[]
  readonly calls: readonly Call[]
  readonly inflicted: Inflicted
  readonly logs: Logs
  readonly views: Views
  readonly tables: Tables
  /** For each user, the first list without degradation after all parts have recovered. */
  readonly final: readonly Call[]
  /**
   * Whether the verdict includes trending items. They are published only every 30 seconds, so short rounds leave them
   * out.
   */
  readonly judgesTrending: boolean
}
