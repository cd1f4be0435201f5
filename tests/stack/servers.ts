import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clickhouseServerProcess } from '../../deploy/local/clickhouse/component.ts'
import type { Component } from '../../deploy/local/component.ts'
import { kafkaBroker } from '../../deploy/local/kafka/broker.ts'
import { freePort } from '../../deploy/local/ports.ts'
import { redisServer } from '../../deploy/local/redis.ts'
import { schemaRegistry } from '../../deploy/local/registry/component.ts'

const HOME = process.env.MILLRACE_HOME ?? fileURLToPath(new URL('../../.millrace', import.meta.url))
/** Shares downloaded tools with `npm start`, so that a test run does not fetch the broker again. */
export const TOOLS = join(HOME, 'tools')
export const TEST_HEAP_MB = 384
/**
 * A test's broker lives for seconds. The optimizing compiler would cost a second of CPU per start and pays off only
 * later.
 */
export const TEST_JAVA_OPTIONS = ['-XX:TieredStopAtLevel=1'] as const

/** A separate broker in `folder`, not started yet. `kill`, `stop` and `start` keep its data and its port. */
export async function newKafka(folder: string, name = 'kafka'): Promise<Component> {
  return kafkaBroker({
    name,
    ports: { client: await freePort(), controller: await freePort() },
    dataDir: join(folder, name),
    runDir: join(folder, 'run'),
    logFile: join(folder, `${name}.log`),
    toolsDir: TOOLS,
    heapMb: TEST_HEAP_MB,
    javaOptions: TEST_JAVA_OPTIONS,
  })
}

/** A separate Redis in `folder`, not started yet. */
export async function newRedis(folder: string, name = 'redis'): Promise<Component> {
  return redisServer({
    name,
    port: await freePort(),
    dataDir: join(folder, name),
    runDir: join(folder, 'run'),
    logFile: join(folder, `${name}.log`),
  })
}

/** A separate schema registry, not started yet, that stores its schemas on the given broker. */
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

/** A separate embedded ClickHouse in `folder`, not started yet. */
export async function newClickhouse(folder: string, name = 'clickhouse'): Promise<Component> {
  return clickhouseServerProcess({
    name,
    port: await freePort(),
    dataDir: join(folder, name),
    runDir: join(folder, 'run'),
    logFile: join(folder, `${name}.log`),
  })
}
