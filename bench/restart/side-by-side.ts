import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../deploy/local/wait.ts'
import { KEEP_ALL, PARTITIONS } from '../engine/job.ts'
import type { Contender } from './contenders.ts'
import type { Endings } from './endings.ts'
import { jobEnvironment } from './job-environment.ts'
import { fill, type TimedStream, timedStream } from './load.ts'
import { paymentFormat } from './payments.ts'
import type { Place } from './scenarios.ts'

const BASELINE_MS = 4_000
/**
 * How long standbys have to catch up once the state is filled. This time is short, because they copy the state while it
 * is being filled.
 */
const COPYING_MS = 10_000
/** The partitions count as flowing while no record has been in flight for longer than this. */
const FLOWING_MS = 1_000
/**
 * How long all partitions must have been flowing. A shorter time is not enough, because a fault affects latencies only
 * after a while.
 */
const STEADY_MS = 3_000
/** Time limit for recovery. A session of Kafka Streams times out after 45 s, and the restore begins after that. */
const DEADLINE_MS = 240_000
const LOOK_MS = 50
/** Latency above which a partition counts as stalled. */
const STOOD_MS = 1_000

/** Latencies, from sending a record until a reader receives its result. */
export interface SideBySide {
  /** Longest latency of a record before the fault or change, in ms. */
  readonly before: number
  /** Longest latency of a record, in ms, from the fault or change until all partitions were flowing again. */
  readonly longest: number
  /** How many of the four input partitions had at least one record with a latency of more than a second. */
  readonly stood: number
}

/** A fault or a membership change, and the group that it affects. */
export interface Mishap {
  /** Number of processes before the fault or change. */
  readonly processes: number
  readonly standby: 0 | 1
  readonly happen: (of: MishapDeps) => Promise<void>
}

interface MishapDeps {
  /** The processes of the contender, by slot. */
  readonly processes: Endings[]
  /** Starts the process of a slot. The process continues with the previous state of the slot, if there is any. */
  readonly again: (slot: number) => void
  /** Waits until all partitions have been flowing for a while. */
  readonly flowing: () => Promise<void>
  /** Waits until this many processes have partitions. */
  readonly working: (processes: number) => Promise<void>
}

async function loseOne({ processes, flowing }: MishapDeps): Promise<void> {
  await processes[1].kill()
  await flowing()
}

export const MISHAPS: Readonly<Record<'kill' | 'rolling' | 'failover' | 'add' | 'lose', Mishap>> = {
  kill: {
    processes: 3,
    standby: 0,
    async happen({ processes, again, flowing }) {
      await processes[1].kill()
      again(1)
      await flowing()
    },
  },
  rolling: {
    processes: 3,
    standby: 0,
    async happen({ processes, again, flowing }) {
      for (const slot of processes.keys()) {
        await processes[slot].stop()
        again(slot)
        await flowing()
      }
    },
  },
  failover: {
    processes: 3,
    standby: 0,
    happen: loseOne,
  },
  add: {
    processes: 2,
    standby: 1,
    async happen({ again, flowing, working }) {
      again(2)
      await working(3)
      await flowing()
    },
  },
  lose: {
    processes: 3,
    standby: 1,
    happen: loseOne,
  },
}

/**
 * Runs job J2 with exactly-once processing in several processes of a contender, under a steady stream, and causes a
 * fault or a membership change. Verifies that no payment of the stream is lost or output twice.
 */
export async function sideBySide(place: Place, contender: Contender, keys: number, rate: number, mishap: Mishap): Promise<SideBySide> {
  const { brokers, folder, transport } = place
  const group = `bench-side-${randomUUID().slice(0, 8)}`
  const { input, output } = jobEnvironment(brokers, group)
  await transport.ensureTopics([input, output].map((name) => ({ name, partitions: PARTITIONS, config: KEEP_ALL })))
  const load = { input, output, partitions: PARTITIONS, keys, format: paymentFormat(PARTITIONS) }
  const { standby } = mishap
  const environment = (slot: number) => ({ ...jobEnvironment(brokers, group), standby, stateDir: join(folder, group, String(slot)) })
  const processes = Array.from({ length: mishap.processes }, (_, slot) => contender.start(environment(slot)))
  const working = (count: number) =>
    waitUntil(async () => (await contender.workingMembers(brokers, group)) === count, {
      what: 'waiting until each process has partitions',
      timeoutMs: DEADLINE_MS,
      intervalMs: LOOK_MS,
    })
  const again = (slot: number) => {
    processes[slot] = contender.start(environment(slot))
  }
  let stream: TimedStream | undefined
  try {
    // All processes must be running before the state is filled. Kafka Streams would assign partitions to a process that
    // joins later only after the process has copied their state.
    await working(mishap.processes)
    await fill(transport, input, load)
    stream = await timedStream(transport, load, rate)
    const flowing = () => untilSteady(stream!)
    await flowing()
    if (standby > 0) await delay(COPYING_MS)
    stream.takeLongest()
    await delay(BASELINE_MS)
    const before = Math.max(...stream.takeLongest())
    await mishap.happen({ processes, again, flowing, working })
    const longest = stream.takeLongest()
    return { before, longest: Math.max(...longest), stood: longest.filter((ms) => ms > STOOD_MS).length }
  } finally {
    await Promise.all(processes.map((each) => each.kill()))
    await stream?.stop()
    rmSync(join(folder, group), { recursive: true, force: true })
  }
}

async function untilSteady(stream: TimedStream): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  let since = performance.now()
  while (performance.now() - since < STEADY_MS) {
    if (performance.now() > deadline) {
      throw new Error(
        `records did not flow steadily through all partitions within ${DEADLINE_MS} ms; the oldest record has been in flight for ${Math.round(stream.oldest())} ms`,
      )
    }
    await delay(LOOK_MS)
    if (stream.oldest() > FLOWING_MS) since = performance.now()
  }
}
