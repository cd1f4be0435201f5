import { Redis } from 'ioredis'
import { catalogDocuments, categories } from '../../../schemas/catalog/documents/topics.ts'
import * as topics from '../../../schemas/recommendations/topics.ts'
import type { UserFeatures, UserSelf } from '../../../schemas/recommendations/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { readUser } from '../../../state/views/recommendations/users.ts'
import { NOT_CAUGHT_UP } from '../../../state/views/view.ts'
import { openLogs } from '../open-logs.ts'
import type { Evidence, Logged, Logs, Tables, Views } from './evidence.ts'
import type { RecommendationsSystem } from './system.ts'

export type Observed = Pick<Evidence, 'logs' | 'views' | 'tables'>

/** Reads what the topics, tables and views contain about the users and items of a round. */
export interface Observer {
  read(): Promise<Observed>
  close(): Promise<void>
}

export interface Concerned {
  readonly users: readonly string[]
  readonly items: readonly string[]
  readonly categories: readonly string[]
}

const READ = [
  topics.interactions,
  topics.recommendationsServed,
  topics.recommendationUsers,
  topics.userPreferences,
  topics.userFeatures,
  topics.itemEvents,
  topics.itemStats,
  topics.itemNeighbours,
  topics.items,
  topics.trendingItems,
  catalogDocuments,
  categories,
]

export async function observer({ env, rowsOf, redis: { address } }: RecommendationsSystem, concerned: Concerned): Promise<Observer> {
  // biome-ignore lint/suspicious/noExplicitAny: topics with any key and value type, as in AnyTopic
  const reader = await openLogs(env as any, READ as any)
  const redis = new Redis(address)
  redis.on('error', () => undefined)
  const users = new Set(concerned.users)
  const items = new Set(concerned.items)

  function of<V>(topic: Topic<never, V>, mine: ReadonlySet<string>): Logged<V>[] {
    return reader
      .of(topic as unknown as Topic<string, V>)
      .flat()
      .map((record) => ({ ...record, key: String(record.key) }))
      .filter(({ key }) => mine.has(key))
  }

  function featuresOf(): Pick<Logs, 'features' | 'pages'> {
    const features = new Map<string, UserSelf>()
    const pages = new Map<string, Map<number, Uint8Array>>()
    for (const { key, value } of reader.of(topics.userFeatures).flat()) {
      const [user, name] = String(key).split(':')
      if (!users.has(user)) continue
      if (name === 'self') keep(features, user, value)
      else keepPage(pages, user, Number(name.slice('page-'.length)), value)
    }
    return { features, pages }
  }

  async function views(): Promise<Views> {
    const features = new Map<string, UserSelf>()
    const pages = new Map<string, Map<number, Uint8Array>>()
    const neighbours = new Map<string, Uint8Array>()
    const bytes = {
      hmgetBuffer: (key: string, fields: readonly string[]) => redis.hmgetBuffer(key, ...fields),
      hgetallBuffer: (key: string) => redis.hgetallBuffer(key),
      get: (key: string) => redis.get(key),
      hget: (key: string, field: string) => redis.hget(key, field),
    }
    for (const user of concerned.users) {
      const stored = await readUser(bytes, 0, user)
      if (stored === NOT_CAUGHT_UP) continue
      if (stored.self !== undefined) features.set(user, stored.self)
      pages.set(user, new Map(Object.entries(stored.pages).map(([page, value]) => [Number(page), value])))
    }
    for (const item of concerned.items) {
      const packed = await redis.getBuffer(`{item-neighbours:0}:of:${item}`)
      if (packed !== null) neighbours.set(item, packed)
    }
    return { features, pages, neighbours }
  }

  async function tables(): Promise<Tables> {
    const mine = `user_id IN (${concerned.users.join(', ')})`
    const [interactions, served] = await Promise.all([
      rowsOf(
        `SELECT toString(user_id) AS user_id, event_id, toString(item_id) AS item_id, toString(toUnixTimestamp64Milli(timestamp)) AS at FROM interactions FINAL WHERE ${mine}`,
      ),
      rowsOf(
        `SELECT request_id, position, toString(item_id) AS item_id, toString(toUnixTimestamp64Milli(served_at)) AS at FROM recommendations_served FINAL WHERE ${mine} ORDER BY request_id, position`,
      ),
    ])
    return { interactions, served } as unknown as Tables
  }

  return {
    async read() {
      await reader.catchUp()
      const logs: Logs = {
        interactions: of(topics.interactions as never, users),
        served: of(topics.recommendationsServed as never, users),
        users: of(topics.recommendationUsers as never, users),
        preferences: of(topics.userPreferences as never, users),
        itemEvents: of(topics.itemEvents as never, items),
        itemStats: of(topics.itemStats as never, items),
        itemNeighbours: of(topics.itemNeighbours as never, items),
        items: of(topics.items as never, items),
        documents: of(catalogDocuments as never, items),
        categories: of(categories as never, new Set(concerned.categories)),
        trending: new Map(reader.of(topics.trendingItems).flatMap((records) => records.map(({ key, value }) => [key, value!] as const))),
        allItemEvents: reader
          .of(topics.itemEvents as never)
          .flat()
          .map((record) => ({ ...record, key: String(record.key) })) as Logs['allItemEvents'],
        ...featuresOf(),
      }
      return { logs, views: await views(), tables: await tables() }
    },
    async close() {
      redis.disconnect()
      await reader.close()
    },
  }
}

function keep(features: Map<string, UserSelf>, user: string, value: UserFeatures | null): void {
  if (value?.self) features.set(user, value.self)
  else features.delete(user)
}

function keepPage(pages: Map<string, Map<number, Uint8Array>>, user: string, page: number, value: UserFeatures | null): void {
  const own = pages.get(user) ?? new Map<number, Uint8Array>()
  if (value?.page) own.set(page, value.page)
  else own.delete(page)
  pages.set(user, own)
}
