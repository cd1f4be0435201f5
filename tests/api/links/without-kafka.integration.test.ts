import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { linksService } from '../../../api/links/service.ts'
import { freePort } from '../../../deploy/local/ports.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { linkDecisions } from '../../../schemas/links/topics.ts'
import { LINKS_VIEW, linksView } from '../../../state/views/links/links.ts'
import { caughtUpKey } from '../../../state/views/view.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { privateRedis } from '../../stack/index.ts'
import { startApiProcess } from '../api-process.ts'
import { visit } from './system.ts'

const SOON = { timeout: 30_000, interval: 50 }
const CODE = 'abc1234'
const LINK = {
  short_code: CODE,
  long_url: 'https://example.com/',
  user_id: null,
  domain: 'sho.rt',
  expires_at: null,
  expired_url: null,
  created_at: 1_800_000_000_000,
  is_active: true,
  is_blocked: false,
  is_expired: false,
  is_deleted: false,
  analytics: true,
}

/**
 * Starts a Redis with data as sinks write it, and an API that cannot reach Kafka.
 * @param partitionsKept whether Redis also has the partition counts that an earlier API has stored
 */
async function apiWithoutKafka(partitionsKept: boolean) {
  const folder = guardedFolder()
  onTestFinished(() => folder.finish())
  const { address } = await privateRedis()
  const redis = new Redis(address)
  onTestFinished(() => redis.disconnect())
  const { partitions } = linkDecisions
  const partition = partitionFor(Buffer.from(CODE), partitions)
  for (const operation of linksView.operationsFor(partition, CODE, LINK))
    if (operation.op === 'set') await redis.set(operation.key, operation.value)
  for (let index = 0; index < partitions; index++) await redis.set(caughtUpKey(LINKS_VIEW, index), '1')
  const counts = Object.fromEntries(linksService.topics.map((topic) => [topic.name, topic.partitions]))
  if (partitionsKept) await redis.set('api:partitions', JSON.stringify(counts))
  const nowhere = `127.0.0.1:${await freePort()}`
  return await startApiProcess(folder.path, {
    KAFKA_BROKERS: nowhere,
    SCHEMA_REGISTRY_URL: `http://${nowhere}`,
    CLICKHOUSE_URL: `http://${nowhere}`,
    REDIS_URL: address,
    API_SERVICES: 'links',
    SHORT_DOMAINS: 'sho.rt',
  })
}

test('an API that starts without Kafka can redirect visitors if an earlier API has stored the partition counts', async () => {
  const api = await apiWithoutKafka(true)
  await expect.poll(async () => await visit(api, CODE), SOON).toMatchObject({ status: 302, location: 'https://example.com/' })
  expect((await visit(api, 'missing')).status).toBe(404)
})

test('without Kafka and without stored partition counts, a visit gets 503, never a wrong 404', async () => {
  const api = await apiWithoutKafka(false)
  await expect.poll(async () => api.lines.some(({ event }) => event === 'redis_ready'), SOON).toBe(true)
  expect((await visit(api, CODE)).status).toBe(503)
})
