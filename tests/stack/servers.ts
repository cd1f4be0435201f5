import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clickhouseServerProcess } from '../../deploy/local/clickhouse/component.ts'
import type { Component } from '../../deploy/local/component.ts'
import { kafkaBroker } from '../../deploy/local/kafka/broker.ts'
import type { BrokerSettings } from '../../deploy/local/kafka/settings.ts'
import { freePort } from '../../deploy/local/ports.ts'
import { redisServer } from '../../deploy/local/redis.ts'
import { schemaRegistry } from '../../deploy/local/registry/component.ts'
import { searchServer } from '../../deploy/local/search/server.ts'
import { copyFormattedStorage } from './formatted-storage.ts'

const HOME = process.env.MILLRACE_HOME ?? fileURLToPath(new URL('../../.millrace', import.meta.url))
/**
 * Folder of downloaded tools. It is the same folder as for `npm start`, so that a test run does not download the broker
 * again.
 */
export const TOOLS = join(HOME, 'tools')
export const TEST_HEAP_MB = 384
/**
 * Disables the JVM's optimising compiler. The compiler costs a second of CPU time per start and pays off only later,
 * but a broker in a test runs only for seconds.
 */
export const TEST_JAVA_OPTIONS = ['-XX:TieredStopAtLevel=1'] as const

/** Creates a separate broker in `folder` without starting it. `kill`, `stop` and `start` keep its data and its port. */
export async function newKafka(folder: string, name = 'kafka', settings: BrokerSettings = {}): Promise<Component> {
  const dataDir = join(folder, name)
  // Custom settings might change how the folder must be formatted, so a broker with such settings formats its own
  // folder.
  if (Object.keys(settings).length === 0 && !existsSync(dataDir)) await copyFormattedStorage(TOOLS, dataDir)
  return kafkaBroker({
    name,
    ports: { client: await freePort(), controller: await freePort() },
    dataDir,
    runDir: join(folder, 'run'),
    logFile: join(folder, `${name}.log`),
    toolsDir: TOOLS,
    heapMb: TEST_HEAP_MB,
    javaOptions: TEST_JAVA_OPTIONS,
    settings,
  })
}

/** Creates a separate Redis in `folder` without starting it. */
export async function newRedis(folder: string, name = 'redis'): Promise<Component> {
  return redisServer({
    name,
    port: await freePort(),
    dataDir: join(folder, name),
    runDir: join(folder, 'run'),
    logFile: join(folder, `${name}.log`),
  })
}

/** Creates a separate schema registry without starting it. It stores its schemas on the given broker. */
export async function newRegistry(folder: string, brokers: string, name = 'registry'): Promise<Component> {
  return schemaRegistry({
    name,
    port: await freePort(),
    brokers,
    dataDir: join(folder, name),
    runDir: join(folder, 'run'),
    logFile: join(folder, `${name}.log`),
  })
}

/**
 * Starts a separate schema registry on the given broker.
 * @returns its URL
 */
export async function startedRegistry(folder: string, brokers: string): Promise<string> {
  const registry = await newRegistry(folder, brokers)
  await registry.start()
  return registry.address
}

/**
 * Creates a separate search server in `folder` without starting it.
 * @param prefix a program and its arguments, to which the server's command line is appended
 */
export async function newSearch(folder: string, name = 'search', prefix: readonly string[] = []): Promise<Component> {
  return searchServer({
    name,
    port: await freePort(),
    dataDir: join(folder, name),
    runDir: join(folder, 'run'),
    logFile: join(folder, `${name}.log`),
    toolsDir: TOOLS,
    heapMb: TEST_HEAP_MB,
    javaOptions: TEST_JAVA_OPTIONS,
    prefix,
  })
}

/** Creates a separate embedded ClickHouse in `folder` without starting it. */
export async function newClickhouse(folder: string, name = 'clickhouse'): Promise<Component> {
  return clickhouseServerProcess({
    name,
    port: await freePort(),
    dataDir: join(folder, name),
    runDir: join(folder, 'run'),
    logFile: join(folder, `${name}.log`),
  })
}
