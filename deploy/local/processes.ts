import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { API_HEAP_ENV, API_HEAP_FLAGS } from '../../api/heap-flags.ts'
import { BUFFER_HEAP_ENV, BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'
import { CLICKHOUSE_USER } from './clickhouse/password.ts'
import type { Component } from './component.ts'
import type { LocalConfig } from './config.ts'
import { API_PORT_STEP, inheritedEnv } from './config.ts'
import { answersOk } from './health.ts'
import type { Home } from './home.ts'
import { LOOPBACK } from './ports.ts'
import { serverComponent } from './server.ts'
import { WORKER_NICE } from './worker-nice.ts'

/** Addresses of the servers, as passed to the processes of Millrace. */
export interface Addresses {
  readonly kafka: string
  readonly redis: string
  readonly clickhouse: string
  readonly registry: string
  /** Address of the search server; undefined if no running service needs it. */
  readonly search?: string
  /** Password of a local ClickHouse; undefined for an external one, whose password the user sets. */
  readonly clickhousePassword: string | undefined
}

/**
 * Time limit for starting. A process that ends is noticed at once, so this limit matters only for a process that hangs.
 * The limit is long, because a worker may have a low priority. It may then start slowly while other programs keep the
 * cores busy.
 */
const START_TIMEOUT_MS = 180_000
/**
 * Time limit of a graceful stop. In this time, a worker finishes its batch and leaves its groups, and an API drains its
 * requests.
 */
const STOP_GRACE_MS = 15_000

/**
 * Number of libuv threads of an API process. An fsync of an upload blocks one thread for up to tens of milliseconds,
 * and reads of other requests must not wait for that thread.
 */
const API_THREADS = 16

const WORKER_MAIN = fileURLToPath(new URL('../../pipelines/main.ts', import.meta.url))
const DEMO_MAIN = fileURLToPath(new URL('../../tools/demo/main.ts', import.meta.url))
const API_MAIN = fileURLToPath(new URL('../../api/main.ts', import.meta.url))

/**
 * Describes one worker slot that runs all work except deciding commands. The slot's state folder gives the worker the
 * same identity at every start.
 */
export function workerProcess(slot: number, config: LocalConfig, home: Home, servers: Addresses): Component {
  const place = { name: `worker-${slot}`, port: config.workerHealthPort + slot, portOption: 'WORKER_HEALTH_PORT', stateDir: home.state }
  return pipelinesProcess('bulk', slot, place, config, home, servers)
}

/**
 * Describes one worker slot that only decides commands. Clients that wait for a decision then do not have to wait for
 * other work.
 */
export function deciderProcess(slot: number, config: LocalConfig, home: Home, servers: Addresses): Component {
  const stateDir = join(home.state, 'deciding')
  const place = { name: `decider-${slot}`, port: config.deciderHealthPort + slot, portOption: 'DECIDER_HEALTH_PORT', stateDir }
  return pipelinesProcess('deciding', slot, place, config, home, servers)
}

interface PipelinesPlace extends Pick<NodeProcessOptions, 'name' | 'port' | 'portOption'> {
  readonly stateDir: string
}

function pipelinesProcess(
  role: 'bulk' | 'deciding',
  slot: number,
  { stateDir, ...place }: PipelinesPlace,
  config: LocalConfig,
  home: Home,
  servers: Addresses,
): Component {
  return nodeProcess({
    ...place,
    nodeFlags: BUFFER_HEAP_FLAGS,
    main: WORKER_MAIN,
    dataDir: join(stateDir, `worker-${slot}`),
    home,
    env: {
      ...serverEnv(servers),
      ...(config.pipelines === undefined ? {} : { PIPELINES: config.pipelines }),
      ...BUFFER_HEAP_ENV,
      WORKER_ROLE: role,
      WORKER_SLOT: String(slot),
      WORKER_NICE: String((role === 'bulk' ? config.workerNice : undefined) ?? WORKER_NICE[role]),
      // The worker appends the number of its slot to this path.
      STATE_DIR: stateDir,
      HEALTH_PORT: String(place.port),
    },
  })
}

function operationsPort(index: number, config: LocalConfig): number {
  return config.apiOperationsPort + index
}

/** Returns the base URL at which an API process serves its metrics and reports why it is not ready. */
export function apiOperationsUrl(index: number, config: LocalConfig): string {
  return `http://${LOOPBACK}:${operationsPort(index, config)}`
}

export function apiProcess(index: number, config: LocalConfig, home: Home, servers: Addresses): Component {
  const port = config.apiPort + index * API_PORT_STEP
  const tlsPorts: Record<string, number> =
    config.apiTlsPort === undefined ? {} : { API_TLS_PORT: config.apiTlsPort + index * API_PORT_STEP }
  const servicePorts = Object.fromEntries(Object.entries(config.servicePorts).map(([name, first]) => [name, first + index * API_PORT_STEP]))
  return nodeProcess({
    name: `api-${index}`,
    port,
    portOption: 'API_PORT',
    otherPorts: { API_OPERATIONS_PORT: operationsPort(index, config), ...tlsPorts, ...servicePorts },
    nodeFlags: API_HEAP_FLAGS,
    main: API_MAIN,
    dataDir: join(home.data, `api-${index}`),
    home,
    env: {
      ...serverEnv(servers),
      ...(config.apiServices === undefined ? {} : { API_SERVICES: config.apiServices }),
      API_PORT: String(port),
      OPERATIONS_PORT: String(operationsPort(index, config)),
      UV_THREADPOOL_SIZE: String(API_THREADS),
      ...API_HEAP_ENV,
      ...config.serviceEnv,
      ...Object.fromEntries(Object.entries({ ...tlsPorts, ...servicePorts }).map(([name, number]) => [name, String(number)])),
      MILLRACE_HOME: home.path,
      ...(config.publicUrl === undefined ? { PUBLIC_URL: `http://localhost:${config.apiPort}` } : {}),
    },
  })
}

/** Describes the process that sends the demo's streams. */
export function demoProcess(config: LocalConfig, home: Home, servers: Addresses): Component {
  const env = { ...serverEnv(servers), API_URL: `http://${LOOPBACK}:${config.apiPort}`, MILLRACE_HOME: home.path }
  return serverComponent({
    name: 'demo',
    address: '',
    ports: {},
    dataDir: join(home.data, 'demo'),
    logFile: join(home.logs, 'demo.log'),
    runDir: home.run,
    startTimeoutMs: START_TIMEOUT_MS,
    stopGraceMs: STOP_GRACE_MS,
    reuse: false,
    prepare: async () => ({ command: process.execPath, args: [DEMO_MAIN], env }),
    // The process has no listener, so it counts as healthy while it runs.
    isHealthy: async () => true,
  })
}

function serverEnv(servers: Addresses): Record<string, string> {
  return {
    KAFKA_BROKERS: servers.kafka,
    REDIS_URL: servers.redis,
    CLICKHOUSE_URL: servers.clickhouse,
    SCHEMA_REGISTRY_URL: servers.registry,
    ...(servers.search === undefined ? {} : { OPENSEARCH_URL: servers.search }),
    ...clickhouseEnv(servers.clickhousePassword),
  }
}

/** Returns the settings that give a process access to a local ClickHouse. */
export function clickhouseEnv(password: string | undefined): Record<string, string> {
  return password === undefined ? {} : { CLICKHOUSE_USER, CLICKHOUSE_PASSWORD: password }
}

interface NodeProcessOptions {
  readonly name: string
  readonly port: number
  readonly portOption: string
  readonly otherPorts?: Readonly<Record<string, number>>
  readonly nodeFlags?: readonly string[]
  readonly main: string
  readonly dataDir: string
  readonly home: Home
  readonly env: Readonly<Record<string, string>>
}

/**
 * Describes a Node process of Millrace. Such a process is never reused from an earlier run, because the code or
 * settings may have changed.
 */
function nodeProcess(options: NodeProcessOptions): Component {
  const { name, port, portOption, otherPorts = {}, nodeFlags = [], main, dataDir, home, env } = options
  const address = `http://${LOOPBACK}:${port}`
  // Compilation takes a third of the CPU time of a start or restart, so compiled code is cached.
  const compileCache = { NODE_COMPILE_CACHE: inheritedEnv().NODE_COMPILE_CACHE ?? join(home.path, 'compile-cache') }
  return serverComponent({
    name,
    address,
    ports: { [portOption]: port, ...otherPorts },
    dataDir,
    logFile: join(home.logs, `${name}.log`),
    runDir: home.run,
    startTimeoutMs: START_TIMEOUT_MS,
    stopGraceMs: STOP_GRACE_MS,
    reuse: false,
    prepare: async () => ({ command: process.execPath, args: [...nodeFlags, main], env: { ...compileCache, ...env } }),
    // This only checks whether the process is alive, because a restore may take a long time. `npm run status` shows
    // whether the process is ready.
    isHealthy: () => answersOk(address, '/livez'),
  })
}
