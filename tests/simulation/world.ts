import { memoryRegistry } from '../../kafka/memory/registry.ts'
import type { Publisher } from '../../kafka/transport.ts'
import { simulatedCluster } from './cluster/cluster.ts'
import { handleRequest } from './cluster/requests.ts'
import { counter } from './counter.ts'
import { cause, FAULT_KINDS, type FaultDeps, mend } from './faults.ts'
import { type Network, network } from './network.ts'
import { simulatedProcess } from './process.ts'
import { actor, scheduler as newScheduler, type Trace } from './scheduler.ts'
import { shopSubject } from './shop-subject.ts'
import { openTransport, type Slot, slot } from './slot.ts'
import type { InputRecord, InputTimes } from './subject.ts'

export interface Outcome {
  readonly seed: number
  /** Empty when the output is exactly right. */
  readonly faults: readonly string[]
  /** Hashes everything that has happened. */
  readonly digest: string
  readonly events: number
  /** Milliseconds of simulated time. */
  readonly lasted: number
}

export const SUBJECTS = ['counter', 'shop'] as const

export interface SimulationOptions {
  /** Default `counter`. */
  readonly subject?: (typeof SUBJECTS)[number]
  readonly trace?: Trace
}

/** How long records and faults keep coming, ms. */
const TROUBLE_MS = [1_000, 8_000] as const
const MOST_RECORDS = 60
const MOST_FAULTS = 7
const SHARE_STANDBY = 0.3
const SHARE_SINKS = 0.3
/** Share of the clusters that start with version 1 of transactions, and of those that are upgraded during a run. */
const SHARE_VERSION_1 = 0.3
const SHARE_UPGRADED = 0.4
/** Share of the clusters whose producers soon have used up their epochs, and the first epoch of these. */
const SHARE_USED_UP = 0.15
const HIGH_EPOCH = 2 ** 15 - 12
/** Share of the kinds of faults that a run has. */
const SHARE_OF_KINDS = 0.4
/** How often an output is examined, ms. */
const LOOK_MS = 250
/** Sessions, transactions and the longest stall pass in less, so an output that is missing after it never comes, ms. */
const PATIENCE_MS = 90_000
/** How long a complete output is watched for records that nobody expects, ms. */
const CALM_MS = 1_000

/** Runs the world of a seed. Nothing but the seed and the code decides what happens in it. */
export async function simulate(seed: number, { subject: name = 'counter', trace }: SimulationOptions = {}): Promise<Outcome> {
  const scheduler = newScheduler(seed, trace)
  const { random, between } = scheduler
  const count = (most: number) => 1 + Math.floor(random() * most)
  const standby = random() < SHARE_STANDBY ? 1 : 0
  const storesOf = random() < SHARE_SINKS ? scheduler : undefined
  const subject = name === 'shop' ? shopSubject(standby) : counter({ partitions: count(3), standby, storesOf })
  const net: Network = network(scheduler, (host) => find(host))
  const { cluster, faults: clusterFaults, find } = simulatedCluster(scheduler, count(3), handleRequest, () => net)
  cluster.transactions.version = random() < SHARE_VERSION_1 ? 1 : 2
  if (random() < SHARE_USED_UP) cluster.transactions.firstEpoch = HIGH_EPOCH
  const registry = memoryRegistry()
  const commitIntervalMs = Math.floor(between(5, 120))
  const { topology, sinks } = subject
  const deps = { scheduler, network: net, cluster, registry, topology, sinks, commitIntervalMs }
  const slots: Slot[] = Array.from({ length: count(3) }, (_, at) => slot(`worker-${at + 1}`, deps))
  const faultDeps: FaultDeps = { scheduler, network: net, cluster, clusterFaults, slots, sinks }
  const kinds = FAULT_KINDS.filter((kind) => random() < SHARE_OF_KINDS && (kind !== 'clock' || subject.allowsWrongClocks))
  const troubleMs = between(...TROUBLE_MS)
  const records = count(MOST_RECORDS)
  const god = actor('world')
  let sent = 0
  let unacknowledged = 0
  const acknowledgedAt = new Map<number, number>()
  const lost: string[] = []

  const feeder = simulatedProcess('feeder', scheduler)
  const transport = openTransport(feeder, deps)
  async function prepare(): Promise<void> {
    await transport.connect()
    await transport.ensureTopics(subject.inputs.map(({ name: topic, partitions }) => ({ name: topic, partitions })))
    const publisher = transport.publisher()
    for (let i = 0; i < records; i++) scheduler.after(between(0, troubleMs), feeder.actor, 'sends a record', () => send(publisher))
    for (const each of slots) scheduler.after(between(0, troubleMs / 2), god, `starts ${each.name}`, each.start)
    if (random() < SHARE_UPGRADED) scheduler.after(between(0, troubleMs), god, 'enables transactions of version 2', upgrade)
    if (kinds.length === 0) return
    for (let i = count(MOST_FAULTS); i > 0; i--) {
      const kind = kinds[Math.floor(random() * kinds.length)]
      scheduler.after(between(0, troubleMs), god, `causes ${kind}`, () => cause(kind, faultDeps))
    }
  }

  function upgrade(): void {
    cluster.transactions.version = 2
  }

  function send(publisher: Publisher): void {
    const number = sent++
    publish(publisher, number, subject.input(number, random, feeder.runtime.now()))
    if (sent === records) publish(publisher, -1, subject.end(feeder.runtime.now()))
  }

  function publish(publisher: Publisher, number: number, of: readonly InputRecord[]): void {
    let missing = of.length
    unacknowledged += missing
    const receipt = {
      settled(settled: number, error: Error | undefined) {
        missing -= settled
        unacknowledged -= settled
        if (missing === 0) acknowledgedAt.set(number, feeder.runtime.now())
        if (error !== undefined) lost.push(`a record was not accepted: ${error.message}`)
      },
    }
    for (const record of of) {
      const [key, value] = [Buffer.from(record.key), Buffer.from(record.value)]
      publisher.appender(record.topic, record.partition).append(receipt, record.timestamp, key, 0, key.length, value, 0, value.length)
    }
  }

  let prepared = false
  prepare().then(
    () => {
      prepared = true
    },
    (error) => lost.push(`the feeder failed: ${String(error)}`),
  )
  await scheduler.run(troubleMs, () => false)
  scheduler.note('the trouble ends')
  mend(faultDeps)
  const deadline = scheduler.now() + PATIENCE_MS
  const times = (): InputTimes => ({ acknowledgedAt, now: feeder.runtime.now() })
  const isComplete = () => prepared && sent === records && unacknowledged === 0 && subject.isComplete(cluster, times())
  while (!isComplete() && scheduler.now() < deadline) await scheduler.run(scheduler.now() + LOOK_MS, () => false)
  const late = isComplete() ? [] : [`the output is incomplete after ${PATIENCE_MS / 1_000} s`]
  await scheduler.run(scheduler.now() + CALM_MS, () => false)
  const failures = slots.flatMap(({ name, failures: errors }) => errors.map((error) => `${name} failed: ${error}`))
  return {
    seed,
    faults: [...lost, ...late, ...subject.deviations(cluster, records, times()), ...failures],
    digest: scheduler.digest(),
    events: scheduler.events,
    lasted: scheduler.now(),
  }
}
