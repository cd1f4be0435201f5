import { kafkaTransport } from '../../kafka/client/index.ts'
import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import { FencedError, type Transport, TransportError } from '../../kafka/transport.ts'
import type { MemberIdentity, Runner } from '../../pipelines/engine/index.ts'
import type { Topology } from '../../pipelines/engine/topology/topology.ts'
import { createWorker, type Worker } from '../../pipelines/engine/worker/worker.ts'
import type { Guarantee, WorkerConfig, WorkerDeps } from '../../pipelines/engine/worker/worker-config.ts'
import { StateUnavailable } from '../../state/stores/errors.ts'
import { type MemoryDisk, memoryBackend, memoryDisk } from '../../state/stores/memory-backend.ts'
import type { StateBackend } from '../../state/stores/store.ts'
import type { Cluster } from './cluster/cluster.ts'
import type { Network } from './network.ts'
import { type SimulatedProcess, simulatedId, simulatedProcess } from './process.ts'
import { actor, type Scheduler } from './scheduler.ts'
import type { SimulatedSinks } from './stores/counter-sinks.ts'

/** How long a supervisor waits before it starts a process again, ms. */
const RESTART_MS = [50, 2_500] as const

/** Settings of workers that a plan may determine. */
export type WorkerSettings = Pick<WorkerConfig, 'commitIntervalMs' | 'cacheBytes' | 'keepPlaceOnStop' | 'keepStateMs' | 'compression'>

export interface SlotDeps {
  readonly scheduler: Scheduler
  readonly network: Network
  readonly cluster: Cluster
  readonly registry: SchemaRegistry
  readonly topology: Topology
  readonly sinks: SimulatedSinks | undefined
  readonly settings: WorkerSettings
  readonly warmUpMaxMs: number
  /** Request timeout of clients, ms; undefined for the client's default. */
  readonly requestTimeoutMs: number | undefined
  /** Whether the processes may be suspended in the middle of a turn of the event loop. */
  readonly isSuspended: boolean
  readonly guarantee: Guarantee
  /**
   * Decides whether a worker mistakes a live process for an ended one. Undefined if workers do not check each other.
   */
  readonly isMistaken: ((chance: number) => boolean) | undefined
  /** The addresses of the ended processes of all slots. */
  readonly ended: Set<string>
}

/** How long a worker waits for a machine to accept or refuse a connection, ms. */
const CONNECT_MS = [0.1, 3] as const
/**
 * Size of the batches of restores. It is so small that a restore can be killed between two writes, and that restores of
 * 15 records or more use the buffer for large restores.
 */
const RESTORE_BATCH_BYTES = 240

/** The supervisor that restarts processes. It never fails. */
const supervisor = actor('supervisor')

/** The environment of one worker: its state folder and its processes. Each process replaces the previous one. */
export interface Slot {
  readonly name: string
  /** The current process; undefined while none is running. */
  readonly process: SimulatedProcess | undefined
  readonly worker: Worker | undefined
  /** Unexpected errors that have ended processes in this slot. */
  readonly failures: readonly string[]
  start(): void
  /** Kills the process. Another process starts later. */
  kill(): void
  /** Deletes the slot's state folder, and with it the member's identity. No process may be running. */
  loseState(): void
  /** Makes the next `count` writes of the state fail; 0 lets all writes succeed again. */
  failWrites(count: number): void
  /** Stops the process gracefully. Another process starts later. */
  stop(): void
}

/**
 * Returns true for the errors that may end a process: the process cannot reach the brokers when it starts, was fenced
 * too often, or cannot write its state. In each case, the supervisor restarts the process.
 */
function isExpected(error: unknown): boolean {
  return error instanceof FencedError || error instanceof StateUnavailable || (error instanceof TransportError && !error.fatal)
}

type TransportDeps = Pick<SlotDeps, 'network' | 'cluster'> & Partial<Pick<SlotDeps, 'requestTimeoutMs'>>

export function openTransport(process: SimulatedProcess, { network, cluster, requestTimeoutMs }: TransportDeps): Transport {
  const { actor, runtime } = process
  const brokers = cluster.brokers.map(({ host, port }) => `${host}:${port}`)
  const newConnection: Parameters<typeof kafkaTransport>[1]['newConnection'] = (id, options) => network.connection(actor, id, options)
  return kafkaTransport({ brokers, clientId: actor.name.split('.')[0], requestTimeoutMs }, { runtime, newConnection })
}

export function slot(name: string, deps: SlotDeps): Slot {
  const { scheduler, network, registry, topology, sinks, settings, warmUpMaxMs, isSuspended, guarantee, isMistaken } = deps
  const { random, between } = scheduler.chance(name)
  const failures: string[] = []
  let disk: MemoryDisk = memoryDisk()
  let identity = newIdentity()
  let process: SimulatedProcess | undefined
  let worker: Worker | undefined
  let runners: readonly Runner[] = []
  /** The member id of this slot in each consumer group of sinks, keyed by group. */
  const members = new Map<string, string>()
  let count = 0
  let badWrites = 0
  let isStopping = false

  function newIdentity(): MemberIdentity {
    const memberId = simulatedId(random)
    return {
      memberId,
      transactionalId: `millrace-${topology.name}-${memberId}`,
      keepMemberId(next) {
        identity = { ...identity, memberId: next }
      },
    }
  }

  function start(): void {
    if (process !== undefined) return
    const own = simulatedProcess(`${name}.${++count}`, scheduler, { isSuspended })
    process = own
    isStopping = false
    live(own).then(
      () => exited(own, undefined),
      (error) => exited(own, error),
    )
  }

  async function live(own: SimulatedProcess): Promise<void> {
    const { runtime } = own
    const transport = openTransport(own, deps)
    try {
      await transport.connect()
      // Does not create a worker if the process is already being stopped.
      if (isStopping) return
      const created = createWorker(
        // The threshold is 0, because states in simulations never lack as many records as the default threshold
        // requires.
        { topology, guarantee, ...settings, warmUpMaxMs, warmUpLeastRecords: 0, stopGraceMs: 5_000 },
        { transport, registry, backend: failing(memoryBackend(disk)), identity, runtime, ...watchOf(own) },
      )
      worker = created
      await created.start()
      // Does not open the sinks if the process is already being stopped.
      runners = isStopping
        ? []
        : (sinks?.open({ process: own, transport, registry, memberOf: (groupId) => ({ ...memberOf(groupId), ...watchOf(own) }) }) ?? [])
      await Promise.all([created.done, ...runners.map((runner) => runner.start().then(() => runner.done))])
    } finally {
      await transport.close()
    }
  }

  /**
   * Returns what a worker needs in order to check whether the processes of other workers have ended. The name of a
   * process serves as its address.
   */
  function watchOf({ actor, runtime }: SimulatedProcess): Pick<WorkerDeps, 'address' | 'hasEnded'> {
    if (isMistaken === undefined) return {}
    const { random: chance, between: within } = scheduler.chance(`${actor.name} watches`)
    return {
      address: `http://${actor.name}`,
      async hasEnded(address) {
        await runtime.sleep(within(...CONNECT_MS))
        return deps.ended.has(address) || isMistaken(chance())
      },
    }
  }

  function memberOf(groupId: string): Pick<MemberIdentity, 'memberId' | 'keepMemberId'> {
    const memberId = members.get(groupId) ?? simulatedId(random)
    const keepMemberId = (next: string) => void members.set(groupId, next)
    keepMemberId(memberId)
    return { memberId, keepMemberId }
  }

  function failing(backend: StateBackend): StateBackend {
    function writing<Part extends { write(): void }>(part: Part): Part {
      return {
        ...part,
        write() {
          if (badWrites > 0) {
            badWrites--
            throw new StateUnavailable('writing the state', new Error('no space left on device'))
          }
          part.write()
        },
      }
    }
    return {
      ...backend,
      session(name) {
        const session = backend.session(name)
        return { ...writing(session), takeBatch: () => writing(session.takeBatch()) }
      },
      copySession: (name) => ({ ...backend.copySession(name), batchBytes: RESTORE_BATCH_BYTES }),
    }
  }

  function exited(own: SimulatedProcess, error: unknown): void {
    if (process !== own) return
    if (error !== undefined && !isExpected(error)) failures.push(String(error))
    scheduler.note(`${own.actor.name} exits ${error === undefined ? 'gracefully' : String(error)}`)
    end(own)
  }

  function end(own: SimulatedProcess): void {
    own.actor.alive = false
    deps.ended.add(`http://${own.actor.name}`)
    network.cut((client) => client === own.actor)
    process = undefined
    worker = undefined
    runners = []
    scheduler.after(between(...RESTART_MS), supervisor, `starts ${name}`, start)
  }

  return {
    name,
    get process() {
      return process
    },
    get worker() {
      return worker
    },
    failures,
    start,
    kill() {
      if (process !== undefined) end(process)
    },
    loseState() {
      disk = memoryDisk()
      identity = newIdentity()
      members.clear()
    },
    failWrites(next) {
      badWrites = next
    },
    stop() {
      isStopping = true
      void worker?.stop()
      for (const runner of runners) void runner.stop()
    },
  }
}
