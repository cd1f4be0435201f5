import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../deploy/local/wait.ts'
import type { Transport } from '../../kafka/transport.ts'
import { fill, latestFormat, type TimedStream, timedStream } from './load.ts'
import type { WorkerLine } from './worker-process.ts'
import { DEADLINE_MS, startWorker, type WorkerProcess } from './workers.ts'

/** The broker and the folder that all scenarios use. */
export interface Place {
  readonly brokers: string
  readonly folder: string
  readonly transport: Transport
}

export interface ClusterOptions {
  readonly workers: number
  readonly partitions: number
  /** Number of keys over all partitions. */
  readonly keys: number
  readonly standby: 0 | 1
  readonly keepPlaceOnStop: boolean
  /** Size of a value in bytes. Default VALUE_BYTES. */
  readonly valueBytes?: number
}

/** Workers of one topology whose state has been filled. */
export interface Cluster {
  readonly workers: WorkerProcess[]
  readonly changelog: string
  /** Starts the worker of a slot, with the slot's existing state if there is any. */
  restart(slot: number): WorkerProcess
  wipe(slot: number): void
  /** Starts a timed stream. @param keys number of existing keys; by default, the number in the options */
  stream(rate: number, keys?: number): Promise<TimedStream>
  stop(): Promise<void>
}

const KEEP_ALL = { 'retention.ms': '-1' }
/**
 * Topic configuration that prevents compaction during the measurement. With compaction, the number of restored records
 * would depend on when the log cleaner runs.
 */
const NO_COMPACTION = { 'min.cleanable.dirty.ratio': '1', 'min.compaction.lag.ms': '86400000', 'segment.bytes': '1073741824' }
export const BASELINE_MS = 4_000
export const SETTLE_MS = 3_000
/** Interval at which the benchmark checks the workers' status. */
const LOOK_MS = 20

export async function openCluster({ brokers, folder, transport }: Place, options: ClusterOptions): Promise<Cluster> {
  const { workers: count, partitions, keys, standby, keepPlaceOnStop, valueBytes } = options
  const name = `bench-restart-${randomUUID().slice(0, 8)}`
  const [input, output, changelog] = [`${name}-in`, `${name}-out`, `${name}-latest-changelog`]
  await transport.ensureTopics([
    ...[input, output].map((topic) => ({ name: topic, partitions, config: KEEP_ALL })),
    { name: changelog, partitions, config: { 'cleanup.policy': 'compact', 'delete.retention.ms': '86400000', ...NO_COMPACTION } },
  ])
  const folderOf = (slot: number) => join(folder, name, String(slot))
  const start = (slot: number) =>
    startWorker(slot, { name, input, output, partitions, standby, keepPlaceOnStop, brokers, folder: folderOf(slot) })
  const load = { input, output, partitions, keys, format: latestFormat(valueBytes) }
  await fill(transport, input, load)
  const workers = Array.from({ length: count }, (_, slot) => start(slot))
  const share = partitions / count
  const filled = ({ caughtUp, processed, partitions: own }: WorkerLine) =>
    caughtUp && own.length === share && processed >= share * Math.ceil(keys / partitions)
  await Promise.all(workers.map((worker) => worker.until(filled, 'its share is filled')))
  if (standby > 0) await copied(workers, partitions, DEADLINE_MS)
  return {
    workers,
    changelog,
    restart(slot) {
      workers[slot] = start(slot)
      return workers[slot]
    },
    wipe: (slot) => rmSync(folderOf(slot), { recursive: true }),
    stream: (rate, keys = load.keys) => timedStream(transport, { ...load, keys }, rate),
    async stop() {
      await Promise.all(workers.map((worker) => worker.kill()))
      rmSync(join(folder, name), { recursive: true, force: true })
    },
  }
}

/**
 * Waits until every partition has a caught-up standby. Standbys may be spread unevenly, because each is on the worker
 * that would take over the partition.
 */
export async function copied(workers: readonly WorkerProcess[], partitions: number, timeoutMs: number): Promise<void> {
  const complete = () => workers.reduce((sum, worker) => sum + (worker.status()?.completeStandbys ?? 0), 0)
  await waitUntil(() => complete() === partitions, { what: 'waiting until all standbys have caught up', timeoutMs })
}

export interface RestoreFigures {
  readonly records: number
  readonly recordsPerSecond: number
  readonly startToReadySeconds: number
}

/**
 * Measures how long restoring wiped state takes, with one worker and four partitions.
 * @param rounds number of times that every key was written; with more rounds, the restored state has fewer rows per
 * changelog record
 */
export async function restore(place: Place, keys: number, rounds: number, runs: number): Promise<RestoreFigures[]> {
  const cluster = await openCluster(place, { workers: 1, partitions: 4, keys, standby: 0, keepPlaceOnStop: false })
  try {
    if (rounds > 1) {
      await cluster.workers[0].stop()
      await fill(place.transport, cluster.changelog, { partitions: 4, keys, format: latestFormat() }, rounds - 1)
    }
    const figures: RestoreFigures[] = []
    for (let run = 0; run < runs; run++) {
      await cluster.workers[0].stop()
      cluster.wipe(0)
      const worker = cluster.restart(0)
      const ms = await worker.until(({ ready, partitions }) => ready && partitions.length === 4, 'its state is restored')
      const { restored, restoreMs } = worker.status()!
      figures.push({ records: restored, recordsPerSecond: (restored / restoreMs) * 1_000, startToReadySeconds: ms / 1_000 })
    }
    return figures
  } finally {
    await cluster.stop()
  }
}

/**
 * Restarts a worker that still has its state, after a graceful stop or after `kill -9`. A kill leaves a write-ahead log
 * to replay.
 * @returns for each run, the seconds from the start of the process until it is ready
 */
export async function restartInPlace(place: Place, keys: number, runs: number, end: 'stop' | 'kill'): Promise<number[]> {
  const cluster = await openCluster(place, { workers: 1, partitions: 4, keys, standby: 0, keepPlaceOnStop: false })
  try {
    const seconds: number[] = []
    for (let run = 0; run < runs; run++) {
      await cluster.workers[0][end]()
      seconds.push((await cluster.restart(0).until(({ ready, partitions }) => ready && partitions.length === 4, 'it is ready')) / 1_000)
    }
    return seconds
  } finally {
    await cluster.stop()
  }
}

/** How long partitions stalled. Each value except `startMs` is the longest latency of a record, in ms. */
export interface Stalls {
  /** Longest latency over all partitions before the fault. */
  readonly before: number
  /** Longest latency over the partitions of the stopped or killed workers during the fault. */
  readonly concerned: number
  /** Longest latency over the partitions that moved between running workers during the fault. */
  readonly moved: number
  /** Longest latency over the partitions that did not move during the fault. */
  readonly stayed: number
  /**
   * Time in ms from the start of the restarted process until all of its partitions are running; undefined if no process
   * or several processes were restarted.
   */
  readonly startMs?: number
}

/** Injects a fault and measures the stream until the fault is over. `own` are the partitions of the affected worker. */
type Watch = (own: readonly number[], fault: () => Promise<void>) => Promise<void>

/**
 * Runs a scenario while the stream is flowing.
 * @param faults injects the faults, each through `watch`; may return `startMs`
 * @returns the longest latencies before and during the faults
 */
async function underLoad(
  place: Place,
  options: ClusterOptions,
  rate: number,
  faults: (cluster: Cluster, watch: Watch) => Promise<number | undefined>,
): Promise<Stalls> {
  const cluster = await openCluster(place, options)
  const stream = await cluster.stream(rate)
  let [concerned, moved, stayed] = [0, 0, 0]
  try {
    await delay(SETTLE_MS)
    stream.takeLongest()
    await delay(BASELINE_MS)
    const before = Math.max(...stream.takeLongest())
    const startMs = await faults(cluster, async (own, fault) => {
      stream.takeLongest()
      const movedBetween = watchMoves(cluster)
      await fault()
      await delay(SETTLE_MS)
      const others = movedBetween()
      for (const [partition, ms] of stream.takeLongest().entries()) {
        if (own.includes(partition)) concerned = Math.max(concerned, ms)
        else if (others.has(partition)) moved = Math.max(moved, ms)
        else stayed = Math.max(stayed, ms)
      }
    })
    return { before, concerned, moved, stayed, startMs }
  } finally {
    await cluster.stop()
    await stream.stop()
  }
}

const SHARED: ClusterOptions = { workers: 3, partitions: 6, keys: 0, standby: 0, keepPlaceOnStop: false }
const partitionsOf = (worker: WorkerProcess) => worker.status()?.partitions ?? []

/**
 * Begins to observe which worker runs each partition.
 * @returns a function that ends the observation and returns the partitions that ran on a different worker, even briefly
 */
function watchMoves({ workers }: Cluster): () => Set<number> {
  const before = workers.map((worker) => new Set(partitionsOf(worker)))
  const moved = new Set<number>()
  const look = () => {
    for (const [slot, worker] of workers.entries())
      for (const partition of partitionsOf(worker)) if (!before[slot].has(partition)) moved.add(partition)
  }
  const looking = setInterval(look, LOOK_MS)
  return () => {
    clearInterval(looking)
    return moved
  }
}

/** Kills one of three workers with SIGKILL and restarts it immediately. */
export async function killAndRestart(place: Place, keys: number, rate: number): Promise<Stalls> {
  return underLoad(place, { ...SHARED, keys }, rate, async (cluster, watch) => {
    const own = partitionsOf(cluster.workers[1])
    let startMs: number | undefined
    await watch(own, async () => {
      await cluster.workers[1].kill()
      startMs = await cluster.restart(1).until(({ ready, partitions }) => ready && partitions.length === own.length, 'it is back')
    })
    return startMs
  })
}

/** Stops and restarts each of three workers, one after another. */
export async function rollingRestart(place: Place, keys: number, rate: number, keepPlaceOnStop: boolean): Promise<Stalls> {
  return underLoad(place, { ...SHARED, keys, keepPlaceOnStop }, rate, async (cluster, watch) => {
    for (const { slot } of [...cluster.workers]) {
      await watch(partitionsOf(cluster.workers[slot]), async () => {
        await cluster.workers[slot].stop()
        await cluster.restart(slot).until(({ ready, partitions }) => ready && partitions.length === 2, 'it is back')
      })
    }
    return undefined
  })
}

/**
 * Position, by member id, of the worker that is killed. Partitions are assigned in the order of member ids, so killing
 * the first or the last worker also moves partitions between the survivors.
 */
export type Victim = 'first' | 'middle' | 'last'
const PLACE_OF: Readonly<Record<Victim, number>> = { first: 0, middle: 1, last: 2 }

/** Kills one of three workers with SIGKILL and does not restart it. */
export async function failover(place: Place, keys: number, rate: number, standby: 0 | 1, victim: Victim): Promise<Stalls> {
  return underLoad(place, { ...SHARED, keys, standby }, rate, async (cluster, watch) => {
    // The member with the smallest id has the first partitions, so partitions are in the same order as member ids.
    const byId = cluster.workers.toSorted((one, other) => Math.min(...partitionsOf(one)) - Math.min(...partitionsOf(other)))
    const dead = byId[PLACE_OF[victim]]
    await watch(partitionsOf(dead), async () => {
      await dead.kill()
      const heirs = cluster.workers.filter((worker) => worker !== dead)
      const hasTakenOver = ({ ready, partitions }: WorkerLine) => ready && partitions.length === 3
      await Promise.all(heirs.map((worker) => worker.until(hasTakenOver, 'it has taken over')))
    })
    return undefined
  })
}
