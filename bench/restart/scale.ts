import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../deploy/local/wait.ts'
import { CHANGES, type Change } from './changes.ts'
import { fill, type Load, latestFormat, type TimedStream } from './load.ts'
import { BASELINE_MS, type Cluster, copied, openCluster, type Place, SETTLE_MS } from './scenarios.ts'
import type { WorkerProcess } from './workers.ts'

const PARTITIONS = 6
const WORKERS = 2
/**
 * Number of keys that the workers write by processing records. These keys are needed so that the group has committed
 * offsets. Afterwards, the whole state is written directly to the changelog.
 */
const PROCESSED_KEYS = 6_000
/** Time limit for copying the whole state. 60 million rows take several minutes. */
const COPY_DEADLINE_MS = 900_000
const LOOK_MS = 20

/**
 * Longest latencies of records during a change of the group, in ms, grouped by what happened to the record's partition.
 */
export interface ScaleStalls {
  readonly what: string
  /** Longest latency over all partitions, in the seconds before the change. */
  readonly before: number
  /** Longest latency over the partitions of the added or removed worker. */
  readonly concerned: number
  /** Longest latency over the partitions that moved between the other workers; undefined if no partition moved. */
  readonly moved: number | undefined
  /** Longest latency over the partitions that did not move; undefined if all partitions moved. */
  readonly stayed: number | undefined
  /** Time in ms from the change until every partition had an owner again and every worker was ready. */
  readonly took: number
}

/** Options of the scenario in which workers are added and removed while the stream is running. */
export interface Scaling {
  /** Number of rows in the state. */
  readonly keys: number
  readonly valueBytes: number
  /** Number of records that are sent per second. */
  readonly rate: number
  readonly changes: readonly Change[]
  /** Called after each change with its stalls, so that progress is visible. All changes together take minutes. */
  readonly report: (stalls: ScaleStalls) => void
}

/**
 * Makes the membership changes that `changes` contains. The possible changes are: add a third worker to two running
 * workers, stop a worker, start it again, and kill a worker. Before each change, waits until all standbys have caught
 * up.
 */
export async function scale(place: Place, { keys, valueBytes, rate, changes, report }: Scaling): Promise<void> {
  const options = {
    workers: WORKERS,
    partitions: PARTITIONS,
    keys: PROCESSED_KEYS,
    standby: 1,
    keepPlaceOnStop: false,
    valueBytes,
  } as const
  const cluster = await openCluster(place, options)
  try {
    await fillState(place, cluster, { keys, format: latestFormat(valueBytes) })
    const stream = await cluster.stream(rate, keys)
    try {
      let leaver = 0
      const happenings: Readonly<Record<Change, readonly [what: string, happen: () => Promise<void>]>> = {
        add: ['a third worker is added', async () => void cluster.restart(WORKERS)],
        stop: ['a worker stops and leaves the group', () => cluster.workers[leaver].stop()],
        return: ['the stopped worker starts again with its state', async () => void cluster.restart(leaver)],
        kill: ['a worker is killed and does not return', () => cluster.workers[leaver].kill()],
      }
      for (const change of CHANGES.filter((each) => changes.includes(each))) {
        if (change !== 'return') leaver = firstById(cluster)
        const [what, happen] = happenings[change]
        report(await watch(what, cluster, stream, happen))
      }
    } finally {
      await stream.stop()
    }
  } finally {
    await cluster.stop()
  }
}

/**
 * Writes the state directly to the changelog while no worker is running, and restarts the workers. This is faster than
 * processing that many records.
 */
async function fillState({ transport }: Place, cluster: Cluster, state: Pick<Load, 'keys' | 'format'>): Promise<void> {
  await Promise.all(cluster.workers.map((worker) => worker.stop()))
  await fill(transport, cluster.changelog, { partitions: PARTITIONS, ...state })
  const started = cluster.workers.map((_, slot) => cluster.restart(slot))
  for (const worker of started) await worker.until(({ ready }) => ready, 'its state is restored', COPY_DEADLINE_MS)
}

const partitionsOf = (worker: WorkerProcess) => worker.status()?.partitions ?? []
const isAlive = (worker: WorkerProcess) => !worker.hasEnded
const ownersIn = ({ workers }: Cluster) =>
  new Map(workers.filter(isAlive).flatMap((worker) => partitionsOf(worker).map((partition) => [partition, worker.slot] as const)))

/**
 * Returns the slot of the running worker that has the first partition. Partitions are assigned in the order of member
 * ids, so the departure of this worker also moves partitions between the other workers.
 */
function firstById({ workers }: Cluster): number {
  const byId = workers.filter(isAlive).toSorted((one, other) => Math.min(...partitionsOf(one)) - Math.min(...partitionsOf(other)))
  return byId[0].slot
}

async function watch(what: string, cluster: Cluster, stream: TimedStream, change: () => Promise<void>): Promise<ScaleStalls> {
  await copied(cluster.workers.filter(isAlive), PARTITIONS, COPY_DEADLINE_MS)
  await delay(SETTLE_MS)
  stream.takeLongest()
  await delay(BASELINE_MS)
  const before = Math.max(...stream.takeLongest())
  const [owners, alive] = [ownersIn(cluster), cluster.workers.filter(isAlive).length]
  const startedAt = performance.now()
  await change()
  const now = cluster.workers.filter(isAlive)
  const least = Math.floor(PARTITIONS / now.length)
  const isSettled = (worker: WorkerProcess) => worker.status()?.ready === true && partitionsOf(worker).length >= least
  await waitUntil(() => now.length !== alive && now.every(isSettled) && ownersIn(cluster).size === PARTITIONS, {
    what: `waiting until the workers have settled after this change: ${what}`,
    timeoutMs: COPY_DEADLINE_MS,
    intervalMs: LOOK_MS,
  })
  const took = performance.now() - startedAt
  await delay(SETTLE_MS)
  return { what, before, took, ...stallsByMove(owners, ownersIn(cluster), stream.takeLongest()) }
}

function stallsByMove(
  before: ReadonlyMap<number, number>,
  after: ReadonlyMap<number, number>,
  longest: readonly number[],
): Pick<ScaleStalls, 'concerned' | 'moved' | 'stayed'> {
  const [slotsBefore, slotsAfter] = [new Set(before.values()), new Set(after.values())]
  const isPermanent = (slot: number) => slotsBefore.has(slot) && slotsAfter.has(slot)
  const groups = Map.groupBy(longest.entries(), ([partition]) => {
    const [from, to] = [before.get(partition)!, after.get(partition)!]
    if (from === to) return 'stayed'
    return isPermanent(from) && isPermanent(to) ? 'moved' : 'concerned'
  })
  const most = (group: 'concerned' | 'moved' | 'stayed') => {
    const stalls = groups.get(group)?.map(([, ms]) => ms)
    return stalls && Math.max(...stalls)
  }
  return { concerned: most('concerned') ?? 0, moved: most('moved'), stayed: most('stayed') }
}
