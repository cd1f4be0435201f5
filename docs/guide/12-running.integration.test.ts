/**
 * # 12. Running
 *
 * So far everything ran in memory. This chapter runs a topology on a real Kafka with its state in a real RocksDB, and
 * looks at it from outside, as its operators will. It needs a broker and a registry, which the test stack starts:
 *
 *     npx vitest run --project integration docs/guide/12
 *
 * You need chapters 1 and 2.
 */
import { join } from 'node:path'
import { Consumer, Producer, stringDeserializers, stringSerializers } from '@platformatic/kafka'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  avroValue,
  keyedStore,
  type Log,
  type RunningWorker,
  rawValue,
  run,
  type Topic,
  topology,
  utf8,
} from '../../pipelines/engine/index.ts'
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

let brokers: string
let registry: string
const folder = guardedFolder()

beforeAll(async () => {
  const stack = testStack()
  brokers = await stack.kafka()
  registry = await stack.registry()
})

/*
 * ## A worker
 *
 * `run` starts one in a call. It connects to the brokers, opens the database in the state folder, creates the topics
 * that are missing, registers the schemas and joins the group that has the topology's name. Give each worker process a
 * state folder of its own: beside the database it holds the worker's identity, by which a restarted worker gets its
 * partitions back at once and shuts out what is left of its earlier life.
 *
 * A program of yours is these lines, with your own addresses:
 *
 *     const [brokers, registry] = ['localhost:9092', 'http://localhost:8081']
 *     const worker = await run(stationCounts, { brokers, registry, stateFolder: './state', stopOnSignals: true })
 *     await worker.done
 *
 * In the project you do not even write those: list your topology in `pipelines/services.ts`, and `pipelines/main.ts`
 * runs it beside others on one database (`npm start`, or in production a container per process).
 *
 * Two more options here: a log, because the default writes JSON lines to stdout, and a port on which the worker answers
 * over HTTP (0: a free one).
 */
const log: Log = { debug() {}, info() {}, warn() {}, error() {} }

async function startWorker(): Promise<RunningWorker> {
  const worker = await run(stationCounts, { brokers, registry, stateFolder: join(folder.path, 'worker-0'), healthPort: 0, log })
  onTestFinished(worker.stop)
  return worker
}

/** Asks a worker over HTTP. */
function ask(worker: RunningWorker, path: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${worker.healthPort}${path}`)
}

/** A dock: any Kafka client will do. */
async function bikesReturned(...stations: string[]): Promise<void> {
  const dock = new Producer({ clientId: 'dock', bootstrapBrokers: [brokers], serializers: stringSerializers })
  await dock.send({ messages: stations.map((station) => ({ topic: returns.name, key: station, value: 'some bike' })) })
  await dock.close()
}

/** Waits for so many committed results: a reader of its own, from the beginning. */
async function published(count: number): Promise<string[]> {
  const reader = new Consumer({
    clientId: 'reader',
    groupId: uniqueName('reader'),
    bootstrapBrokers: [brokers],
    deserializers: stringDeserializers,
  })
  const found: string[] = []
  for await (const { key, value } of await reader.consume({ topics: [counts.name], mode: 'earliest', isolationLevel: READ_COMMITTED })) {
    found.push(`${key} ${value}`)
    if (found.length === count) break
  }
  await reader.close(true)
  return found
}

const READ_COMMITTED = 1
const DEADLINE_MS = 60_000
const eventually = <T>(look: () => Promise<T> | T) => expect.poll(look, { timeout: DEADLINE_MS, interval: 50 })

/*
 * ## Looking at it
 *
 * `worker.status()` gives the program its state, readiness, tasks, restores and commits. Everybody else reads them over
 * HTTP:
 *
 * | path | says |
 * |---|---|
 * | `/livez` | the process lives |
 * | `/readyz` | everything is assigned and restored; if not, 503 and what is missing |
 * | `/topology` | the flow, as text or `?format=mermaid` |
 * | `/tasks` | each task: state, positions, lag, event time; restores with their progress |
 * | `/metrics` | for Prometheus |
 */
test('a worker shows what it runs and how far it is', async () => {
  const worker = await startWorker()
  await eventually(async () => (await ask(worker, '/readyz')).status).toBe(200)
  expect(worker.status().ready).toBe(true)
  await bikesReturned('harbour', 'museum', 'harbour')
  expect((await published(3)).sort()).toEqual(['harbour 1', 'harbour 2', 'museum 1'])

  expect(await (await ask(worker, '/topology')).text()).toContain('process count (stores totals)')
  await eventually(async () => (await ask(worker, '/tasks')).json()).toMatchObject({
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
  const metrics = await (await ask(worker, '/metrics')).text()
  expect(metrics).toContain(`millrace_records_processed_total{topology="${name}"} 3`)
})

/*
 * ## Starting again
 *
 * The folder has the state, how old it is, and who the worker is. So the second start reads nothing that it knows
 * already.
 */
test('the next start continues where the last one ended', async () => {
  const worker = await startWorker()
  await bikesReturned('harbour')
  expect(await published(4)).toContain('harbour 3')

  await worker.stop()
  expect(await worker.done).toBeUndefined()
})

/*
 * ## When it cannot run
 *
 * Whatever is missing at the start is an error of one line with the cause and what to look at. Once the worker runs,
 * brokers and registry may come and go: it waits for them. A failure of yours, such as a processor that throws, ends
 * it: `done` rejects.
 */
test('a second worker needs a folder of its own', async () => {
  await startWorker()
  await expect(startWorker()).rejects.toThrow(
    /the state folder .* is in use by another process: stop that worker, or give this one a folder/,
  )
})

/*
 * More power is more processes, each with a state folder of its own. The group spreads the partitions over them, and
 * nothing else has to be said.
 *
 * Read next: chapter 13, asking a running topology for its state. Sources: `pipelines/engine/worker/run.ts`,
 * `pipelines/main.ts`, `pipelines/engine/worker/host.ts`, `pipelines/engine/worker/introspection.ts`.
 */
