import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import type { Component } from '../../../deploy/local/component.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { catalogServices } from '../../../pipelines/catalog/service.ts'
import { catalogSchemas } from '../../../schemas/catalog/topics.ts'
import { recommendationsSchemas } from '../../../schemas/recommendations/topics.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { provisionService } from '../../stack/provision.ts'
import { newKafka, newRedis, startedRegistry } from '../../stack/servers.ts'
import { startApiProcess } from '../api-process.ts'
import { supervisedWorker } from '../supervised-worker.ts'
import { startWorkerProcess } from '../worker-process.ts'
import { seedProducts } from './seed-products.ts'

/** How long a dozen processes may take to start on a busy machine. */
const READY = { timeoutMs: 90_000, intervalMs: 50 }
const TOKEN_SECONDS = 3_600

export interface InventorySystemOptions {
  readonly apiCount: number
  readonly reservationSeconds: number
  /** The products that are for sale, with the number of variants of each. */
  readonly products: readonly { readonly productId: number; readonly variants: number }[]
  /**
   * URL of a registry to use, such as the shared one. By default, a separate registry is started on the broker, so that
   * a test that stops the broker also affects the registry.
   */
  readonly registry?: string
}

export type InventorySystem = Awaited<ReturnType<typeof inventorySystem>>

/** Starts real servers, API processes, and a worker that decides stock commands and fills the views and tables. */
export async function inventorySystem({ apiCount, reservationSeconds, products, registry: given }: InventorySystemOptions) {
  const folder = guardedFolder()
  const kafka: Component = await newKafka(folder.path)
  const redis: Component = await newRedis(folder.path)
  await Promise.all([kafka.start(), redis.start()])
  const registry = given ?? (await startedRegistry(folder.path, kafka.address))
  await provisionService(kafka.address, registry, [catalogSchemas, recommendationsSchemas], catalogServices)
  await seedProducts({ kafka: kafka.address, registry }, products)
  const clickhouse = await testStack().clickhouse()
  const database = uniqueName('inventory').replaceAll('-', '_')
  const rowsOf = async (query: string) => {
    const answer = await fetch(`${clickhouse}/?database=${database}`, { method: 'POST', body: `${query} FORMAT JSON` })
    if (!answer.ok) throw new Error(await answer.text())
    return ((await answer.json()) as { data: Record<string, unknown>[] }).data
  }
  await fetch(`${clickhouse}/`, { method: 'POST', body: `CREATE DATABASE ${database}` })
  const env = {
    KAFKA_BROKERS: kafka.address,
    REDIS_URL: redis.address,
    SCHEMA_REGISTRY_URL: registry,
    CLICKHOUSE_URL: clickhouse,
    CLICKHOUSE_DATABASE: database,
    API_SERVICES: 'catalog',
    PIPELINES: 'catalog-products,catalog-inventory,catalog',
    RESERVATION_SECONDS: String(reservationSeconds),
  }
  const worker = await supervisedWorker(folder, () => startWorkerProcess(folder.path, env))
  const apis = await Promise.all(Array.from({ length: apiCount }, () => startApiProcess(folder.path, env)))
  await waitUntil(() => worker.isReady(), { what: 'the worker', ...READY })
  for (const api of apis) await waitUntil(async () => (await fetch(`${api.url}/readyz`)).ok, { what: 'the API', ...READY })
  const identity = { subject: 'shop', scope: 'internal', issuer: 'millrace', audience: 'millrace' }
  const token = await mintToken(await ensureDevelopmentKey(folder.path), { ...identity, lifetimeSeconds: TOKEN_SECONDS, now: Date.now() })
  return { folder, kafka, redis, env, worker, apis, rowsOf, token }
}
