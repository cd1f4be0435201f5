import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateBackend } from '../../../state/stores/store.ts'
import type { QueryAccess } from '../queries/state-endpoint.ts'
import type { EngineMetrics, Introspection } from './introspection.ts'
import type { Runner } from './runner.ts'

export interface HostOptions {
  /** 0 chooses a free one. */
  readonly healthPort: number
  readonly healthHost: string
  /** Where other processes reach the health port. Default http://<healthHost>:<port>. */
  readonly address?: string
  /** Who may ask for state. Undefined: everybody where the port is a loopback one, nobody else. */
  readonly queryToken?: string
}

export interface HostDeps {
  readonly backend: StateBackend
  readonly runtime: Runtime
  /** Makes what this process runs; the metrics are for its commits, the address is what it tells the other workers. */
  readonly runners: (metrics: EngineMetrics, address: string) => readonly Runner[]
}

/** One worker process: several topologies and sinks on one database, observable over HTTP. */
export interface Host {
  readonly healthPort: number
  /** Resolves when every worker has joined its group and every sink reads; rejects when one of them cannot start. */
  readonly started: Promise<void>
  /** Resolves when all has stopped in order; rejects with the first failure, after everything else was stopped. */
  readonly done: Promise<void>
  stop(): Promise<void>
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/** State may hold what not everybody in the network should see. */
function queryAccess({ queryToken, healthHost }: HostOptions): QueryAccess {
  if (queryToken !== undefined) return { token: queryToken }
  return LOOPBACK.test(healthHost) ? 'open' : 'off'
}

/** Health answers from the first moment on, so that a start that takes long (restore, a broker that is away) can be watched. */
export async function startHost(options: HostOptions, deps: HostDeps): Promise<Host> {
  const { backend, runtime } = deps
  // Loaded here so that processes that only declare topologies never load the metrics library.
  const { engineMetrics, serveIntrospection } = await import('./introspection.ts')
  let runners: readonly Runner[] = []
  let stopping = false
  const metrics = engineMetrics(() => runners, backend)
  const introspection: Introspection = await serveIntrospection({
    port: options.healthPort,
    host: options.healthHost,
    runners: () => runners,
    metrics,
    isStopping: () => stopping,
    queryAccess: queryAccess(options),
  })
  runners = deps.runners(metrics, options.address ?? `http://${options.healthHost}:${introspection.port}`)
  runtime.log.info({ health_port: introspection.port, runs: runners.map((runner) => runner.name) }, 'host_started')

  async function stop(): Promise<void> {
    stopping = true
    await Promise.allSettled(runners.map((runner) => runner.stop()))
  }

  async function runOne(runner: Runner, starting: Promise<void>): Promise<void> {
    await starting
    await runner.done
    if (!stopping) throw new Error(`${runner.name} ended by itself`)
  }

  async function runAll(starts: readonly Promise<void>[]): Promise<void> {
    try {
      await Promise.all(runners.map((runner, i) => runOne(runner, starts[i])))
    } catch (error) {
      if (stopping) return
      runtime.log.error({ err: error }, 'host_failed')
      throw error
    } finally {
      await stop()
      await introspection.close()
    }
  }

  const starts = runners.map((runner) => runner.start())
  const started = Promise.all(starts).then(() => {})
  const done = runAll(starts)
  // Those who wait for these promises get the failure.
  for (const promise of [started, done]) promise.catch(() => {})
  return {
    healthPort: introspection.port,
    started,
    done,
    async stop() {
      await stop()
      await done.catch(() => {})
    },
  }
}
