import { setTimeout as delay } from 'node:timers/promises'
import { topicSpecs } from '../../deploy/local/provision.ts'
import { waitUntil } from '../../deploy/local/wait.ts'
import { registryClient } from '../../kafka/registry.ts'
import { partitionKey, type Transport } from '../../kafka/transport.ts'
import type { AnyTopic } from '../../schemas/topic.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import { trendOutput, trendRenewals, trendVolumes } from '../../schemas/trends/topics.ts'
import { tweetProducer } from '../../tools/tweets/producer.ts'
import { benchTransport } from '../harness/broker.ts'
import { cpuSeconds, machineCpuSeconds, peakRssMib } from '../harness/process-stats.ts'
import type { BenchServers } from '../harness/servers.ts'
import { startWorker, type WorkerProcess } from '../harness/worker.ts'
import type { Backlog } from './backlog.ts'
import { untilCaughtUp } from './progress.ts'

/**
 * Number of tasks in the user stage and the region stage, which have four partitions each. An option sets the number of
 * tasks in the term stage.
 */
const OTHER_TASKS = 8
/** A worker without local state restores its state before its tasks run. With 20 million baselines, this took 94 s. */
const START_TIMEOUT_MS = 300_000
/**
 * Time limit of the verification. The last volumes are published at the next whole minute, and the sink writes them
 * shortly afterwards.
 */
const VERIFY_TIMEOUT_MS = 600_000
const VERIFY_EVERY_MS = 1_000
const MS_PER_SECOND = 1_000
const MILLION = 1e6
const BYTES_PER_MIB = 1_048_576
const OWN_TOPICS = /^trends?-/
/** Minimum number of records per tweet. Topics with fewer records per tweet are not reported. */
const LEAST_SHOWN = 0.001
const COUNTED = `
SELECT sum(v) FROM (
  SELECT max(volume) AS v FROM (
    SELECT woeid, term, minute, '' AS adds_as, volume FROM trend_volumes
    UNION ALL
    SELECT woeid, term, minute, adds_as, toUInt64(volume) FROM trend_rare_volumes ARRAY JOIN woeids AS woeid, volumes AS volume
  )
  GROUP BY woeid, term, minute, adds_as
)`

/** The results of one run. CPU times are user and system seconds per million events, except `otherCpuSeconds`. */
export interface ThroughputFigures {
  readonly eventsPerSecond: number
  /** Rate of the first stage alone, in events per second. The first stage runs ahead of the other stages. */
  readonly inputPerSecond: number
  readonly cpu: number
  readonly brokerCpu: number
  /** CPU time of Redis and ClickHouse together while the backlog was processed. */
  readonly storesCpu: number
  /** Largest peak RSS of any worker. */
  readonly peakRssMib: number
  /** Size of the state folders of all workers, MiB. */
  readonly stateMib: number
  /** Number of records that the pipeline wrote per tweet, grouped by topic. Transaction markers count as records. */
  readonly records: ReadonlyMap<string, number>
  /**
   * Number of renewals of all lists in the measured time, including a last renewal that may be incomplete. Renewals
   * happen at fixed times and cost as much as thousands of tweets, so runs with different numbers of renewals cannot be
   * compared.
   */
  readonly renewals: number
  /** Number of volume records for frequent terms, per tweet. They are published once a minute. */
  readonly volumes: number
  /** Total CPU seconds of all other processes on the machine. A run with a high value is unreliable. */
  readonly otherCpuSeconds: number
}

/**
 * Starts workers and waits until each worker has its share of the tasks.
 * @param termPartitions number of partitions of the topics that are keyed by term
 */
export async function startWorkers(
  servers: BenchServers,
  count: number,
  nodeArguments: readonly string[],
  termPartitions = 4,
): Promise<WorkerProcess[]> {
  const share = (OTHER_TASKS + termPartitions) / count
  const workers = await Promise.all(Array.from({ length: count }, (_, slot) => startWorker(servers, slot, nodeArguments)))
  try {
    await waitUntil(async () => (await Promise.all(workers.map((worker) => worker.tasks()))).every((tasks) => tasks === share), {
      what: `${count} workers with ${share} tasks each`,
      timeoutMs: START_TIMEOUT_MS,
    })
  } catch (error) {
    // A running worker would keep this process from ending.
    await Promise.all(workers.map((worker) => worker.kill()))
    throw error
  }
  return workers
}

/**
 * Writes the backlog to the topic while the workers are suspended. Measures how long the workers then take to process
 * it.
 */
export async function measureBacklog(
  servers: BenchServers,
  workers: readonly WorkerProcess[],
  backlog: Backlog,
): Promise<ThroughputFigures> {
  const transport = benchTransport(servers.addresses.kafka)
  await transport.connect()
  try {
    for (const worker of workers) worker.signal('SIGSTOP')
    await produce(transport, servers, backlog)
    const { kafka, redis, clickhouse } = servers.pids
    const cpuOf = () => ({
      workers: workers.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
      broker: cpuSeconds(kafka),
      stores: cpuSeconds(redis) + cpuSeconds(clickhouse),
      own: cpuSeconds(process.pid),
      machine: machineCpuSeconds(),
    })
    const recordsBefore = await recordCounts(transport)
    const before = cpuOf()
    const startedAt = Date.now()
    for (const worker of workers) worker.signal('SIGCONT')
    const { inputAt, countedAt } = await untilCaughtUp(servers.addresses.kafka, transport, workers)
    const after = cpuOf()
    const recordsAfter = await recordCounts(transport)
    const added = (topic: AnyTopic) => (recordsAfter.get(topic.name) ?? 0) - (recordsBefore.get(topic.name) ?? 0)
    const count = backlog.tweets.length
    const used = (part: keyof typeof before) => after[part] - before[part]
    const perMillion = (part: keyof typeof before) => (used(part) * MILLION) / count
    return {
      eventsPerSecond: (count / (countedAt - startedAt)) * MS_PER_SECOND,
      inputPerSecond: (count / (inputAt - startedAt)) * MS_PER_SECOND,
      cpu: perMillion('workers'),
      brokerCpu: perMillion('broker'),
      storesCpu: perMillion('stores'),
      peakRssMib: Math.max(...workers.map(({ pid }) => peakRssMib(pid))),
      stateMib: workers.reduce((sum, worker) => sum + worker.stateBytes(), 0) / BYTES_PER_MIB,
      records: increase(recordsBefore, recordsAfter, count),
      renewals: (added(trendOutput) + added(trendRenewals)) / regions.length,
      volumes: added(trendVolumes) / count,
      otherCpuSeconds: used('machine') - used('workers') - used('broker') - used('stores') - used('own'),
    }
  } finally {
    await transport.close()
  }
}

/** Returns the number of records that were ever written to each topic of the pipeline except the input. */
async function recordCounts(transport: Transport): Promise<Map<string, number>> {
  const names = topicSpecs('local').flatMap(({ name }) => (OWN_TOPICS.test(name) ? name : []))
  const counts = await transport.partitionCounts(names)
  const places = [...counts].flatMap(([topic, partitions]) => Array.from({ length: partitions }, (_, partition) => ({ topic, partition })))
  const ends = await transport.offsets(places, 'end')
  const records = new Map<string, number>()
  for (const { topic, partition } of places) records.set(topic, (records.get(topic) ?? 0) + (ends.get(partitionKey(topic, partition)) ?? 0))
  return records
}

/**
 * Returns the number of new records per tweet, by topic. Topics with less than one record per thousand tweets are
 * omitted.
 */
function increase(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>, tweets: number): Map<string, number> {
  const more = [...after].map(([topic, count]) => [topic, (count - (before.get(topic) ?? 0)) / tweets] as const)
  return new Map(more.filter(([, each]) => each >= LEAST_SHOWN))
}

async function produce(transport: Transport, servers: BenchServers, backlog: Backlog): Promise<void> {
  const producer = await tweetProducer(transport, registryClient({ url: servers.addresses.registry }))
  for (const { tweet, sentAt } of backlog.tweets) {
    producer.send(tweet, sentAt)
    if (producer.isFull) await producer.flush()
  }
  await producer.flush()
  await producer.close()
}

/**
 * Waits until the volumes in ClickHouse add up to the number of contributions. This shows that the pipeline and its
 * sink have lost no contribution and counted none twice.
 * @throws Error when ClickHouse contains too many contributions, or too few after VERIFY_TIMEOUT_MS, or when a worker
 * has ended
 */
export async function verifyContributions(servers: BenchServers, workers: readonly WorkerProcess[], expected: number): Promise<void> {
  const deadline = Date.now() + VERIFY_TIMEOUT_MS
  for (;;) {
    for (const worker of workers) worker.check()
    const counted = await servers.query(COUNTED).catch(() => 0)
    if (counted === expected) return
    if (counted > expected || Date.now() > deadline) throw new Error(`${counted} contributions were counted, but ${expected} were expected`)
    await delay(VERIFY_EVERY_MS)
  }
}
