/**
 * # 14. Standing by
 *
 * When a worker dies for good, its partitions move to others, and these need its state. With a few thousand keys they read it from the changelog in
 * no time. With millions that takes a while, and a copy that another worker keeps up to date saves it.
 *
 * You need chapters 2, 12 and 13.
 */

import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import {
  avroValue,
  createWorker,
  keyedStore,
  rawValue,
  systemRuntime,
  type Topic,
  topology,
  utf8,
  type Worker,
} from '../../pipelines/engine/index.ts'
import { memoryBackend, memoryBroker, memoryRegistry, memoryTransport, silentLog } from '../../pipelines/engine/testing.ts'

/** Key: the station. Value: the bike that was returned. */
const returns: Topic<string, string> = { name: 'returns', key: utf8, value: rawValue(utf8), partitions: 4 }
const totalsStore = () => keyedStore('totals', { key: utf8, value: avroValue<number>('int') })

/*
 * ## One word
 *
 * `standby: 1` asks for one copy of each task's state beside the one that is worked with. Nothing else changes.
 */
const stationTotals = topology(
  'station-totals',
  (t) => {
    const totals = totalsStore()
    t.source(returns).process('count', { reads: (_bike, station) => totals.prefetch(station), stores: [totals] }, (_bike, ctx) => {
      totals.put(ctx.key, (totals.get(ctx.key) ?? 0) + 1)
    })
  },
  { standby: 1 },
)

const broker = memoryBroker()
const registry = memoryRegistry()
broker.createTopic({ name: 'returns', partitions: 4 })

interface Process {
  readonly memberId: string
  readonly worker: Worker
  /** Changelog records that tasks had to read before they ran, by task. */
  readonly restored: Map<string, number>
}

async function startWorker(): Promise<Process> {
  const memberId = randomUUID()
  const restored = new Map<string, number>()
  const log = {
    ...silentLog,
    info(fields: object, event: string) {
      const { task, restored_records: records } = fields as { task: string; restored_records: number }
      if (event === 'task_running') restored.set(task, records)
    },
  }
  const deps = {
    transport: memoryTransport(broker),
    registry,
    backend: memoryBackend(),
    identity: { memberId, transactionalId: memberId },
    runtime: systemRuntime(log),
  }
  const worker = createWorker({ topology: stationTotals }, deps)
  onTestFinished(() => worker.stop())
  await worker.start()
  return { memberId, worker, restored }
}

function bikesReturned(count: number): void {
  for (let i = 0; i < count; i++)
    broker.append('returns', i % 4, { timestamp: 0, key: Buffer.from(`station ${i}`), value: Buffer.from('some bike'), headers: [] })
}

const DEADLINE_MS = 10_000
const eventually = <T>(look: () => Promise<T> | T) => expect.poll(look, { timeout: DEADLINE_MS, interval: 10 })

/*
 * ## Where the copy lies
 *
 * Kafka's `range` assignor deals the partitions in the order of the member ids. So every worker knows who would get a partition if its owner died: the
 * copy lies there. It follows the changelog, reads committed records only, and is a few milliseconds behind. `/tasks` shows it, with what it
 * lacks, and so does the metric `standby_lag_records`.
 */
test('the worker that takes over reads nothing: it has the state already', async () => {
  const [one, two] = [await startWorker(), await startWorker()]
  const standbys = () => two.worker.status().standbys
  await eventually(standbys).toHaveLength(2)
  bikesReturned(400)
  await eventually(async () => {
    const answers = [0, 1, 2, 3].map((i) => two.worker.queries?.get(totalsStore(), `station ${396 + i}`, { partition: i, standby: true }))
    return (await Promise.all(answers)).map((answer) => (answer?.outcome === 'answered' ? answer.value : undefined))
  }).toEqual([1, 1, 1, 1])
  const copied = standbys().map(({ task }) => task)
  two.restored.clear()

  /* The first worker dies: after the session time-out the group gives its partitions to the second. */
  broker.groups.expire('station-totals', one.memberId)
  broker.groups.takeEvent('station-totals', one.memberId)
  await eventually(() => two.worker.status().tasks.filter(({ state }) => state === 'RUNNING').length).toBe(4)
  expect(copied.map((task) => two.restored.get(task))).toEqual([0, 0])
})

/*
 * A copy answers queries too, when asked to: `{ standby: true }`, over HTTP `standby=1`. Its answer says `role: standby`, how many changelog records it
 * lacks (`behind`) and since when it has not been complete (`asOf`). While a worker is dead and its partitions are not given away yet, this
 * is who can answer.
 *
 * ## What it costs
 *
 * The state takes its place on disk twice, and each changelog is read once more: about a microsecond of CPU per changed key on the standby. What it
 * saves is the bulk load, by the figures in `bench/results.md` one second for each 500,000 to 700,000 keys on a free machine, and several times that beside a stream; the session
 * time-out is not shorter with it. So: small state needs no standby.
 *
 * ## When partitions move
 *
 * Workers come and go in ordinary days, too: then partitions move, and often come back. Their state stays where it was, for an hour by default
 * (`STATE_KEEP_MINUTES`), and what comes back in time reads only what was missed. Then it is deleted. A worker that was killed and restarts with its
 * folder within the session time-out keeps its partitions: nothing moves at all. One that stops in order gives them up at once, unless
 * `KEEP_PLACE_ON_STOP` says that it will be back.
 *
 * Read next: chapter 15, commands. What options, metrics and endpoints there are stands in `docs/engine-reference.md`. Sources:
 * `pipelines/engine/state/standby.ts`, `pipelines/engine/state/placement.ts`, `pipelines/engine/state/state-cleaner.ts`.
 */
