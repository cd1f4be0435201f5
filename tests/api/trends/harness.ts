import { ApiError, errors } from '../../../api/kit/errors.ts'
import type { Facts } from '../../../api/kit/facts.ts'
import { httpMetrics } from '../../../api/kit/metrics.ts'
import { type TrendsDeps, trendsHandlers } from '../../../api/trends/handlers.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { blockedTerms, trendOutput, trendRenewals, userInterests } from '../../../schemas/trends/topics.ts'
import { listBytesOf } from '../../../schemas/trends/trend-list-bytes.ts'
import type { BlockedTerm, TrendOutput, UserInterests } from '../../../schemas/trends/types.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { INTERESTS_VIEW, interestsView } from '../../../state/views/trends/interests.ts'
import { TRENDS_VIEW, trendsView } from '../../../state/views/trends/trends.ts'
import { entry } from '../../state/views/entries.ts'
import { fakeRedis } from '../../state/views/fake-redis.ts'
import { testApp } from '../kit/harness.ts'

const PARTITIONS = 4

export interface Published {
  readonly topic: string
  readonly key: unknown
  readonly value: unknown
}

/**
 * Opens the trends API with fake servers. Published records reach the views and the blocked terms immediately, unless
 * `kafka.sink` is false.
 */
export async function trendsApi(options: { caughtUp?: boolean } = {}) {
  const redis = fakeRedis()
  const published: Published[] = []
  let offset = 0
  const kafka = { down: false, sink: true, known: true }
  const table = {
    rows: [] as (readonly unknown[])[],
    requests: [] as { query_params: Record<string, unknown> }[],
    error: undefined as Error | undefined,
    /** Whether queries get no answer. */
    hangs: false,
    caughtUp: PARTITIONS,
  }

  const facts: Facts = {
    async publish<K, V>(topic: Topic<K, V>, key: K, value: V | null) {
      if (kafka.down) throw new ApiError(errors.unavailable)
      published.push({ topic: topic.name, key, value })
      const partition = facts.partitionOf(topic as unknown as Topic<K, unknown>, key)
      if (!kafka.sink) return
      if (topic.name === blockedTerms.name) blocked.apply(key as string, value as BlockedTerm | null)
      if (topic.name === trendOutput.name) applyList(partition, value as TrendOutput)
      if (topic.name === userInterests.name) redis.apply(interestsView.operationsFor(partition, key as bigint, value as UserInterests))
    },
    partitionOf: (_topic, key) => partitionFor(Buffer.from(String(key)), facts.partitionsOf({ name: '' })),
    partitionsOf() {
      if (!kafka.known) throw new ApiError(errors.not_ready)
      return PARTITIONS
    },
  }
  const blocked = fakeBlockedTerms()
  const tables: TableReader = {
    async query(request) {
      const { tables } = request.query_params as { tables?: string[] }
      if (tables !== undefined) return { json: async <Row>() => tables.map((name) => [name, table.caughtUp]) as Row[] }
      // Returns no rows to the query for late volumes, because these tests do not use late volumes.
      if (request.query.includes("adds_as != ''")) return { json: async <Row>() => [] as Row[] }
      table.requests.push(request)
      if (table.hangs) return await new Promise(() => undefined)
      if (table.error !== undefined) throw table.error
      return { json: async <Row>() => table.rows as Row[] }
    },
  }
  /** Like a reader from `connectViewRedis`, fails with `unavailable` while Redis is unreachable. */
  const views: TrendsDeps['views'] = {
    get: (key) => redis.reader.get(key).catch(unavailable),
    hget: (key, field) => redis.reader.hget(key, field).catch(unavailable),
    hmgetBuffer: (key, fields) => redis.reader.hmgetBuffer(key, fields).catch(unavailable),
  }
  const metrics = httpMetrics({ process: false })
  const service = trendsHandlers({
    views,
    tables,
    facts,
    blocked,
    metrics,
    now: () => api.clock.now,
    monotonic: () => api.clock.now,
    sleep: async () => undefined,
  })
  const api = await testApp({ services: [service], probes: [...service.probes] })
  if (options.caughtUp !== false) {
    redis.caughtUp(TRENDS_VIEW, PARTITIONS)
    redis.caughtUp(INTERESTS_VIEW, PARTITIONS)
  }

  function applyList(partition: number, list: TrendOutput): void {
    redis.apply(trendsView.operationsFor(partition, list.woeid, listBytesOf(list)))
    redis.moveTo(TRENDS_VIEW, partition, { [trendOutput.name]: ++offset, [trendRenewals.name]: 0 })
  }

  /** Puts a list into the view as if the pipeline had produced it. */
  function putList(more: Partial<TrendOutput> = {}): void {
    const list: TrendOutput = {
      woeid: 1,
      window_end: api.clock.now,
      source: 'pipeline',
      missing_partitions: 0,
      entries: terms(40),
      ...more,
    }
    applyList(facts.partitionOf(trendOutput, list.woeid), list)
  }

  async function get(path: string, headers: Record<string, string> = {}) {
    const response = await api.app.request(path, { headers })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) }
  }

  async function send(method: string, path: string, body: unknown, headers: Record<string, string> = {}) {
    const response = await api.app.request(path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }

  return { ...api, redis, kafka, table, blocked, serviceMetrics: metrics, published, putList, get, send, service }
}

/** Creates a table of blocked terms that applies each change immediately. The real table takes a few milliseconds. */
function fakeBlockedTerms() {
  const terms = new Map<string, BlockedTerm>()
  return {
    revision: 0,
    isLoaded: true,
    probes: [],
    get entries(): ReadonlyMap<string, BlockedTerm> {
      if (!this.isLoaded) throw new ApiError(errors.not_ready)
      return terms
    },
    apply(term: string, block: BlockedTerm | null): void {
      if (block === null) terms.delete(term)
      else terms.set(term, block)
      this.revision++
    },
    until: async (isSeen: () => boolean) => isSeen(),
    close: async () => undefined,
  }
}

function unavailable(): never {
  throw new ApiError(errors.unavailable)
}

/** Creates the terms `term1`, `term2` and so on, with decreasing scores. */
export function terms(count: number) {
  return Array.from({ length: count }, (_, index) => entry(`term${index + 1}`, { score: count - index }))
}
