import { join } from 'node:path'
import type { Component } from '../../deploy/local/component.ts'
import { API_PORT_STEP, type LocalConfig, localConfig } from '../../deploy/local/config.ts'
import { answersOk } from '../../deploy/local/health.ts'
import { openHome } from '../../deploy/local/home.ts'
import { freePort } from '../../deploy/local/ports.ts'
import { type Addresses, apiProcess, workerProcess } from '../../deploy/local/processes.ts'
import { waitUntil } from '../../deploy/local/wait.ts'
import { trendsServices } from '../../pipelines/trends/service.ts'
import { trendsSchemas } from '../../schemas/trends/topics.ts'
import { guardedFolder } from '../stack/folder.ts'
import { provisionService } from '../stack/provision.ts'
import { newClickhouse, newKafka, newRedis, newRegistry } from '../stack/servers.ts'

/**
 * Everything that the trends service needs, for one test file: real servers, worker processes and API processes. A test
 * can kill each of them.
 */
export interface System {
  readonly kafka: Component
  readonly redis: Component
  readonly clickhouse: Component
  readonly registry: Component
  readonly workers: readonly Component[]
  readonly apis: readonly Component[]
  /** Environment variables that point the project's commands to the servers of this system. */
  readonly env: Readonly<Record<string, string>>
  /** Ends all processes of the system and deletes its folder. */
  finish(): Promise<void>
}

/** Time limit for groups to form and views to catch up on a busy machine. */
const READY_TIMEOUT_MS = 90_000

export interface SystemOptions {
  readonly workers: number
  readonly apis: number
  /** Called when the servers run and the topics exist, before the first worker starts. */
  readonly beforeWorkers?: (servers: Pick<System, 'kafka' | 'registry'>) => Promise<void>
}

export async function startSystem({ workers: workerCount, apis: apiCount, beforeWorkers }: SystemOptions): Promise<System> {
  const folder = guardedFolder()
  const home = openHome(join(folder.path, 'home'))
  const [kafka, redis, clickhouse] = await Promise.all([newKafka(folder.path), newRedis(folder.path), newClickhouse(folder.path)])
  await Promise.all([kafka, redis, clickhouse].map((server) => server.start()))
  const registry = await newRegistry(folder.path, kafka.address)
  await registry.start()
  await provisionService(kafka.address, registry.address, [trendsSchemas], trendsServices)
  await beforeWorkers?.({ kafka, registry })

  // Other tests keep both cores busy, so a worker with a lower priority would hardly run.
  const config = localConfig({ MILLRACE_HOME: home.path, API_SERVICES: 'trends', PIPELINES: 'trends', WORKER_NICE: '0' })
  const addresses: Addresses = {
    kafka: kafka.address,
    redis: redis.address,
    clickhouse: clickhouse.address,
    registry: registry.address,
    clickhousePassword: undefined,
  }
  const workers: Component[] = []
  for (let slot = 0; slot < workerCount; slot++)
    workers.push(workerProcess(slot, { ...config, workerHealthPort: (await freePort()) - slot }, home, addresses))
  const apis: Component[] = []
  for (let index = 0; index < apiCount; index++)
    apis.push(apiProcess(index, { ...config, ...(await freeApiPorts(index, config)) }, home, addresses))
  const processes = [...workers, ...apis]
  await Promise.all(processes.map((process) => process.start()))
  await Promise.all(processes.map(untilReady))

  return {
    kafka,
    redis,
    clickhouse,
    registry,
    workers,
    apis,
    env: {
      KAFKA_BROKERS: kafka.address,
      REDIS_URL: redis.address,
      CLICKHOUSE_URL: clickhouse.address,
      SCHEMA_REGISTRY_URL: registry.address,
      MILLRACE_HOME: home.path,
    },
    finish: () => folder.finish(),
  }
}

/**
 * Finds free ports for one API process. Suites with several systems may run concurrently, so no process may use a
 * default port.
 */
async function freeApiPorts(
  index: number,
  { servicePorts }: LocalConfig,
): Promise<Pick<LocalConfig, 'apiPort' | 'apiOperationsPort' | 'servicePorts'>> {
  const first = async () => (await freePort()) - index * API_PORT_STEP
  const ofServices: Record<string, number> = {}
  for (const name of Object.keys(servicePorts)) ofServices[name] = await first()
  return { apiPort: await first(), apiOperationsPort: (await freePort()) - index, servicePorts: ofServices }
}

export function untilReady(process: Component): Promise<void> {
  return waitUntil(() => answersOk(process.address, '/readyz'), { what: `${process.name} ready`, timeoutMs: READY_TIMEOUT_MS })
}
