import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@clickhouse/client'
import type { Component } from '../../deploy/local/component.ts'
import { localConfig } from '../../deploy/local/config.ts'
import { type Home, openHome } from '../../deploy/local/home.ts'
import { freePort } from '../../deploy/local/ports.ts'
import { type Addresses, apiProcess, deciderProcess, workerProcess } from '../../deploy/local/processes.ts'
import { provisionTopics } from '../../deploy/local/provision.ts'
import { type ServerName, stackServers } from '../../deploy/local/servers.ts'

/** Servers of one run, empty at the start. */
export interface BenchServers {
  readonly home: Home
  readonly addresses: Addresses
  readonly pids: Readonly<Record<ServerName, number>>
  startApi(): Promise<Component>
  /** One that decides commands and one for the rest, of the services given. */
  startWorkers(pipelines: string): Promise<Component[]>
  /** First column of the first row. */
  query(sql: string): Promise<number>
  stop(): Promise<void>
}

const BROKER_HEAP_MB = 512
const PORTS = [
  'KAFKA_PORT',
  'KAFKA_CONTROLLER_PORT',
  'REDIS_PORT',
  'CLICKHOUSE_PORT',
  'SCHEMA_REGISTRY_PORT',
  'API_PORT',
  'WORKER_HEALTH_PORT',
  'DECIDER_HEALTH_PORT',
  'SHORT_PORT',
]

/** A broker, Redis, ClickHouse and registry of their own in `folder`, on free ports, with all topics. */
export async function startServers(folder: string, apiServices: string = 'trends'): Promise<BenchServers> {
  const ports = Object.fromEntries(await Promise.all(PORTS.map(async (name) => [name, String(await freePort())])))
  const config = localConfig({ ...ports, MILLRACE_HOME: folder, API_SERVICES: apiServices, KAFKA_HEAP_MB: String(BROKER_HEAP_MB) })
  mkdirSync(folder, { recursive: true })
  // What npm start has downloaded already is not fetched again.
  const tools = join(localConfig().home, 'tools')
  mkdirSync(tools, { recursive: true })
  symlinkSync(tools, join(folder, 'tools'))
  const home = openHome(folder)
  const servers = stackServers(config, home)
  const started: Component[] = []

  async function up(names: readonly ServerName[]): Promise<void> {
    await Promise.all(
      names.map(async (name) => {
        const { local } = servers[name]
        if (local === undefined) throw new Error(`${name} was not to be given`)
        started.unshift(local)
        await local.start()
      }),
    )
  }

  async function stop(): Promise<void> {
    for (const component of started) await component.stop()
    await clickhouse.close()
  }

  const addresses = {
    kafka: servers.kafka.address,
    redis: servers.redis.address,
    clickhouse: servers.clickhouse.address,
    registry: servers.registry.address,
  }
  const clickhouse = createClient({ url: addresses.clickhouse })
  try {
    await up(['kafka', 'redis', 'clickhouse'])
    await up(['registry'])
    await provisionTopics(addresses.kafka, addresses.registry)
  } catch (error) {
    await stop()
    throw error
  }
  const pidOf = (name: ServerName) => servers[name].local?.pid ?? 0
  return {
    home,
    addresses,
    pids: { kafka: pidOf('kafka'), redis: pidOf('redis'), clickhouse: pidOf('clickhouse'), registry: pidOf('registry') },
    async startApi() {
      const api = apiProcess(0, config, home, addresses)
      started.unshift(api)
      await api.start()
      return api
    },
    async startWorkers(pipelines) {
      const own = { ...config, pipelines }
      const workers = [deciderProcess(0, own, home, addresses), workerProcess(0, own, home, addresses)]
      for (const worker of workers) {
        started.unshift(worker)
        await worker.start()
      }
      return workers
    },
    async query(sql) {
      const answer = await clickhouse.query({ query: sql, format: 'JSONCompactEachRow' })
      const [[value]] = await answer.json<[string]>()
      return Number(value)
    },
    stop,
  }
}
