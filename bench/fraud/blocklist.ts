import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { type OpenBlocklist, openBlocklist } from '../../api/fraud/blocklist/in-force.ts'
import { ensureDevelopmentKey, mintToken } from '../../api/kit/auth/development-key.ts'
import { apiTransport } from '../../api/kit/kafka.ts'
import { createLogger } from '../../api/kit/logging.ts'
import { packedTableOpener } from '../../api/kit/packed/open.ts'
import type { PackedTable } from '../../api/kit/packed/packed-table.ts'
import { registryClient } from '../../kafka/registry.ts'
import type { Transport } from '../../kafka/transport.ts'
import { blocklistKey, entryIdOf } from '../../schemas/fraud/blocklist/entity.ts'
import { fraudBlocklist } from '../../schemas/fraud/blocklist/topics.ts'
import type { FraudBlocklistEntry } from '../../schemas/fraud/types.ts'
import { topicProducer } from '../../tools/topic-producer.ts'
import { startApiProcess, startWorkerProcess } from '../harness/node-process.ts'
import { type BenchServers, startServers, WITHOUT_CLICKHOUSE } from '../harness/servers.ts'
import { median, quantile, row } from '../harness/table.ts'

export interface BlocklistLoad {
  /** Number of entities that are blocked and then unblocked. */
  readonly changes: number
  /** Number of entries in the large list. */
  readonly entries: number
}

const READERS = 3
const LOOK_EVERY_MS = 1
const READY_TIMEOUT_MS = 60_000
const MIB = 1_048_576
const MS_PER_SECOND = 1_000
const US_PER_SECOND = 1_000_000
const ID_DIGITS = 16
const ANALYST = { subject: 'bench', scope: 'fraud:analyst', username: undefined, issuer: 'millrace', audience: 'millrace' }
const TOKEN_SECONDS = 3_600

const log = createLogger('silent')

/**
 * Measures how long three other instances take to enforce a change to the blocklist, and the memory and startup time
 * of a large list.
 */
export async function blocklistTable(folder: string, load: BlocklistLoad, say: (text: string) => void): Promise<void> {
  const servers = await startServers(folder, WITHOUT_CLICKHOUSE)
  try {
    await enforcement(servers, load.changes, say)
    await largeList(servers, load.entries, say)
  } finally {
    await servers.stop()
  }
}

/** The blocklist as one API instance reads it, with the table that stores its entries. */
interface Reader {
  readonly blocklist: OpenBlocklist
  readonly table: Pick<PackedTable<unknown, unknown>, 'size' | 'bytes'>
  close(): Promise<void>
}

/** Opens the blocklist with a separate transport, and waits until the whole list has been read. */
async function openReader({ addresses }: BenchServers, folder: string): Promise<Reader> {
  const transport = apiTransport({ brokers: [addresses.kafka], log })
  const registry = registryClient({ url: addresses.registry })
  const clocks = { now: Date.now, monotonic: () => performance.now() }
  const open = packedTableOpener({ transport, registry, folder, metrics: new Registry(), log, ...clocks })
  let table: Reader['table'] | undefined
  const blocklist = await openBlocklist({
    async packedTables(topic, packing) {
      const opened = await open(topic, packing)
      table = opened
      return opened
    },
  })
  await until(async () => (await blocklist.probes[0].check()) === undefined)
  async function close(): Promise<void> {
    await blocklist.close()
    await transport.close()
  }
  return { blocklist, table: table!, close }
}

async function enforcement(servers: BenchServers, changes: number, say: (text: string) => void): Promise<void> {
  const { env } = servers
  const worker = await startWorkerProcess([], { ...env, PIPELINES: 'fraud-blocklist' })
  const api = await startApiProcess([], { ...env, API_SERVICES: 'fraud', API_PORT: '0' })
  const readers = await Promise.all(
    Array.from({ length: READERS }, (_, index) => openReader(servers, join(env.MILLRACE_HOME, `reader-${index}`))),
  )
  const authorization = `Bearer ${await mintToken(await ensureDevelopmentKey(env.MILLRACE_HOME), { ...ANALYST, lifetimeSeconds: TOKEN_SECONDS, now: Date.now() })}`

  function send(method: string, path: string, body?: object): Promise<Response> {
    const headers = { authorization, 'content-type': 'application/json' }
    return fetch(`${api.line.url}/api/v1/blocklist${path}`, { method, headers, body: body && JSON.stringify(body) })
  }

  const times: Record<'answer' | 'blocked' | 'unblocked' | 'bulk', number[]> = { answer: [], blocked: [], unblocked: [], bulk: [] }
  const allHave = (value: string, isBlocked: boolean) =>
    until(async () => readers.every(({ blocklist }) => blocklist.has({ entity_type: 'USER', entity_value: value }) === isBlocked))
  try {
    await until(async () => (await send('GET', '')).ok)
    for (let index = 0; index < changes; index++) {
      const value = `u${index}`
      const sentAt = performance.now()
      const { entry_id } = await bodyOf<{ entry_id: string }>(
        send('POST', '', { entity_type: 'USER', entity_value: value, reason: 'bench' }),
      )
      const answeredAt = performance.now()
      times.answer.push(answeredAt - sentAt)
      await allHave(value, true)
      times.blocked.push(performance.now() - answeredAt)
      await send('DELETE', `/${entry_id}`)
      const removedAt = performance.now()
      await allHave(value, false)
      times.unblocked.push(performance.now() - removedAt)
    }
    const entries = Array.from({ length: 1_000 }, (_, index) => ({ entity_type: 'USER', entity_value: `b${index}`, reason: 'bench' }))
    const sentAt = performance.now()
    const { results } = await bodyOf<{ results: { status: string }[] }>(send('POST', '/bulk', { entries }))
    times.bulk.push(performance.now() - sentAt)
    if (results.some(({ status }) => status !== 'created')) throw new Error('an entry of the bulk request was not created')
  } finally {
    await Promise.all(readers.map(({ close }) => close()))
    await api.stop()
    await worker.stop()
  }
  say(
    `\n### Blocklist: ${changes} entities were blocked and then unblocked, and ${READERS} other instances enforced each change (target: P99 of 1 s from the response)`,
  )
  say(`\n${row(['ms', 'median', 'P99', 'max'])}\n${row(['---', '--:', '--:', '--:'])}`)
  say(row(['blocking: request → response', ...summary(times.answer)]))
  say(row(['blocked: response → enforced by all', ...summary(times.blocked)]))
  say(row(['removed: response → no longer enforced by any', ...summary(times.unblocked)]))
  say(row([`a bulk of 1,000: request → response`, ...summary(times.bulk)]))
}

async function largeList(servers: BenchServers, entries: number, say: (text: string) => void): Promise<void> {
  const transport = apiTransport({ brokers: [servers.addresses.kafka], log })
  await writeEntries(transport, servers.addresses.registry, entries)
  await transport.close()
  const folder = join(servers.env.MILLRACE_HOME, 'large')
  const fromTopic = stopwatch()
  const first = await openReader(servers, folder)
  const read = fromTopic()
  const { size, bytes } = first.table
  await first.close()
  const fromSnapshot = stopwatch()
  const again = await openReader(servers, folder)
  const restored = fromSnapshot()
  await again.close()
  const map = mapBytes(entries)
  say(`\n### Blocklist of ${size.toLocaleString('en')} entries (targets: 64 MiB, ready in 5 s)`)
  say(`\n${row(['', 'memory', 'ready after', 'CPU time'])}\n${row(['---', '--:', '--:', '--:'])}`)
  say(row(['the table, from the topic', `${(bytes / MIB).toFixed(1)} MiB`, ...read]))
  say(row(['the table, from its snapshot', 'the same', ...restored]))
  say(row(['a Map of keys and times', `${(map / MIB).toFixed(1)} MiB`, '', '']))
}

/** Writes entries in the same form as the topology. Half of them are permanent. */
async function writeEntries(transport: Transport, registry: string, entries: number): Promise<void> {
  const now = Date.now()
  const producer = await topicProducer(fraudBlocklist)(transport, registryClient({ url: registry }))
  for (let index = 0; index < entries; index++) {
    const entry = entryOf(index, now)
    producer.send(blocklistKey(entry), entry, now)
    if (producer.isFull) await producer.flush()
  }
  await producer.flush()
  await producer.close()
}

function entryOf(index: number, now: number): FraudBlocklistEntry {
  const entity = { entity_type: 'DEVICE', entity_value: index.toString(16).padStart(ID_DIGITS, '0') } as const
  const ttl_hours = index % 2 === 0 ? null : 24
  return {
    ...entity,
    entry_id: entryIdOf(entity),
    masked_value: null,
    reason: 'chargebacks in the last days',
    blocked_by: 'analyst-7',
    ttl_hours,
    created_at: now,
    expires_at: ttl_hours === null ? null : now + ttl_hours * 3_600_000,
  }
}

/**
 * Returns the heap memory of a Map with this many entries. It is measured after a garbage collection if Node runs with
 * `--expose-gc`, and includes garbage otherwise.
 */
function mapBytes(entries: number): number {
  const { gc } = globalThis
  gc?.()
  const before = process.memoryUsage().heapUsed
  const map = new Map<string, number | null>()
  const now = Date.now()
  for (let index = 0; index < entries; index++) {
    const { entity_type, entity_value, expires_at } = entryOf(index, now)
    // The copy makes the key a flat string, like a key read from a record. Without the copy, V8 would store the key as
    // a concatenation of two strings.
    map.set(Buffer.from(`${entity_type}:${entity_value}`).toString('latin1'), expires_at)
  }
  gc?.()
  const bytes = process.memoryUsage().heapUsed - before
  if (map.size !== entries) throw new Error('the Map lacks entries')
  return bytes
}

/**
 * Starts a stopwatch.
 * @returns a function that returns the wall-clock time and this process's CPU time since the start
 */
function stopwatch(): () => readonly [string, string] {
  const startedAt = performance.now()
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return [`${((performance.now() - startedAt) / MS_PER_SECOND).toFixed(1)} s`, `${((user + system) / US_PER_SECOND).toFixed(1)} s`]
  }
}

async function bodyOf<T>(sent: Promise<Response>): Promise<T> {
  const answer = await sent
  if (!answer.ok) throw new Error(`status ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as T
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + READY_TIMEOUT_MS
  while (!(await isTrue())) {
    if (performance.now() > end)
      throw new Error(`the blocklist was not ready, or a change to it was not enforced, within ${READY_TIMEOUT_MS} ms`)
    await delay(LOOK_EVERY_MS)
  }
}

function summary(times: readonly number[]): string[] {
  const sorted = times.toSorted((one, other) => one - other)
  return [median(sorted), quantile(sorted, 0.99), sorted.at(-1)!].map((value) => value.toFixed(0))
}
