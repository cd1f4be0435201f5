/**
 * # 12. Running
 *
 * So far everything ran in memory. This chapter runs a topology on a real Kafka with its state in a real RocksDB, and looks at it from outside, as
 * those who operate it will. It needs a broker and a registry, which the test stack starts:
 *
 *     npx vitest run --project integration docs/guide/12
 *
 * You need chapters 1 and 2.
 */

import { join } from 'node:path'
import { Producer, stringSerializers } from '@platformatic/kafka'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import type { Transport } from '../../kafka/transport.ts'
import {
  avroValue,
  createWorker,
  type Host,
  keyedStore,
  memberIdentity,
  rawValue,
  startHost,
  systemRuntime,
  type Topic,
  topology,
  utf8,
  workerRunner,
} from '../../pipelines/engine/index.ts'
import { openRocksdbBackend } from '../../state/stores/rocksdb-backend.ts'
import { guardedFolder } from '../../tests/stack/folder.ts'
import { testStack, uniqueName } from '../../tests/stack/index.ts'

/* The broker is shared with other tests, so every name is made unique. */
const name = uniqueName('station-counts')
/** Key: the station. Value: the bike that was returned. */
const returns: Topic<string, string> = { name: uniqueName('returns'), key: utf8, value: rawValue(utf8), partitions: 2 }
/** Key: the station. Value: returns so far, as text. */
const counts: Topic<string, string> = { name: uniqueName('counts'), key: utf8, value: rawValue(utf8), partitions: 1 }

const stationCounts = topology(name, (t) => {
  const totals = keyedStore('totals', { key: utf8, value: avroValue<number>('int') })
  t.source(returns).process(
    'count',
    { reads: (_bike, station) => totals.prefetch(station), stores: [totals], emits: [counts] },
    function countReturn(_bike, ctx) {
      const total = (totals.get(ctx.key) ?? 0) + 1
      totals.put(ctx.key, total)
      ctx.emit(counts, ctx.key, String(total))
    },
  )
})

/*
 * ## A worker process
 *
 * In the project you do none of what follows: list your topology in `pipelines/services.ts`, and `pipelines/main.ts` runs it (`npm start`, or in
 * production a container per process). By hand it takes five things:
 *
 * - a *transport*, connected to the brokers, and a *registry*
 * - a *backend*: the one RocksDB of the process, in a folder of its own
 * - an *identity*, kept in that folder: with it a restarted worker gets its partitions back at once and shuts out what is left of its earlier life
 * - a *worker* for the topology: it makes the topics that are missing, registers the schemas, joins the group, restores and runs
 * - a *host* around all workers and sinks of the process, which answers over HTTP
 */
let brokers: string
let registryUrl: string
const folder = guardedFolder()

beforeAll(async () => {
  const stack = testStack()
  brokers = await stack.kafka()
  registryUrl = await stack.registry()
})

interface Process {
  readonly transport: Transport
  readonly host: Host
  /** Asks the process over HTTP. */
  get(path: string): Promise<Response>
  stop(): Promise<void>
}

async function startProcess(): Promise<Process> {
  const stateFolder = join(folder.path, 'worker-0')
  const backend = await openRocksdbBackend({ folder: stateFolder })
  const transport = kafkaTransport({ brokers: [brokers], clientId: 'guide' }, { runtime: systemRuntime() })
  await transport.connect()
  const registry = registryClient({ url: registryUrl })

  const host = await startHost(
    { healthPort: 0, healthHost: '127.0.0.1' },
    {
      backend,
      runtime: systemRuntime(),
      runners: (metrics) => [
        workerRunner(
          createWorker(
            { topology: stationCounts },
            {
              transport,
              registry,
              backend,
              identity: memberIdentity(stateFolder, name),
              runtime: systemRuntime(),
              onCommit: (seconds) => metrics.observeCommit(name, seconds),
            },
          ),
        ),
      ],
    },
  )

  let stopped: Promise<void> | undefined
  async function stopAll(): Promise<void> {
    await host.stop()
    await transport.close()
    await backend.close()
  }
  const stop = () => {
    stopped ??= stopAll()
    return stopped
  }
  onTestFinished(stop)
  return { transport, host, get: (path) => fetch(`http://127.0.0.1:${host.healthPort}${path}`), stop }
}

/** A dock: any Kafka client will do. */
async function bikesReturned(...stations: string[]): Promise<void> {
  const dock = new Producer({ clientId: 'dock', bootstrapBrokers: [brokers], serializers: stringSerializers })
  await dock.send({ messages: stations.map((station) => ({ topic: returns.name, key: station, value: 'some bike' })) })
  await dock.close()
}

/** A reader that sees committed records only. */
async function published(transport: Transport): Promise<string[]> {
  const from = { topic: counts.name, partition: 0 }
  const end = [...(await transport.offsets([from], 'end')).values()][0]
  const fetcher = transport.fetcher({ isolation: 'read_committed' })
  const found: string[] = []
  fetcher.assign(from, 0, 'earliest')
  for (let position = 0; position < end; ) {
    for (const { chunks, nextOffset } of await fetcher.poll(100)) {
      for (const { buffer, count, keyStart, keyEnd, valueStart, valueEnd } of chunks)
        for (let i = 0; i < count; i++)
          found.push(`${buffer.toString('utf8', keyStart[i], keyEnd[i])} ${buffer.toString('utf8', valueStart[i], valueEnd[i])}`)
      position = nextOffset
    }
  }
  await fetcher.close()
  return found
}

const DEADLINE_MS = 60_000
const eventually = <T>(look: () => Promise<T> | T) => expect.poll(look, { timeout: DEADLINE_MS, interval: 50 })

/*
 * ## Looking at it
 *
 * | path | says |
 * |---|---|
 * | `/livez` | the process lives |
 * | `/readyz` | everything is assigned and restored; if not, 503 and what is missing |
 * | `/topology` | the flow, as text or `?format=mermaid` |
 * | `/tasks` | each task: state, positions, lag, event time; restores with their progress |
 * | `/metrics` | for Prometheus |
 */
test('a process tells what it runs and how far it is', async () => {
  const process = await startProcess()
  await eventually(async () => (await process.get('/readyz')).status).toBe(200)
  await bikesReturned('harbour', 'museum', 'harbour')
  await eventually(() => published(process.transport)).toHaveLength(3)
  expect((await published(process.transport)).sort()).toEqual(['harbour 1', 'harbour 2', 'museum 1'])

  expect(await (await process.get('/topology')).text()).toContain('process count (stores totals)')
  expect(await (await process.get('/tasks')).json()).toMatchObject({
    [name]: {
      kind: 'topology',
      state: 'running',
      ready: true,
      tasks: [
        { task: '0_0', state: 'RUNNING', lag: 0 },
        { task: '0_1', state: 'RUNNING', lag: 0 },
      ],
    },
  })
  const metrics = await (await process.get('/metrics')).text()
  expect(metrics).toContain(`millrace_records_processed_total{topology="${name}"} 3`)
})

/*
 * ## Starting again
 *
 * The folder has the state, how old it is, and who the worker is. So the second start reads nothing that it knows already.
 */
test('the next start continues where the last one ended', async () => {
  const process = await startProcess()
  await eventually(async () => (await process.get('/readyz')).status).toBe(200)
  await bikesReturned('harbour')
  await eventually(() => published(process.transport)).toContain('harbour 3')

  await process.stop()
  expect(await process.host.done).toBeUndefined()
})

/*
 * More power is more processes: give each a `WORKER_SLOT` and with it a folder of its own. The group spreads the partitions over them, and nothing
 * else has to be said.
 *
 * Read next: chapter 13, asking a running topology for its state. Sources: `pipelines/main.ts`, `pipelines/engine/worker/host.ts`,
 * `pipelines/engine/worker/introspection.ts`.
 */
