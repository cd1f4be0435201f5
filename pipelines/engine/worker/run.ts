import type { KafkaOptions } from '../../../kafka/client/options.ts'
import { registryClient } from '../../../kafka/registry.ts'
import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import type { Transport } from '../../../kafka/transport.ts'
import { directOutput, STDOUT } from '../../../runtime/log-output.ts'
import type { Log, Runtime } from '../../../runtime/runtime.ts'
import { stopSignals } from '../../../runtime/stop-signals.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import type { StateQueries } from '../queries/queries.ts'
import type { Topology } from '../topology/topology.ts'
import { DEFAULT_KEEP_STATE_MS } from './assembly.ts'
import { endedProcesses } from './ended-processes.ts'
import { DEFAULT_ERASE_WITHIN_MS, keptStateMs, stateScrub } from './erasable-state.ts'
import { type HostOptions, startHost } from './host.ts'
import { memberIdentity } from './member-identity.ts'
import { createWorker, type Worker, type WorkerStatus } from './worker.ts'
import type { WorkerConfig, WorkerDeps } from './worker-config.ts'
import { workerRunner } from './worker-runner.ts'
import { erasableState } from './worker-topics.ts'

export interface RunOptions extends Partial<HostOptions>, Omit<WorkerConfig, 'topology'> {
  /** Addresses (`host:port`) of some brokers of the cluster, as an array or as a comma-separated string. */
  readonly brokers: string | readonly string[]
  /** URL or client of the schema registry. */
  readonly registry: string | SchemaRegistry
  /**
   * The folder for the worker's database and its identity in the consumer group. No other worker may use this folder. A
   * worker that restarts with the same folder gets its partitions back at once and restores only the changes that it
   * missed.
   */
  readonly stateFolder: string
  /**
   * Memory of the database in bytes.
   * @default 256 MiB
   */
  readonly memoryBudgetBytes?: number
  /**
   * Time, in ms, within which replaced and deleted values of erasable stores disappear from the state folder. The
   * worker rewrites the database of these stores at intervals of a quarter of this time.
   * @default 1 h
   */
  readonly eraseWithinMs?: number
  /** Client id, TLS, SASL and timeouts of the Kafka client. */
  readonly kafka?: Omit<Partial<KafkaOptions>, 'brokers'>
  /** The log of the worker. @default JSON lines of level info and above on stdout */
  readonly log?: Log
  /**
   * Makes SIGTERM and SIGINT stop the worker gracefully. After that, the process can exit. If the same signal arrives
   * again, the process ends immediately. Before the worker has joined its group, the first signal also ends the process
   * immediately, unless another worker is running in the process.
   */
  readonly stopOnSignals?: boolean
}

/** Handle of a worker that `run` has started. It can still be used after the worker has stopped. */
export interface RunningWorker {
  /**
   * Resolves when the worker has stopped cleanly and all connections and files are closed. Rejects when the worker has
   * failed.
   */
  readonly done: Promise<void>
  /**
   * Finishes the current records, commits, leaves the group (unless `keepPlaceOnStop` is set), and closes all
   * connections and files.
   */
  stop(): Promise<void>
  status(): WorkerStatus
  /** Queries on the committed state; undefined once the worker has stopped. */
  readonly queries: StateQueries | undefined
  /** The port of the HTTP server; undefined unless a `healthPort` was given. */
  readonly healthPort: number | undefined
}

const DEFAULT_HEALTH_HOST = '127.0.0.1'

/** A worker that has joined its group. */
interface Started {
  readonly worker: Worker
  readonly healthPort: number | undefined
  readonly done: Promise<void>
  stop(): Promise<void>
}

/**
 * Runs one topology in this process: connects to the brokers, opens the state folder, creates missing topics, registers
 * schemas and joins the group. With a `healthPort`, it also serves HTTP, even before it has joined.
 * @returns the worker once it has joined its group. Its tasks may still be restoring: see `status().ready`
 * @throws Error with a one-line message if an option is invalid, the brokers or the registry do not answer, another
 *   process uses the state folder, or the topology cannot run here
 * @example
 * const [brokers, registry] = ['localhost:9092', 'http://localhost:8081']
 * const worker = await run(trips, { brokers, registry, stateFolder: '/var/lib/trips' })
 * await worker.done
 */
export async function run(topology: Topology, options: RunOptions): Promise<RunningWorker> {
  // The imports are dynamic so that processes that only declare topologies load neither the database nor the Kafka
  // client.
  const { withReplaceableState } = await import('../../../state/stores/replaceable-state.ts')
  const runtime = systemRuntime(options.log ?? (await standardLog()))
  const { stateFolder: folder, eraseWithinMs = DEFAULT_ERASE_WITHIN_MS } = options
  if (!(eraseWithinMs > 0)) throw new Error('eraseWithinMs must be a positive number of milliseconds')
  const apartOf = erasableState([topology])
  const keepStateMs = keptStateMs(options.keepStateMs ?? DEFAULT_KEEP_STATE_MS, eraseWithinMs, apartOf !== undefined)
  const started = Promise.withResolvers<Started>()
  const signals = options.stopOnSignals === true ? stopSignals() : undefined
  const done = withReplaceableState(
    { folder, memoryBudgetBytes: options.memoryBudgetBytes, apartOf },
    (reason) => runtime.log.error({ err: reason, folder }, 'state_deleted'),
    async (backend) => {
      const transport = await connect(topology, options, runtime)
      const scrub = apartOf && stateScrub(backend, eraseWithinMs, runtime)
      // The scrub may fail before the worker has started, when nothing can be stopped yet.
      scrub?.done.catch(() => {})
      try {
        // Values must be erased in time even if the worker takes long to join its group.
        await scrub?.start()
        const worker = await start(topology, { ...options, keepStateMs }, { transport, backend, runtime })
        scrub?.done.catch(() => worker.stop())
        started.resolve(worker)
        await worker.done
      } finally {
        await scrub?.stop()
        await transport.close()
      }
      await scrub?.done
    },
  )
  done.catch(started.reject)
  if (signals !== undefined) done.then(signals.remove, signals.remove)
  const { worker, healthPort, stop: stopWorker } = await started.promise

  async function stop(): Promise<void> {
    await stopWorker()
    await done.catch(() => {}) // `done` reports the failure.
  }

  signals?.stopWith(() => void stop())
  return {
    done,
    stop,
    status: () => worker.status(),
    get queries() {
      return worker.queries
    },
    healthPort,
  }
}

async function standardLog(): Promise<Log> {
  const { pino } = await import('pino')
  const log: Log = pino({ messageKey: 'event', timestamp: pino.stdTimeFunctions.isoTime }, directOutput(STDOUT))
  return log
}

async function connect(topology: Topology, { brokers, kafka }: RunOptions, runtime: Runtime): Promise<Transport> {
  const { kafkaTransport } = await import('../../../kafka/client/index.ts')
  const addresses = typeof brokers === 'string' ? brokers.split(',').map((address) => address.trim()) : [...brokers]
  const transport = transportOf(() => kafkaTransport({ clientId: topology.name, ...kafka, brokers: addresses }, { runtime }))
  try {
    await transport.connect()
    return transport
  } catch (error) {
    await transport.close()
    throw error
  }
}

/**
 * Creates the transport. The validation schema reports invalid options as JSON over many lines, so the error is
 * converted to a single line for the user.
 */
function transportOf(open: () => Transport): Transport {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof Error && 'issues' in error)) throw error
    const issues = error.issues as readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]
    throw new Error(issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`).join('; '), { cause: error })
  }
}

async function start(
  topology: Topology,
  options: RunOptions,
  deps: Pick<WorkerDeps, 'transport' | 'backend' | 'runtime'>,
): Promise<Started> {
  const registry = typeof options.registry === 'string' ? registryClient({ url: options.registry }) : options.registry
  const identity = memberIdentity(options.stateFolder, topology.name, deps.runtime)
  const create = (more: Pick<WorkerDeps, 'address' | 'hasEnded' | 'onCommit'>) =>
    createWorker({ ...options, topology }, { ...deps, registry, identity, ...more })
  const { healthPort, healthHost = DEFAULT_HEALTH_HOST } = options
  if (healthPort === undefined) {
    const worker = create({})
    await worker.start()
    return { worker, healthPort, done: worker.done, stop: worker.stop }
  }
  const hosted: Worker[] = []
  const host = await startHost(
    { ...options, healthPort, healthHost },
    {
      ...deps,
      runners(metrics, address) {
        const onCommit = (seconds: number) => metrics.observeCommit(topology.name, seconds)
        hosted.push(create({ address, hasEnded: endedProcesses(deps.runtime), onCommit }))
        return hosted.map(workerRunner)
      },
    },
  )
  await host.started
  return { worker: hosted[0], healthPort: host.healthPort, done: host.done, stop: host.stop }
}
