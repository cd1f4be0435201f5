import { createHash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { contentOf } from '../../stack/content-of.ts'
import { AT_FIRST_TRY, testStack } from '../../stack/index.ts'
import { type SnippetStack, snippetStack } from './stack.ts'

const SETUP_TIMEOUT_MS = 120_000
/** Time limit of the test, which takes half a minute on an idle machine. */
const TEST_TIMEOUT_MS = 150_000
/** Replaces the usual time limit for erasures, which is an hour. */
const ERASE_WITHIN_SECONDS = 10
/** How soon everything must be erased, on a busy machine. */
const GONE = { timeoutMs: 100_000, intervalMs: 1_000 }
const SOON = { timeoutMs: 40_000, intervalMs: 200 }

/** All compacted topics that contain contents of snippets, not only ids. */
const COMPACTED = ['snippet-decisions', 'snippet-texts', 'snippet-blobs', 'snippets-records-changelog', 'snippets-blobs-changelog']
const QUICKLY = { 'segment.ms': '1000', 'max.compaction.lag.ms': '1000', 'file.delete.delay.ms': '100' }
const KEPT_SHORTLY = { 'segment.ms': '1000', 'retention.ms': '2000', 'file.delete.delay.ms': '100' }
const BROKER = {
  'log.retention.check.interval.ms': 500,
  'log.initial.task.delay.ms': 500,
  'log.cleaner.backoff.ms': 500,
}
const HASH_CHARACTERS = 64
/** Number of anonymous snippets per round: enough for each of the four partitions to get some. */
const SNIPPETS_PER_ROUND = 12

let stack: SnippetStack
beforeAll(async () => {
  stack = await snippetStack({
    registry: await testStack().registry(),
    ownClickhouse: true,
    apiCount: 1,
    brokerSettings: BROKER,
    onTopics: shortenTopics,
    env: { ERASE_WITHIN_SECONDS: String(ERASE_WITHIN_SECONDS) },
  })
  await keepOldPartsShortly()
}, SETUP_TIMEOUT_MS)
afterAll(() => stack.finish(), SETUP_TIMEOUT_MS)

async function shortenTopics(brokers: string): Promise<void> {
  const transport = kafkaTransport({ brokers: [brokers], clientId: 'test' }, { runtime: systemRuntime() })
  await transport.connect()
  const short = { partitions: 4, config: QUICKLY }
  await transport.configureTopics([
    ...COMPACTED.map((name) => ({ name, ...short })),
    { name: 'snippet-commands', ...short, config: KEPT_SHORTLY },
  ])
  await transport.close()
}

/** Makes ClickHouse delete merged parts of the table after a second. By default, it keeps them for eight minutes. */
async function keepOldPartsShortly(): Promise<void> {
  await query('ALTER TABLE snippet_texts MODIFY SETTING old_parts_lifetime = 1')
}

/**
 * Returns the names of parts that were merged into others. Queries no longer read them, but ClickHouse deletes them
 * only in its next clean-up, possibly minutes later.
 */
async function mergedParts(): Promise<Set<string>> {
  const names = await query(`SELECT name FROM system.parts WHERE table = 'snippet_texts' AND NOT active`)
  return new Set(names.split('\n').filter((name) => name !== ''))
}

async function query(body: string): Promise<string> {
  const { CLICKHOUSE_URL, CLICKHOUSE_DATABASE } = stack.env
  const answer = await fetch(`${CLICKHOUSE_URL}/?database=${CLICKHOUSE_DATABASE}`, { method: 'POST', body })
  if (!answer.ok) throw new Error(await answer.text())
  return await answer.text()
}

/** Returns the folders of the servers' data, the worker's state and the blobs, keyed by name. */
function places(): Record<string, string> {
  const { path } = stack.folder
  return {
    kafka: join(path, 'kafka', 'logs'),
    rocksdb: join(path, 'state'),
    redis: join(path, 'redis'),
    clickhouse: join(path, 'clickhouse'),
    blobs: stack.blobFolder,
  }
}

/**
 * Searches the contents and paths of all files in the folders of `places` for these byte strings. Returns a description
 * of the first match in each folder, keyed by the name of the folder. Ignores hashes in Kafka, because the keys of
 * tombstones remain for a day and may be content hashes. Also ignores files in the `merged` parts of ClickHouse.
 */
function holding(needles: readonly Buffer[], merged: ReadonlySet<string> = new Set()): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [place, folder] of Object.entries(places())) {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name)
      if (!entry.isFile() || found[place] !== undefined || merged.has(basename(entry.parentPath))) continue
      const bytes = contentOf(file)
      const wanted = place === 'kafka' ? needles.filter((needle) => needle.length !== HASH_CHARACTERS) : needles
      const hit = wanted.find((needle) => bytes.includes(needle) || file.includes(needle.toString('latin1')))
      if (hit !== undefined) found[place] = `${relative(folder, file)} has ${hit.toString('latin1')}`
    }
  }
  return found
}

/** Encodes a non-negative 64-bit integer as Avro does. */
function avroLong(value: bigint): Buffer {
  const bytes: number[] = []
  for (let rest = value << 1n; ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)])
    bytes.push(Number(rest & 127n) | 128)
  }
}

/**
 * Creates anonymous snippets that the test does not check. Their records make the broker close segments, so that the
 * test does not have to wait for the ticks of the topology.
 */
async function othersCreate(): Promise<void> {
  await Promise.all(Array.from({ length: SNIPPETS_PER_ROUND }, () => stack.create({ content: `other ${randomBytes(4).toString('hex')}` })))
}

test('no part of deleted and burnt snippets remains on any disk', { ...AT_FIRST_TRY, timeout: TEST_TIMEOUT_MS }, async () => {
  const mark = randomBytes(6).toString('hex')
  const user = 7_000_000_000_000_000_000n + BigInt(`0x${mark}`)
  const author = await stack.bearer(String(user), `author-${mark}`)
  const content = `content-${mark}-${randomBytes(40).toString('hex')}`
  const secret = `secret-${mark}-${randomBytes(40).toString('hex')}`
  const shown = await stack.create({ content, title: `title-${mark}`, visibility: 'public' }, author)
  const burning = await stack.create({ content: secret, title: `burnt-${mark}`, burn_after_reads: 1 }, author)
  const hashes = [content, secret].map((text) => createHash('sha256').update(text).digest('hex'))
  const needles = [Buffer.from(mark), avroLong(user), ...hashes.map((hash) => Buffer.from(hash))]
  const all = Object.keys(places())
  await waitUntil(async () => Object.keys(holding(needles)).length === all.length, { what: 'the snippets in every place', ...SOON })

  const path = `/api/v1/pastes/${burning.body.paste_id}`
  const keyed = { 'idempotency-key': mark, 'x-forwarded-for': '10.200.0.9' }
  const read = () => stack.send('GET', path, { headers: keyed })
  const first = await read()
  expect(first.body).toMatchObject({ content: secret, title: `burnt-${mark}`, reads_left: 0 })
  expect((await read()).body).toEqual(first.body)
  expect((await stack.send('DELETE', `/api/v1/pastes/${shown.body.paste_id}`, { headers: author })).status).toBe(204)

  let found: Record<string, string> = {}
  await waitUntil(
    async () => {
      await othersCreate()
      found = holding(needles, await mergedParts())
      return Object.keys(found).length === 0
    },
    { what: 'the erasure', ...GONE },
  ).catch((error: unknown) => {
    throw new Error(`traces of the snippets are still on disk: ${JSON.stringify(found)}`, { cause: error })
  })
  expect((await read()).status).toBe(404)
  const logged = JSON.stringify([stack.apis[0].lines, stack.worker.lines])
  expect([mark, ...hashes].filter((text) => logged.includes(text))).toEqual([])
})
