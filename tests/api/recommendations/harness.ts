import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import type { HttpMetrics } from '../../../api/kit/metrics.ts'
import { httpMetrics } from '../../../api/kit/metrics.ts'
import { recommendationsHandlers } from '../../../api/recommendations/handlers.ts'
import { openModel } from '../../../api/recommendations/model/open.ts'
import type { ServiceKit } from '../../../api/service.ts'
import { NO_HISTORY } from '../../../schemas/recommendations/events/packed-history.ts'
import { NO_ITEMS } from '../../../schemas/recommendations/events/packed-items.ts'
import { MODELS_KEY, recommendationModels } from '../../../schemas/recommendations/models/topics.ts'
import { type Neighbour, packNeighbours } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import { editorialLists, itemStats, items, trendingItems } from '../../../schemas/recommendations/topics.ts'
import type { ModelHistory, RecommendationItem, UserFeatures, UserSelf } from '../../../schemas/recommendations/types.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { recommendationItemsView } from '../../../state/views/recommendations/items.ts'
import { itemNeighboursView } from '../../../state/views/recommendations/neighbours.ts'
import { userFeaturesView } from '../../../state/views/recommendations/users.ts'
import type { ViewOperation } from '../../../state/views/view.ts'
import { START, testApp } from '../kit/harness.ts'

/**
 * A temporary folder, created with the first API. If it were created on import, a file whose tests are all skipped
 * would leave it behind, because `afterAll` hooks do not run in such a file.
 */
let folder: string | undefined
afterAll(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})

/** The features of a user with many interactions, without any items or properties. */
export const SOME_USER: UserSelf = {
  through_offset: 7,
  interactions: 30,
  last_event_at: START,
  session_started_at: START,
  viewed: NO_ITEMS,
  session: NO_ITEMS,
  history: NO_HISTORY,
  hidden: NO_ITEMS,
  shown: NO_ITEMS,
  country: null,
  language: null,
  age_bucket: null,
  sub_tier: null,
  preferences: [],
  user_updated_at: null,
  preferences_updated_at: null,
}

interface Published {
  readonly topic: string
  readonly key: unknown
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of records
  readonly value: any
}

/** Runs the recommendations API on in-memory views and topics. */
export async function recommendationsApi({ open = openModel, readMs = 1_000 } = {}) {
  const strings = new Map<string, string | Buffer>()
  const hashes = new Map<string, Map<string, string | Buffer>>()
  const feeds = new Map<string, (key: never, value: never) => void>()
  const published: Published[] = []
  const state = {
    isRedisAway: false,
    /** True while Redis neither responds nor refuses connections. */
    isRedisHung: false,
    /** Number of reads that were sent to Redis. */
    reads: 0,
    isRedisEmptied: false,
    lostViews: [] as readonly string[],
    isKafkaAway: false,
    now: START,
    runs: [] as readonly (readonly unknown[])[],
    isClickHouseAway: false,
    /** True while ClickHouse neither responds nor refuses connections. */
    isClickHouseHung: false,
  }
  const metrics: HttpMetrics = httpMetrics({ process: false })

  async function read<T>(value: () => T): Promise<T> {
    state.reads++
    if (state.isRedisAway) throw new ApiError(errors.unavailable)
    if (state.isRedisHung) return await new Promise<T>(() => undefined)
    return value()
  }
  const bytes = (value: string | Buffer | undefined) => (value === undefined ? null : Buffer.from(value as string))
  const isLost = (key: string) => state.lostViews.some((view) => key.startsWith(`{${view}:`))
  const caughtUp = (key: string) => (state.isRedisEmptied || isLost(key) ? null : Buffer.from('1'))
  const views = {
    get: (key: string) => read(() => (key.endsWith(':caught-up') ? (caughtUp(key)?.toString() ?? null) : null)),
    hget: () => read(() => null),
    mgetBuffer: (keys: readonly string[]) =>
      read(() => keys.map((key) => (key.endsWith(':caught-up') ? caughtUp(key) : isLost(key) ? null : bytes(strings.get(key))))),
    hmgetBuffer: (key: string, fields: readonly string[]) => read(() => fields.map((field) => bytes(hashes.get(key)?.get(field)))),
    hgetallBuffer: (key: string) => read(() => Object.fromEntries(hashes.get(key) ?? [])),
  }
  const sharedViews = { get: (key: string) => read(() => (isLost(key) ? null : (strings.get(key)?.toString() ?? null))) }
  async function publish(topic: AnyTopic, key: unknown, value: unknown): Promise<void> {
    if (state.isKafkaAway) throw new ApiError(errors.unavailable)
    published.push({ topic: topic.name, key, value })
    feeds.get(topic.name)?.(key as never, (value ?? undefined) as never)
  }
  const facts = {
    publish,
    partitionOf: () => 0,
    partitionsOf: () => 1,
    openLog: async (topic: AnyTopic) => ({
      append: (key: unknown, value: unknown) => void published.push({ topic: topic.name, key, value }),
    }),
  }
  async function topicFeeds(topic: AnyTopic, apply: (key: never, value: never) => void) {
    feeds.set(topic.name, apply)
    return { probe: { name: topic.name, check: async () => undefined }, close: async () => undefined }
  }
  folder ??= mkdtempSync(join(tmpdir(), 'millrace-recommendations-'))
  const home = join(folder, randomUUID())
  const modelBlobs = { url: pathToFileURL(join(home, 'data', 'models')).href, s3Endpoint: undefined, compresses: false }
  const log = { info() {}, warn() {}, error() {}, debug() {} }
  const tables: TableReader = {
    async query() {
      if (state.isClickHouseAway) throw new Error('ClickHouse is unreachable')
      if (state.isClickHouseHung) return await new Promise(() => undefined)
      return { json: async <Row>() => state.runs as Row[] }
    },
  }
  const kit = {
    views,
    tables,
    sharedViews,
    facts,
    topicFeeds,
    feedSnapshots: async () => ({ loaded: undefined, positionIn: () => undefined, keep() {}, close: async () => undefined }),
    metrics,
    log,
    publicUrl: 'http://localhost:8080',
    state: { models: modelBlobs },
    surroundings: { home, isProduction: false },
    now: () => state.now,
    monotonic: () => state.now,
  } as unknown as ServiceKit
  const settings = { secret: 'a secret for tests of pages', readMs, featuresShare: 1 }
  const service = await recommendationsHandlers(kit, settings, open)
  const app = await testApp({ services: [service] })

  function apply(operations: readonly ViewOperation[]): void {
    for (const operation of operations) {
      if (operation.op === 'set') strings.set(operation.key, operation.value)
      else if (operation.op === 'hset') {
        hashes.set(operation.key, new Map([...(hashes.get(operation.key) ?? []), ...Object.entries(operation.fields)]))
      } else throw new Error(`the harness does not implement ${operation.op}`)
    }
  }

  const feed = (topic: AnyTopic, key: unknown, value: unknown) => feeds.get(topic.name)!(key as never, value as never)

  return {
    ...app,
    service,
    state,
    published,
    metrics,
    /** Delivers a record to the subscriber of its topic. */
    feed,
    putItem(itemId: bigint, item: Partial<RecommendationItem>): void {
      const whole: RecommendationItem = {
        title: `Item ${itemId}`,
        description: '',
        category_path: '',
        attributes: {},
        popularity: 0,
        thumbnail_url: null,
        status: 'ACTIVE',
        created_at: START - 365 * 24 * 3_600_000,
        updated_at: START,
        ...item,
      }
      feed(items, itemId, whole)
      apply(recommendationItemsView.operationsFor(0, itemId, whole))
    },
    putStats: (itemId: bigint, entered: number) =>
      feed(itemStats, itemId, {
        at: START,
        popularity: entered,
        entered,
        recent: 0,
        shown: 0,
        chosen: 0,
        events: entered,
        purchases: 0,
        ratings: 0,
        rating_sum: 0,
        interactions: 1_000,
      }),
    putTrending: (group: string, item_ids: readonly bigint[], events = 1_000) =>
      feed(trendingItems, group, { at: START, events, item_ids }),
    putModels: (history: ModelHistory | undefined) => feed(recommendationModels, MODELS_KEY, history),
    modelBlobs,
    putEditorial: (name: string, list: unknown) => feed(editorialLists, name, list),
    putNeighbours: (itemId: bigint, neighbours: readonly Neighbour[]) =>
      apply(itemNeighboursView.operationsFor(0, itemId, { at: START, neighbours: packNeighbours(neighbours) })),
    /** Stores a text in Redis as it is. */
    putText: (key: string, text: string) => void strings.set(key, text),
    putUser: (key: string, features: UserFeatures) => apply(userFeaturesView.operationsFor(0, key, features)),
    async send(
      method: string,
      path: string,
      options: { user?: string; scope?: string; body?: unknown; headers?: Record<string, string> } = {},
    ) {
      const headers: Record<string, string> =
        options.user === undefined ? {} : await app.bearer({ sub: options.user, scope: options.scope })
      Object.assign(headers, options.headers)
      if (options.body !== undefined) headers['content-type'] = 'application/json'
      const body = options.body === undefined ? undefined : JSON.stringify(options.body)
      const response = await app.app.request(path, { method, headers, body })
      const text = await response.text()
      return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
    },
  }
}
