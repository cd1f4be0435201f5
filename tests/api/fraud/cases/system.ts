import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import { ensureDevelopmentKey, mintToken } from '../../../../api/kit/auth/development-key.ts'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { registryClient } from '../../../../kafka/registry.ts'
import { fraudServices } from '../../../../pipelines/fraud/service.ts'
import { fraudSchemas, txnScored } from '../../../../schemas/fraud/topics.ts'
import type { TxnScored } from '../../../../schemas/fraud/types.ts'
import { topicProducer } from '../../../../tools/topic-producer.ts'
import { connected } from '../../../kafka/client/harness.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { testStack, uniqueName } from '../../../stack/index.ts'
import { provisionService } from '../../../stack/provision.ts'
import { newKafka, newRedis } from '../../../stack/servers.ts'
import { startApiProcess } from '../../api-process.ts'
import { startWorkerProcess } from '../../worker-process.ts'

/** How long all processes may take to start on a busy machine. */
const READY = { timeoutMs: 90_000, intervalMs: 50 }

/** Starts real servers, a worker that runs the pipelines of cases and profiles, and an API process. */
export async function casesSystem() {
  const folder = guardedFolder()
  const kafka = await newKafka(folder.path)
  const redisServer = await newRedis(folder.path)
  const [registry] = await Promise.all([testStack().registry(), kafka.start(), redisServer.start()])
  await provisionService(kafka.address, registry, [fraudSchemas], fraudServices)
  const clickhouse = await testStack().clickhouse()
  const database = uniqueName('cases').replaceAll('-', '_')
  await fetch(`${clickhouse}/`, { method: 'POST', body: `CREATE DATABASE ${database}` })
  const env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redisServer.address,
    SCHEMA_REGISTRY_URL: registry,
    CLICKHOUSE_URL: clickhouse,
    CLICKHOUSE_DATABASE: database,
    API_SERVICES: 'fraud',
    PIPELINES: 'fraud-profiles,fraud-cases',
  }
  const worker = await startWorkerProcess(folder.path, env)
  const api = await startApiProcess(folder.path, env)
  await waitUntil(() => worker.isReady(), { what: 'the worker', ...READY })
  const key = await ensureDevelopmentKey(folder.path)
  const common = { username: undefined, issuer: 'millrace', audience: 'millrace', lifetimeSeconds: 3_600, now: Date.now() }
  const token = await mintToken(key, { ...common, subject: 'ann', scope: 'fraud:analyst' })

  const transport = await connected(kafka.address)
  const producer = await topicProducer(txnScored)(transport, registryClient({ url: registry }))
  const redis = new Redis(redisServer.address)
  onTestFinished(async () => {
    redis.disconnect()
    await producer.close()
    await transport.close()
  })

  return {
    redis,
    /** Logs events as the API does. */
    async log(...events: readonly TxnScored[]): Promise<void> {
      for (const event of events) producer.send(event.request.payer.user_id, event, event.scored_at)
      await producer.flush()
    },
    async ask(method: string, path: string, body?: unknown) {
      const response = await fetch(`${api.url}/api/v1/${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
        body: body === undefined ? undefined : JSON.stringify(body),
      })
      // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of bodies
      return { status: response.status, body: (await response.json()) as any }
    },
    async rowsOf(query: string): Promise<Record<string, unknown>[]> {
      const answer = await fetch(`${clickhouse}/?database=${database}`, { method: 'POST', body: `${query} FORMAT JSON` })
      if (!answer.ok) throw new Error(await answer.text())
      return ((await answer.json()) as { data: Record<string, unknown>[] }).data
    },
  }
}
