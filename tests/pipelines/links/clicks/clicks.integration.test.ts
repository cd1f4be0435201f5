import { randomUUID } from 'node:crypto'
import { createClient } from '@clickhouse/client'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { clickProducer } from '../../../../bench/clicks/producer.ts'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { kafkaTransport } from '../../../../kafka/client/index.ts'
import { partitionFor } from '../../../../kafka/partitioner.ts'
import { registryClient } from '../../../../kafka/registry.ts'
import { linksServices } from '../../../../pipelines/links/service.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { linkStats, linksSchemas } from '../../../../schemas/links/topics.ts'
import { type ReadLinkStats, readLinkStats } from '../../../../state/views/links/link-stats.ts'
import { NOT_CAUGHT_UP, type ViewReader } from '../../../../state/views/view.ts'
import { startWorkerProcess } from '../../../api/worker-process.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { AT_FIRST_TRY, testStack } from '../../../stack/index.ts'
import { provisionService } from '../../../stack/provision.ts'
import { newClickhouse, newKafka, newRedis } from '../../../stack/servers.ts'

const LINKS = 50
const ROUNDS = 3
const CLICKS_PER_ROUND = 2_000
const SOON = { timeoutMs: 90_000, intervalMs: 100 }
const TEST_TIMEOUT_MS = 240_000
const PEOPLE = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const CRAWLER = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

test('every click is counted once in the view, the table and the roll-up, even if the worker is killed with SIGKILL', {
  ...AT_FIRST_TRY,
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const folder = guardedFolder()
  onTestFinished(() => folder.finish())
  const [kafka, redis, clickhouse] = await Promise.all([newKafka(folder.path), newRedis(folder.path), newClickhouse(folder.path)])
  const [registry] = await Promise.all([testStack().registry(), kafka.start(), redis.start(), clickhouse.start()])
  await provisionService(kafka.address, registry, [linksSchemas], linksServices)
  const env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry,
    CLICKHOUSE_URL: clickhouse.address,
    PIPELINES: 'clicks',
  }
  const transport = kafkaTransport({ brokers: [kafka.address], clientId: randomUUID() }, { runtime: systemRuntime() })
  await transport.connect()
  const views = new Redis(redis.address)
  const tables = createClient({ url: clickhouse.address })
  onTestFinished(async () => {
    views.disconnect()
    await Promise.all([transport.close(), tables.close()])
  })
  const reader = views as unknown as ViewReader

  async function statsOf(link: number): Promise<ReadLinkStats | undefined> {
    const found = await readLinkStats(reader, partitionFor(Buffer.from(`code${link}`), linkStats.partitions), `code${link}`)
    return found === NOT_CAUGHT_UP ? undefined : found
  }

  async function counted(): Promise<number> {
    const all = await Promise.all(Array.from({ length: LINKS }, (_, link) => statsOf(link)))
    return all.reduce((sum, found) => sum + (found?.stats?.total_clicks ?? 0), 0)
  }

  async function query(sql: string): Promise<number> {
    const answer = await tables.query({ query: sql, format: 'JSONCompactEachRow' })
    const [[value]] = await answer.json<[string]>()
    return Number(value)
  }

  const producer = await clickProducer(transport, registryClient({ url: registry }))
  let sent = 0
  let worker = await startWorkerProcess(folder.path, env)
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < CLICKS_PER_ROUND; i++, sent++) {
      await producer.send({
        short_code: `code${sent % LINKS}`,
        timestamp: new Date().toISOString(),
        ip: `10.0.${(sent >> 8) & 255}.${sent & 255}`,
        user_agent: sent % 4 === 0 ? CRAWLER : PEOPLE,
        referrer: '',
        country: 'DE',
      })
    }
    await producer.flush()
    // Kills the worker as soon as the view has clicks of this round, so that the worker may still be processing the
    // other clicks.
    const before = sent - CLICKS_PER_ROUND
    await waitUntil(async () => (await counted()) > before, { what: `clicks of round ${round} in the view`, ...SOON })
    await worker.kill()
    worker = await startWorkerProcess(folder.path, env)
  }
  await producer.close()

  await waitUntil(async () => (await counted()) >= sent, { what: 'all clicks in the view', ...SOON })
  expect(await counted()).toBe(sent)
  const bots = sent / 4
  const perLink = sent / LINKS
  const { stats, asOf } = (await statsOf(1)) as ReadLinkStats
  expect(stats).toMatchObject({ total_clicks: perLink, unique_clicks: stats!.total_clicks - stats!.bot_clicks, unique_is_exact: true })
  await waitUntil(async () => ((await statsOf(1))?.asOf ?? 0) > asOf, { what: 'as_of to advance without clicks', ...SOON })

  await waitUntil(async () => (await query('SELECT count() FROM clicks FINAL')) >= sent, { what: 'all clicks in the table', ...SOON })
  expect(await query('SELECT count() FROM clicks FINAL')).toBe(sent)
  expect(await query('SELECT countIf(bot) FROM clicks FINAL')).toBe(bots)
  expect(await query("SELECT count() FROM clicks WHERE ip != ''")).toBe(0)
  await tables.command({ query: 'SYSTEM REFRESH VIEW click_days_renewal' })
  await tables.command({ query: 'SYSTEM WAIT VIEW click_days_renewal' })
  expect(await query('SELECT sum(clicks) FROM click_days FINAL')).toBe(sent)
  expect(await worker.stop()).toBe(0)
})
