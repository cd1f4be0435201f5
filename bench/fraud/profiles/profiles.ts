import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { registryClient } from '../../../kafka/registry.ts'
import type { Transport } from '../../../kafka/transport.ts'
import { txnScored } from '../../../schemas/fraud/topics.ts'
import { profileKeys } from '../../../state/views/fraud/profiles.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { type TopicProducer, topicProducer } from '../../../tools/topic-producer.ts'
import { benchConfig } from '../../engine/config.ts'
import { ContenderEndedError, peerContender } from '../../engine/contender.ts'
import { JOBS } from '../../engine/jobs.ts'
import { loadInput } from '../../engine/load.ts'
import { measureRun } from '../../engine/measure.ts'
import engineDeclaration from '../../engine/run.command.ts'
import { benchTransport } from '../../harness/broker.ts'
import { startWorkerProcess, untilReady } from '../../harness/node-process.ts'
import { machineLoad } from '../../harness/process-stats.ts'
import { type BenchServers, startServers } from '../../harness/servers.ts'
import { median, quantile, row } from '../../harness/table.ts'
import { runTopology } from '../../harness/topology-run.ts'
import { whereInstalled } from '../../peer-missing.ts'
import { benchPayments, type Spread } from '../score/payments.ts'
import { scoredPayment } from './scored-payment.ts'

export interface ProfilesOptions {
  readonly users: number
  /** Number of transactions in a backlog. */
  readonly records: number
  readonly rounds: number
  readonly prof: string | undefined
}

type Say = (line: string) => void

interface Figures {
  readonly perSecond: number
  readonly warmPerSecond: number
  /** CPU seconds per million records. */
  readonly cpu: number
}

const TOPOLOGY = { module: 'pipelines/fraud/profiles/topology.ts', export: 'fraudProfilesTopology', group: 'fraud-profiles' }
const BY_ENTITY = 'fraud-profiles-changes-repartition'
const SPREADS: readonly Spread[] = ['spread', 'hot IP', 'hot merchant']
const SEED = 5
/** Number of other transactions per second while the benchmark measures how soon a profile is in Redis. */
const PACE = 1_000
const PACE_STEP_MS = 10
const SAMPLES = 200
const SAMPLE_EVERY_MS = 50
const POLL_MS = 2
const MS_PER_SECOND = 1_000
const ARRIVAL_TIMEOUT_MS = 60_000

/**
 * Measures how fast the topology fraud-profiles processes a backlog, and how soon profiles are in Redis. For
 * comparison, Kafka Streams runs job J2.
 */
export async function measureProfiles(folder: string, options: ProfilesOptions, say: Say): Promise<void> {
  const servers = await startServers(join(folder, 'profiles'))
  const transport = benchTransport(servers.addresses.kafka)
  try {
    await transport.connect()
    // The arrival in Redis is measured first, because the backlogs make the changelog large. After the backlogs, the
    // worker of this measurement would have to restore this large state.
    await measureArrival(servers, transport, folder, say)
    await measureBacklogs(servers, transport, folder, options, say)
  } finally {
    await transport.close()
    await servers.stop()
  }
}

async function measureBacklogs(
  servers: BenchServers,
  transport: Transport,
  folder: string,
  { users, records, rounds, prof }: ProfilesOptions,
  say: Say,
): Promise<void> {
  say(
    `\n### fraud-profiles alone processes a backlog of ${records} transactions of ${users} users (target: 15,000/s; load before: ${machineLoad()})\n`,
  )
  const payment = benchPayments(users, seededRandom(SEED))
  const streams = await kafkaStreams(transport, records, folder, say)
  const runs = new Map<string, Figures[]>()
  const add = (label: string, run: Figures) => runs.set(label, [...(runs.get(label) ?? []), run])
  for (let round = 0; round < rounds; round++) {
    for (const spread of SPREADS) {
      await send(servers, transport, records, () => payment(spread))
      add(`fraud-profiles, ${spread}`, await runTopology(servers, { ...TOPOLOGY, topics: [txnScored.name, BY_ENTITY], records, prof }))
    }
    const run = await streams?.(servers)
    if (run !== undefined) add('Kafka Streams on J2, 1 thread', run)
  }
  say(row(['', 'records/s (range)', 'second half', 'CPU s/M']))
  say(row(['---', '--:', '--:', '--:']))
  for (const [label, found] of runs) {
    const rates = found.map(({ perSecond }) => perSecond)
    const [least, most] = [Math.min(...rates), Math.max(...rates)].map((rate) => rate.toFixed(0))
    const warm = median(found.map(({ warmPerSecond }) => warmPerSecond)).toFixed(0)
    say(row([label, `${median(rates).toFixed(0)} (${least}-${most})`, warm, median(found.map(({ cpu }) => cpu)).toFixed(1)]))
  }
}

/**
 * Returns a function that runs Kafka Streams on `records` recorded payments; undefined if the peer's program or the
 * recording is missing.
 */
async function kafkaStreams(transport: Transport, records: number, folder: string, say: Say) {
  const asked = engineDeclaration.parse(['--job', 'J2'])
  if (asked === 'help') throw new Error('unexpected: the arguments were parsed as a request for help')
  const config = benchConfig(asked)
  const contender = await whereInstalled('Kafka Streams', () => peerContender('kafka-streams', config))
  if (contender === undefined) return undefined
  const topic = 'bench-j2-in'
  try {
    await loadInput(transport, topic, JOBS.J2.input(config.dataDir, records))
  } catch (error) {
    say(`skipping Kafka Streams: ${(error as Error).message}`)
    return undefined
  }
  return async ({ addresses, pids }: BenchServers): Promise<Figures | undefined> => {
    const group = `bench-j2-${randomUUID().slice(0, 8)}`
    const output = `${group}-out`
    await transport.ensureTopics([{ name: output, partitions: 4, config: { 'retention.ms': '-1' } }])
    const place = { brokers: addresses.kafka, input: topic, output, group, stateDir: join(folder, group) }
    const worker = { ...place, job: 'J2', guarantee: 'exactly-once', commitIntervalMs: 100, compression: 'none' } as const
    try {
      const { recordsPerSecond, warmRecordsPerSecond, cpu } = await measureRun({ contender, worker, records, brokerPid: pids.kafka })
      return { perSecond: recordsPerSecond, warmPerSecond: warmRecordsPerSecond, cpu }
    } catch (error) {
      if (!(error instanceof ContenderEndedError)) throw error
      say(`skipping Kafka Streams: ${error.message}; check that it is built and that PEERS_BUILD is set to its build folder`)
      return undefined
    }
  }
}

async function send({ addresses }: BenchServers, transport: Transport, records: number, body: () => string): Promise<void> {
  const producer = await topicProducer(txnScored)(transport, registryClient({ url: addresses.registry }))
  for (let index = 0; index < records; index++) {
    sendOne(producer, body())
    if (producer.isFull) await producer.flush()
  }
  await producer.flush()
  await producer.close()
}

/** Sends one payment and returns its user id. */
function sendOne(producer: TopicProducer<string, ReturnType<typeof scoredPayment>>, body: string): string {
  const now = Date.now()
  const scored = scoredPayment(body, now)
  producer.send(scored.request.payer.user_id, scored, now)
  return scored.request.payer.user_id
}

/** Measures the time from sending a user's first payment until the profile is in Redis, under a steady load. */
async function measureArrival(servers: BenchServers, transport: Transport, folder: string, say: Say): Promise<void> {
  const settings = { PIPELINES: 'fraud-profiles', STATE_DIR: join(folder, 'state', 'bulk'), LOG_LEVEL: 'info' }
  const worker = await startWorkerProcess([], { ...servers.env, ...settings })
  const redis = new Redis(servers.addresses.redis)
  const registry = registryClient({ url: servers.addresses.registry })
  const producer = await topicProducer(txnScored)(transport, registry)
  try {
    await untilReady(`http://127.0.0.1:${worker.line.health_port}`)
    const load = benchPayments(1_000, seededRandom(SEED + 1))
    const arrivals: Promise<number>[] = []
    const start = performance.now()
    let sent = 0
    for (let sample = 0; sample < SAMPLES; ) {
      const elapsed = performance.now() - start
      for (; sent < (elapsed * PACE) / MS_PER_SECOND; sent++) sendOne(producer, load('spread'))
      if (elapsed >= sample * SAMPLE_EVERY_MS) {
        const user = `sample-${sample++}`
        sendOne(producer, load('spread').replace(/"user_id":"\w+"/, `"user_id":"${user}"`))
        arrivals.push(untilHeld(redis, user))
      }
      await producer.flush()
      await delay(PACE_STEP_MS)
    }
    const sorted = (await Promise.all(arrivals)).sort((one, other) => one - other)
    const [p50, p99, most] = [quantile(sorted, 0.5), quantile(sorted, 0.99), sorted.at(-1)!].map((ms) => ms.toFixed(0))
    say(
      `\nTime from the event to the profile in Redis, at ${PACE} other transactions/s, ${SAMPLES} samples: P50 ${p50} ms, P99 ${p99} ms, maximum ${most} ms (target: P99 5 s).`,
    )
  } finally {
    redis.disconnect()
    await producer.close()
    await worker.stop()
  }
}

async function untilHeld(redis: Redis, user: string): Promise<number> {
  const start = performance.now()
  const { profile } = profileKeys(0, `user:${user}`)
  while ((await redis.exists(profile)) === 0) {
    if (performance.now() - start > ARRIVAL_TIMEOUT_MS)
      throw new Error(`the profile of ${user} was not in Redis within ${ARRIVAL_TIMEOUT_MS} ms`)
    await delay(POLL_MS)
  }
  return performance.now() - start
}
