import { randomBytes } from 'node:crypto'
import { inject, onTestFinished } from 'vitest'
import type { Component } from '../../deploy/local/component.ts'
import { type GuardedFolder, guardedFolder } from './folder.ts'
import type { StackPart } from './global-setup.ts'
import { newClickhouse, newKafka, newRedis, newRegistry, newSearch } from './servers.ts'

export interface TestStack {
  /** Returns host:port of the shared broker. Use unique topic and group names: `uniqueName`. */
  kafka(): Promise<string>
  /** Returns the URL of the shared Redis. Use unique key names, and never FLUSHALL it. */
  redis(): Promise<string>
  /** Returns the URL of the shared ClickHouse. Use separate tables or databases. */
  clickhouse(): Promise<string>
  /** Returns the URL of the shared schema registry on the shared broker. Use unique subjects. */
  registry(): Promise<string>
  /** Returns the URL of the shared search server. Use unique index names. */
  search(): Promise<string>
}

/** Disables retries, for tests of guarantees that must hold under any fault. */
export const AT_FIRST_TRY = { retry: 0 } as const

/** Returns the servers that the tests of the project share. Each server starts when it is first requested. */
export function testStack(): TestStack {
  const control = inject('stackControl')
  async function ask(part: StackPart): Promise<string> {
    const response = await fetch(`${control}/${part}`)
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  }
  return {
    kafka: () => ask('kafka'),
    redis: () => ask('redis'),
    clickhouse: () => ask('clickhouse'),
    registry: () => ask('registry'),
    search: () => ask('search'),
  }
}

let privateFolder: GuardedFolder | undefined
let privateCount = 0

/**
 * Starts a broker for this test alone. The test may kill, stop and restart the broker. The broker is killed when the
 * test ends.
 */
export async function privateKafka(): Promise<Component> {
  return startPrivate(newKafka, 'kafka')
}

/** Starts a Redis for this test alone. */
export async function privateRedis(): Promise<Component> {
  return startPrivate(newRedis, 'redis')
}

/** Starts a ClickHouse for this test alone. */
export async function privateClickhouse(): Promise<Component> {
  return startPrivate(newClickhouse, 'clickhouse')
}

/** Starts a search server for this test alone. */
export async function privateSearch(): Promise<Component> {
  return startPrivate(newSearch, 'search')
}

/** Starts a schema registry for this test alone, on the given broker. */
export async function privateRegistry(brokers: string): Promise<Component> {
  return startPrivate((folder, name) => newRegistry(folder, brokers, name), 'registry')
}

async function startPrivate(create: (folder: string, name: string) => Promise<Component>, kind: string): Promise<Component> {
  privateFolder ??= guardedFolder()
  const component = await create(privateFolder.path, `${kind}-${++privateCount}`)
  onTestFinished(() => component.kill(), PRIVATE_STOP_TIMEOUT_MS)
  await component.start()
  return component
}

const PRIVATE_STOP_TIMEOUT_MS = 30_000
const UNIQUE_BYTES = 4

/** Returns a unique name such as `prefix-1a2b3c4d`, for topics, groups and keys on the shared servers. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(UNIQUE_BYTES).toString('hex')}`
}
