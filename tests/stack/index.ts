import { randomBytes } from 'node:crypto'
import { inject, onTestFinished } from 'vitest'
import type { Component } from '../../deploy/local/component.ts'
import { type GuardedFolder, guardedFolder } from './folder.ts'
import type { StackPart } from './global-setup.ts'
import { newClickhouse, newKafka, newRedis, newRegistry } from './servers.ts'

export interface TestStack {
  /** host:port of the shared broker. Use topic and group names of your own: `uniqueName`. */
  kafka(): Promise<string>
  /** URL of the shared Redis. Use key names of your own; never FLUSHALL it. */
  redis(): Promise<string>
  /** URL of the shared ClickHouse. Use tables or databases of your own. */
  clickhouse(): Promise<string>
  /** URL of the shared schema registry, which lives on the shared broker. Use subjects of your own. */
  registry(): Promise<string>
}

/** For tests of what must be exact whatever goes wrong: one that needed a second try has failed. */
export const AT_FIRST_TRY = { retry: 0 } as const

/** The servers shared by all tests of the run; each is started when it is first asked for. */
export function testStack(): TestStack {
  const control = inject('stackControl')
  async function ask(part: StackPart): Promise<string> {
    const response = await fetch(`${control}/${part}`)
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  }
  return { kafka: () => ask('kafka'), redis: () => ask('redis'), clickhouse: () => ask('clickhouse'), registry: () => ask('registry') }
}

let privateFolder: GuardedFolder | undefined
let privateCount = 0

/** A started broker for this test alone, to be killed, stopped and started at will; gone when the test ends. */
export async function privateKafka(): Promise<Component> {
  return startPrivate(newKafka, 'kafka')
}

/** A started Redis for this test alone. */
export async function privateRedis(): Promise<Component> {
  return startPrivate(newRedis, 'redis')
}

/** A started ClickHouse for this test alone. */
export async function privateClickhouse(): Promise<Component> {
  return startPrivate(newClickhouse, 'clickhouse')
}

/** A started schema registry for this test alone, on the given broker. */
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

/** `prefix-1a2b3c4d`: for topics, groups and keys on the shared servers. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(UNIQUE_BYTES).toString('hex')}`
}
