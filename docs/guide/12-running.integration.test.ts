/**
 * # 12. Running
 *
 * So far, everything ran in memory. This chapter runs a topology on a real Kafka broker with its state in a real
 * RocksDB database, and inspects it over HTTP, as an operator would. It needs a broker and a schema registry, which the
 * test stack starts:
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

/*
 * The broker is shared with other tests, so this chapter uses unique names for its topics and its topology.
 */
const name = uniqueName('station-counts')
/** Key: the station. Value: the bike that was returned. */
const returns: Topic<string, string> = { name: uniqueName('returns'), key: utf8, value: rawValue(utf8), partitions: 2 }
/** Key: the station. Value: the number of returns so far, as text. */
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
 * One call of `run` starts a worker. The worker connects to the brokers, opens the database in the state folder,
 * creates missing topics, registers the schemas and joins the consumer group that has the topology's name. Give each
 * worker process a separate state folder. In addition to the database, the folder contains the worker's identity. With
 * this identity, a restarted worker gets its partitions back at once, and Kafka rejects what the earlier process still
 * tries to commit, in case that process is still running.
 *
 * Your program consists of these lines, with your own addresses:
 *
 *     const [brokers, registry] = ['localhost:9092', 'http://localhost:8081']
 *     const worker = await run(stationCounts, { brokers, registry, stateFolder: './state', stopOnSignals: true })
 *     await worker.done
 *
 * In this project, you do not even need these lines. List your service in `pipelines/services.ts`, and
 * `pipelines/main.ts` runs its topologies in one process with those of other services. All topologies of a process
 * share its databases (see the end of chapter 2). `npm start` starts such processes; in production, each of them runs
 * in its own container.
 *
 * This chapter uses two more options: `log`, because the default log writes JSON lines to stdout, and `healthPort`, the
 * port on which the worker answers HTTP requests (0 selects a free port).
 */
const log: Log = { debug() {}, info() {}, warn() {}, error() {} }

async function startWorker(): Promise<RunningWorker> {
  const worker = await run(stationCounts, { brokers, registry, stateFolder: join(folder.path, 'worker-0'), healthPort: 0, log })
  onTestFinished(worker.stop)
  return worker
}

/** Requests a path from a worker over HTTP. */
function ask(worker: RunningWorker, path: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${worker.healthPort}${path}`)
}

/** Sends records as a dock would. Any Kafka client can do this. */
async function bikesReturned(...stations: string[]): Promise<void> {
  const dock = new Producer({ clientId: 'dock', bootstrapBrokers: [brokers], serializers: stringSerializers })
  await dock.send({ messages: stations.map((station) => ({ topic: returns.name, key: station, value: 'some bike' })) })
  await dock.close()
}

/** Reads the committed results from the beginning of the topic, and returns the first `count` of them. */
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
 * ## Inspecting a worker
 *
 * In your program, `worker.status()` returns state, readiness, tasks, restores and commits. Other programs get the same
 * information over HTTP:
 *
 * | path | returns |
 * |---|---|
 * | `/livez` | whether the process is alive |
 * | `/readyz` | whether all tasks are assigned and restored; if not, 503 and what is missing |
 * | `/topology` | the flow as text, or with `?format=mermaid` as a diagram |
 * | `/tasks` | for each task its state, positions, lag and event time, and the progress of its restore |
 * | `/metrics` | metrics for Prometheus |
 */
test('a worker reports its topology and the progress of its tasks', async () => {
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
 * ## Restarting
 *
 * The state folder contains the state, the offsets up to which the state includes the input, and the worker's identity.
 * After a restart, the worker therefore reads no record that the state already includes.
 */
test('a restarted worker continues where it stopped', async () => {
  const worker = await startWorker()
  await bikesReturned('harbour')
  expect(await published(4)).toContain('harbour 3')

  await worker.stop()
  expect(await worker.done).toBeUndefined()
})

/*
 * ## Failures
 *
 * If `run` cannot start the worker, for example because a server is missing, it fails with a one-line error that names
 * the cause and what to check. When the brokers or the registry go down later, the worker waits until they are back. An
 * error in your code, such as an exception in a processor, stops the worker, and `done` rejects.
 */
test('a second worker needs a state folder of its own', async () => {
  await startWorker()
  await expect(startWorker()).rejects.toThrow(/the state folder .* is in use by another process/)
})

/*
 * For more capacity, start more processes, each with a separate state folder. The group distributes the partitions over
 * them, without further configuration.
 *
 * Read next: chapter 13, queries. Sources: `pipelines/engine/worker/run.ts`, `pipelines/main.ts`,
 * `pipelines/engine/worker/host.ts`, `pipelines/engine/worker/introspection.ts`.
 */
