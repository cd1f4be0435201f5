import { createClient } from '@clickhouse/client'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { partitionKey, type Transport } from '../../../kafka/transport.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { clicks, linkStats } from '../../../schemas/links/topics.ts'
import { readLinkStats } from '../../../state/views/links/link-stats.ts'
import { NOT_CAUGHT_UP, type ViewReader } from '../../../state/views/view.ts'
import type { ApiProcess } from '../api-process.ts'
import type { Counting } from './counting.ts'
import { type LinksSystem, send, visit } from './system.ts'

/** Visitors who continuously follow links through every API instance, while the test causes faults. */
export interface ClickOrdeal {
  /**
   * Resolves when every visitor has received this number of further responses. By then, every visitor has noticed the
   * previous fault.
   */
  visits(each: number): Promise<void>
  /** Runs an incident during which APIs may respond with 503, and waits until all APIs are ready again. */
  withoutRedis(incident: () => Promise<void>): Promise<void>
  /** Returns the number of clicks that the APIs have reported as dropped since the visits began. */
  dropped(): Promise<number>
  /**
   * Ends the visits. Then checks that all redirects were correct, and that Redis and ClickHouse count each click in the
   * log exactly once.
   */
  finish(): Promise<{ readonly visits: number; readonly dropped: number }>
}

export interface ClickOrdealOptions {
  readonly links?: number
  readonly visitorsPerApi?: number
}

const DEFAULT_LINKS = 20
const DEFAULT_VISITORS = 3
const SOON = { timeoutMs: 120_000, intervalMs: 50 }
const POLL_MS = 100

export async function clickOrdeal(system: LinksSystem, counting: Counting, options: ClickOrdealOptions = {}): Promise<ClickOrdeal> {
  const { links = DEFAULT_LINKS, visitorsPerApi = DEFAULT_VISITORS } = options
  const { apis } = system
  const urls = Array.from({ length: links }, (_, index) => ({ long_url: `https://example.com/visited/${index}` }))
  const { body } = await send(apis[0], 'POST', '/api/v1/urls/bulk', { urls })
  const targets = (body.results as { short_code: string; long_url: string }[]).map((made) => [made.short_code, made.long_url] as const)
  const visited = new Map(targets.map(([code]) => [code, 0]))
  const wrong: string[] = []
  const state = { isRunning: true, redisIsAway: false }
  await waitUntil(async () => (await metrics('waiting')) === 0, { what: 'earlier clicks to be sent', ...SOON })
  const sentBefore = await metrics('sent_total')
  const droppedBefore = await metrics('dropped_total')

  /** Returns the sum of a click metric over all instances. */
  async function metrics(name: string): Promise<number> {
    const texts = await Promise.all(apis.map(async ({ operationsUrl }) => await (await fetch(`${operationsUrl}/metrics`)).text()))
    return texts.reduce((sum, text) => sum + Number(new RegExp(`^clicks_${name} (\\S+)$`, 'm').exec(text)![1]), 0)
  }

  const answered = apis.flatMap(() => Array.from({ length: visitorsPerApi }, () => 0))

  async function visitor(api: ApiProcess, index: number): Promise<void> {
    for (let turn = index; state.isRunning; turn++) {
      const [code, url] = targets[turn % targets.length]
      const mayFail = state.redisIsAway
      const { status, location } = await visit(api, code).catch((error: Error) => ({ status: 0, location: error.message }))
      answered[index]++
      if (status === 302) visited.set(code, visited.get(code)! + 1)
      const isRight = status === 302 && location === url
      if (!isRight && !(status === 503 && (mayFail || state.redisIsAway))) wrong.push(`${code}: ${status} ${location}`)
    }
  }
  const visitors = answered.map((_, index) => visitor(apis[index % apis.length], index))

  async function visits(each: number): Promise<void> {
    const goals = answered.map((count) => count + each)
    await waitUntil(async () => goals.every((goal, index) => answered[index] >= goal), {
      what: `${each} more answers for each visitor`,
      ...SOON,
    })
  }

  async function finish(): Promise<{ visits: number; dropped: number }> {
    state.isRunning = false
    await Promise.all(visitors)
    expect(wrong).toEqual([])
    await waitUntil(async () => (await metrics('waiting')) === 0, { what: 'all clicks to be sent', ...SOON })
    const all = [...visited.values()].reduce((sum, count) => sum + count, 0)
    const dropped = (await metrics('dropped_total')) - droppedBefore
    expect((await metrics('sent_total')) - sentBefore).toBe(all - dropped)
    const inLog = await clicksInLog(system.kafka.address, [...visited.keys()])
    expect([...inLog.values()].reduce((sum, count) => sum + count, 0)).toBe(all - dropped)
    if (dropped === 0) expect(inLog).toEqual(visited)
    await expectCounted(system.env.REDIS_URL, inLog)
    await expectStored(counting.clickhouse.address, inLog)
    return { visits: all, dropped }
  }

  return {
    visits,
    async withoutRedis(incident) {
      state.redisIsAway = true
      await incident()
      for (const api of apis)
        await waitUntil(async () => (await visit(api, 'missing')).status === 404, { what: 'Redis to be readable again', ...SOON })
      for (const api of apis) await waitUntil(async () => (await fetch(`${api.url}/readyz`)).ok, { what: 'the API', ...SOON })
      state.redisIsAway = false
    },
    dropped: async () => (await metrics('dropped_total')) - droppedBefore,
    finish,
  }
}

/** Waits until the view includes all clicks, and then checks the counts in Redis. */
async function expectCounted(redisUrl: string, inLog: ReadonlyMap<string, number>): Promise<void> {
  const redis = new Redis(redisUrl)
  const ended = Date.now()
  try {
    for (const [code, count] of inLog) {
      const read = () => readLinkStats(redis as unknown as ViewReader, partitionFor(Buffer.from(code), linkStats.partitions), code)
      const isCounted = async () => {
        const found = await read()
        return found !== NOT_CAUGHT_UP && found.asOf > ended
      }
      await waitUntil(isCounted, { what: `all clicks of ${code} in the view`, ...SOON })
      expect([code, await read()]).toMatchObject([code, { stats: { total_clicks: count } }])
    }
  } finally {
    redis.disconnect()
  }
}

async function expectStored(url: string, inLog: ReadonlyMap<string, number>): Promise<void> {
  const tables = createClient({ url })
  async function stored(): Promise<Map<string, number>> {
    const query = 'SELECT short_code, toUInt32(count()) FROM clicks FINAL WHERE short_code IN {codes: Array(String)} GROUP BY short_code'
    const answer = await tables.query({ query, query_params: { codes: [...inLog.keys()] }, format: 'JSONCompactEachRow' })
    return new Map(await answer.json<[string, number]>())
  }
  const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((total, count) => total + count, 0)
  try {
    await waitUntil(async () => sum(await stored()) >= sum(inLog), { what: 'all clicks in the table', ...SOON })
    expect(await stored()).toEqual(inLog)
  } finally {
    await tables.close()
  }
}

async function clicksInLog(broker: string, codes: readonly string[]): Promise<Map<string, number>> {
  const transport = kafkaTransport({ brokers: [broker], clientId: 'click-ordeal' }, { runtime: systemRuntime() })
  await transport.connect()
  try {
    return await countKeys(transport, codes)
  } finally {
    await transport.close()
  }
}

async function countKeys(transport: Transport, codes: readonly string[]): Promise<Map<string, number>> {
  const partitions = Array.from({ length: clicks.partitions }, (_, partition) => ({ topic: clicks.name, partition }))
  const ends = await transport.offsets(partitions, 'end')
  const fetcher = transport.fetcher()
  for (const each of partitions) fetcher.assign(each, 0, 'fail')
  const counts = new Map(codes.map((code) => [code, 0]))
  while (partitions.some((each) => (fetcher.position(each) ?? 0) < ends.get(partitionKey(each.topic, each.partition))!)) {
    for (const { chunks } of await fetcher.poll(POLL_MS))
      for (const { buffer, count, keyStart, keyEnd } of chunks)
        for (let index = 0; index < count; index++) {
          const code = clicks.key.decode(buffer, keyStart[index], keyEnd[index])
          const counted = counts.get(code)
          if (counted !== undefined) counts.set(code, counted + 1)
        }
  }
  await fetcher.close()
  return counts
}
