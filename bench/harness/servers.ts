import { createClient } from '@clickhouse/client'
import { clickhousePassword } from '../../deploy/local/clickhouse/password.ts'
import type { Component } from '../../deploy/local/component.ts'
import { localConfig } from '../../deploy/local/config.ts'
import { type Home, openHome } from '../../deploy/local/home.ts'
import { type Addresses, apiOperationsUrl, apiProcess, clickhouseEnv, deciderProcess, workerProcess } from '../../deploy/local/processes.ts'
import { provisionTopics } from '../../deploy/local/provision.ts'
import { SERVER_NAMES, type ServerName } from '../../deploy/local/server-names.ts'
import { stackServers } from '../../deploy/local/servers.ts'
import type { AnyTopic } from '../../schemas/topic.ts'
import { ownStack } from './folder.ts'

/** The servers of one run. They contain no data at the start, unless an earlier run used the folder. */
export interface BenchServers {
  readonly home: Home
  readonly addresses: Addresses
  /** Environment variables that make processes use these servers. */
  readonly env: Readonly<Record<string, string>>
  /** Base URL of the operations port of an API started with `startApi`. */
  readonly operationsUrl: string
  readonly components: Readonly<Record<ServerName, Component>>
  /** Process id of each server; 0 for a server that was not started. */
  readonly pids: Readonly<Record<ServerName, number>>
  startApi(): Promise<Component>
  /** Starts two workers for the given services: one decides commands, the other runs everything else. */
  startWorkers(pipelines: string): Promise<Component[]>
  /** Runs a query in ClickHouse and returns the first column of the first row as a number. */
  query(sql: string): Promise<number>
  /** Runs a statement in ClickHouse. */
  execute(sql: string): Promise<void>
  stop(): Promise<void>
}

export interface ServersOptions {
  /**
   * Servers to start; by default all except the search server. If the registry is among them, all topics are created.
   */
  readonly names?: readonly ServerName[]
  /** Services of the API that `startApi` starts, separated by commas. Default: trends. */
  readonly apiServices?: string
  readonly brokerHeapMb?: number
  readonly searchHeapMb?: number
  /** Partition counts of the topics. Default: the counts for a small machine. */
  readonly partitionsOf?: (topic: AnyTopic) => number
}

/** The servers for services that store nothing in ClickHouse. */
export const WITHOUT_CLICKHOUSE: ServersOptions = { names: ['kafka', 'redis', 'registry'], brokerHeapMb: 256 }

const ALL: readonly ServerName[] = ['kafka', 'redis', 'clickhouse', 'registry']
const BROKER_HEAP_MB = 512
const SEARCH_HEAP_MB = 512

function ofEach<T>(of: (name: ServerName) => T): Record<ServerName, T> {
  return Object.fromEntries(SERVER_NAMES.map((name) => [name, of(name)])) as Record<ServerName, T>
}

/** Starts separate servers for a benchmark in `folder`, on free ports. */
export async function startServers(folder: string, options: ServersOptions = {}): Promise<BenchServers> {
  const { names = ALL, apiServices = 'trends', brokerHeapMb = BROKER_HEAP_MB, searchHeapMb = SEARCH_HEAP_MB } = options
  const heaps = { KAFKA_HEAP_MB: String(brokerHeapMb), OPENSEARCH_HEAP_MB: String(searchHeapMb) }
  const config = localConfig({ ...(await ownStack(folder)), API_SERVICES: apiServices, ...heaps })
  const home = openHome(folder)
  const servers = stackServers(config, home)
  const component = (name: ServerName) => servers[name].local as Component
  const components = ofEach(component)
  const addresses = {
    kafka: components.kafka.address,
    redis: components.redis.address,
    clickhouse: components.clickhouse.address,
    registry: components.registry.address,
    search: names.includes('search') ? components.search.address : undefined,
    clickhousePassword: clickhousePassword(home),
  }
  const clickhouse = createClient({ url: addresses.clickhouse, password: addresses.clickhousePassword })
  const started: Component[] = []

  async function up(...parts: readonly Component[]): Promise<void> {
    started.unshift(...parts)
    await Promise.all(parts.map((part) => part.start()))
  }

  async function stop(): Promise<void> {
    for (const part of started) await part.stop()
    await clickhouse.close()
  }

  try {
    await up(...names.filter((name) => name !== 'registry').map(component))
    if (names.includes('registry')) {
      await up(components.registry)
      await provisionTopics(addresses.kafka, addresses.registry, options.partitionsOf)
    }
  } catch (error) {
    await stop()
    throw error
  }
  const pidOf = (name: ServerName) => components[name].pid ?? 0
  return {
    home,
    addresses,
    env: {
      KAFKA_BROKERS: addresses.kafka,
      REDIS_URL: addresses.redis,
      CLICKHOUSE_URL: addresses.clickhouse,
      SCHEMA_REGISTRY_URL: addresses.registry,
      ...(addresses.search === undefined ? {} : { OPENSEARCH_URL: addresses.search }),
      ...clickhouseEnv(addresses.clickhousePassword),
      MILLRACE_HOME: folder,
    },
    operationsUrl: apiOperationsUrl(0, config),
    components,
    pids: ofEach(pidOf),
    async startApi() {
      const api = apiProcess(0, config, home, addresses)
      await up(api)
      return api
    },
    async startWorkers(pipelines) {
      const own = { ...config, pipelines }
      const workers = [deciderProcess(0, own, home, addresses), workerProcess(0, own, home, addresses)]
      for (const worker of workers) await up(worker)
      return workers
    },
    async query(sql) {
      const answer = await clickhouse.query({ query: sql, format: 'JSONCompactEachRow' })
      const [[value]] = await answer.json<[string]>()
      return Number(value)
    },
    async execute(sql) {
      await clickhouse.command({ query: sql })
    },
    stop,
  }
}
