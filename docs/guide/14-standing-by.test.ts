/**
 * # 14. Standing by
 *
 * When a worker dies and does not return, its tasks move to other workers, which need the state of these tasks.
 * Restoring a few thousand keys from the changelog takes almost no time, but restoring millions of keys takes a while.
 * A *standby*, a copy of the state that another worker keeps up to date, avoids this wait.
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
 * ## One option
 *
 * `standby: 1` requests one standby for each task, in addition to the active state. Nothing else in the topology
 * changes.
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
  /** For each task, how many changelog records it had to read before it could run. */
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
 * ## Placement of standbys
 *
 * Kafka's `range` assignor assigns partitions in the order of the member ids. Every worker can therefore compute which
 * worker would get a task if its owner left the group. That worker keeps the standby. The standby follows the
 * changelog, reads committed records only, and is a few milliseconds behind. `/tasks` and the metric
 * `standby_lag_records` show how many records it lacks.
 */
test('the worker that takes over restores nothing, because it already has the state', async () => {
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

  /*
   * The first worker dies. After the session timeout, the group assigns its partitions to the second worker.
   */
  broker.groups.expire('station-totals', one.memberId)
  broker.groups.takeEvent('station-totals', one.memberId)
  await eventually(() => two.worker.status().tasks.filter(({ state }) => state === 'RUNNING').length).toBe(4)
  expect(copied.map((task) => two.restored.get(task))).toEqual([0, 0])
})

/*
 * A standby also answers queries if the query permits it: with `{ standby: true }`, or over HTTP with `standby=1`. Its
 * answer has `role: standby`, the number of changelog records that it lacks (`behind`), and the time at which its state
 * was current (`asOf`). Over HTTP, these fields are `records_behind` and `as_of`. While a worker is dead and its
 * partitions are not assigned yet, only the standbys can answer.
 *
 * ## The price
 *
 * The state takes twice the space on disk. In addition, the worker with the standby reads the changelog, at about three
 * microseconds of CPU time per changed key. In return, a standby saves the restore. According to `bench/results.md`, a
 * restore reads 700,000 to 780,000 changelog records per second on an idle machine, and far fewer while a stream is
 * running. With standbys, the other workers also notice sooner that a worker's process has ended, and do not wait for
 * its session timeout (ADR 79).
 *
 * ## When partitions move
 *
 * Workers also come and go in normal operation. Their partitions then move to other workers, and often return. The
 * previous owner of a partition keeps its state, by default for an hour (`STATE_KEEP_MINUTES`), and then deletes it. If
 * the partition returns within this time, the worker reads only the changes that it missed. A worker that was killed
 * and restarts with its state folder within the session timeout keeps its partitions, unless other workers have already
 * noticed that it had ended. A worker that stops gracefully gives up its partitions at once, unless
 * `KEEP_PLACE_ON_STOP` announces that it will return.
 *
 * With or without standbys, a new worker that lacks at least 100,000 changelog records first restores the state of its
 * future partitions. Until it takes these partitions over, their previous owners continue to process them.
 * `WARM_UP_MAX_MINUTES` limits how long the new worker may take.
 *
 * Read next: chapter 15, commands. `docs/engine-reference.md` lists all options, metrics and endpoints. Sources:
 * `pipelines/engine/state/standby.ts`, `pipelines/engine/state/placement.ts`,
 * `pipelines/engine/state/state-cleaner.ts`, `pipelines/engine/worker/warm-up.ts`.
 */
