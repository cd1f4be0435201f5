import { memoryRegistry } from '../../kafka/memory/registry.ts'
import type { Publisher } from '../../kafka/transport.ts'
import { bank } from './bank.ts'
import { chanceOf } from './chance.ts'
import { simulatedCluster } from './cluster/cluster.ts'
import { handleRequest } from './cluster/requests.ts'
import { counter } from './counter.ts'
import { cause, type FaultDeps, type FaultKind, mend } from './faults.ts'
import { type Network, network } from './network.ts'
import type { Plan, PlannedRecord } from './plan.ts'
import { simulatedProcess } from './process.ts'
import { actor, scheduler as newScheduler, type Scheduler, type Trace } from './scheduler.ts'
import { shopSubject } from './shop-subject.ts'
import { openTransport, type Slot, slot } from './slot.ts'
import type { InputRecord, InputTimes, Subject } from './subject.ts'
import { trendsSubject } from './trends-subject.ts'

export interface Outcome {
  readonly seed: number
  /**
   * Errors of the run: wrong or missing output, workers that ended with an unexpected error, and input that was not
   * accepted. Empty if there are none.
   */
  readonly faults: readonly string[]
  /** A hash of everything that has happened. */
  readonly digest: string
  readonly events: number
  /** How long the run lasted, in milliseconds of simulated time. */
  readonly lasted: number
}

/** Interval between checks of the output, ms. */
const LOOK_MS = 250
/**
 * How long the output may take to become complete after the faults, ms. Every session, transaction and stall ends
 * within this time, so output that is still missing is lost.
 */
const PATIENCE_MS = 90_000
/** How long to watch a complete output for surplus records, ms. */
const CALM_MS = 500

/** Faults that make requests wait in the network or in a broker. */
const LATE_KINDS: ReadonlySet<FaultKind> = new Set(['partition', 'hang', 'isolate'])

function subjectOf({ subject, partitions, standby, sinks, guarantee, padding, judgedByAppend }: Plan, scheduler: Scheduler): Subject {
  if (subject === 'shop') return shopSubject(standby)
  if (subject === 'trends') return trendsSubject({ partitions })
  if (subject === 'bank') return bank({ partitions, standby, judgedByAppend })
  return counter({ partitions, standby, guarantee, padding, storesOf: sinks ? scheduler : undefined })
}

/** Runs the world of a plan. The same plan always gives the same events and the same result. */
export async function runPlan(plan: Plan, trace?: Trace): Promise<Outcome> {
  const { seed, troubleMs, upgradedAt, settings, warmUpMaxMs = 0, requestTimeoutMs, isSuspended = false, guarantee, mistakenlyEnded } = plan
  const scheduler = newScheduler(seed, trace)
  const subject = subjectOf(plan, scheduler)
  const net: Network = network(scheduler, (host) => find(host))
  const { cluster, faults: clusterFaults, find } = simulatedCluster(scheduler, plan.brokers, handleRequest, () => net)
  cluster.transactions.version = plan.transactionVersion
  cluster.transactions.firstEpoch = plan.firstEpoch
  const registry = memoryRegistry()
  const { topology, sinks } = subject
  const ended = new Set<string>()
  const isMistaken = mistakenlyEnded === undefined ? undefined : (chance: number) => chance < mistakenlyEnded && scheduler.now() < troubleMs
  const ofWorkers = { settings, warmUpMaxMs, requestTimeoutMs, isSuspended, guarantee, isMistaken, ended }
  const deps = { scheduler, network: net, cluster, registry, topology, sinks, ...ofWorkers }
  const slots: Slot[] = plan.workers.map((_, at) => slot(`worker-${at + 1}`, deps))
  const sources = new Set(topology.subTopologies.flatMap((part) => part.sources))
  const faultDeps: FaultDeps = { scheduler, network: net, cluster, clusterFaults, slots, sinks, sources, growing: subject.growing }
  const god = actor('world')
  const sent: number[] = []
  let unacknowledged = 0
  const acknowledgedAt = new Map<number, number>()
  const lost: string[] = []

  const feeder = simulatedProcess('feeder', scheduler)
  const transport = openTransport(feeder, deps)
  async function prepare(): Promise<void> {
    await transport.connect()
    await subject.prepare?.(registry, feeder.runtime)
    await transport.ensureTopics(subject.inputs.map(({ name: topic, partitions, config }) => ({ name: topic, partitions, config })))
    const publisher = transport.publisher()
    const at = (time: number) => Math.max(0, time - scheduler.now())
    for (const record of plan.records) scheduler.after(at(record.at), feeder.actor, 'sends a record', () => send(publisher, record))
    scheduler.after(at(troubleMs), feeder.actor, 'ends the input', () => end(publisher))
    plan.workers.forEach((time, i) => void scheduler.after(at(time), god, `starts ${slots[i].name}`, slots[i].start))
    if (upgradedAt !== null) scheduler.after(at(upgradedAt), god, 'enables transactions of version 2', upgrade)
    for (const fault of plan.faults) scheduler.after(at(fault.at), god, `causes ${fault.kind}`, () => cause(fault, faultDeps))
  }

  function upgrade(): void {
    cluster.transactions.version = 2
  }

  function send(publisher: Publisher, { number, chance }: PlannedRecord): void {
    sent.push(number)
    publish(publisher, number, subject.input(number, chanceOf(chance).random, feeder.runtime.now(), partitionsOf))
  }

  const partitionsOf = (topic: string) => cluster.topics.get(topic)?.logs.length ?? 0
  let inputEnded = false
  function end(publisher: Publisher): void {
    inputEnded = true
    publish(publisher, -1, subject.end(feeder.runtime.now()))
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
      const [key, value] = [Buffer.from(record.key), typeof record.value === 'string' ? Buffer.from(record.value) : record.value]
      publisher.appender(record.topic, record.partition).append(receipt, record.timestamp, key, 0, key.length, value, 0, value.length)
    }
  }

  prepare().catch((error) => lost.push(`the feeder failed: ${String(error)}`))
  await scheduler.run(troubleMs, () => false)
  scheduler.note('the trouble ends')
  mend(faultDeps)
  const deadline = scheduler.now() + PATIENCE_MS
  const clocksWereWrong = plan.faults.some(({ kind }) => kind === 'clock')
  const requestsWereLate = plan.faults.some(({ kind }) => LATE_KINDS.has(kind))
  const times = (): InputTimes => ({ acknowledgedAt, now: feeder.runtime.now(), clocksWereWrong, requestsWereLate })
  const isComplete = () => inputEnded && unacknowledged === 0 && subject.isComplete(cluster, times())
  while (!isComplete() && scheduler.now() < deadline) await scheduler.run(scheduler.now() + LOOK_MS, () => false)
  const late = isComplete() ? [] : [`the output is incomplete after ${PATIENCE_MS / 1_000} s`]
  await scheduler.run(scheduler.now() + CALM_MS, () => false)
  const failures = slots.flatMap(({ name, failures: errors }) => errors.map((error) => `${name} failed: ${error}`))
  return {
    seed,
    faults: [...lost, ...late, ...subject.deviations(cluster, sent, times()), ...failures],
    digest: scheduler.digest(),
    events: scheduler.events,
    lasted: scheduler.now(),
  }
}
