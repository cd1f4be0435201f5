import { isIPv6 } from 'node:net'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateBackend } from '../../../state/stores/store.ts'
import type { QueryAccess } from '../queries/state-endpoint.ts'
import type { EngineMetrics, Introspection } from './introspection.ts'
import type { Runner } from './runner.ts'

export interface HostOptions {
  /** The port of the health server; 0 chooses a free one. */
  readonly healthPort: number
  readonly healthHost: string
  /** The address at which other processes reach the health port. Default http://<healthHost>:<port>. */
  readonly address?: string
  /**
   * The token for state queries. If it is undefined, queries need no token when the health server listens on a loopback
   * address, and are refused otherwise.
   */
  readonly queryToken?: string
}

export interface HostDeps {
  readonly backend: StateBackend
  readonly runtime: Runtime
  /**
   * Creates the runners of this process. The runners report commits to the metrics and publish the address to the other
   * workers.
   */
  readonly runners: (metrics: EngineMetrics, address: string) => readonly Runner[]
}

/** One worker process: several topologies and sinks on one database, with an HTTP server for health and metrics. */
export interface Host {
  readonly healthPort: number
  /**
   * Resolves when every worker has joined its group. Sinks and jobs may still be connecting to their servers. Rejects
   * when a worker cannot start.
   */
  readonly started: Promise<void>
  /**
   * Resolves when all runners have ended after `stop`. If one of them ends earlier, the host stops all others, and the
   * promise then rejects.
   */
  readonly done: Promise<void>
  stop(): Promise<void>
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/**
 * Returns who may query state. Access is restricted, because state may contain data that not every client in the
 * network may see.
 */
function queryAccess({ queryToken, healthHost }: HostOptions): QueryAccess {
  if (queryToken !== undefined) return { token: queryToken }
  return LOOPBACK.test(healthHost) ? 'open' : 'off'
}

/**
 * Returns the host names by which local programs reach the health port on a loopback address; undefined for any other
 * address, because its host names are unknown.
 */
function localNames({ healthHost, address = '' }: HostOptions): string[] | undefined {
  if (!LOOPBACK.test(healthHost)) return undefined
  return URL.canParse(address) ? [healthHost, new URL(address).hostname] : [healthHost]
}

function addressOf(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

/**
 * Starts the health server and then the runners. The health server runs from the beginning, so that a slow start
 * (restore, unreachable brokers) can be observed.
 * @throws Error if the port cannot be opened. Also throws the errors of `deps.runners`, after it has closed the port
 * again
 */
export async function startHost(options: HostOptions, deps: HostDeps): Promise<Host> {
  const { backend, runtime } = deps
  // This import is dynamic, so that processes that only declare topologies never load the metrics library.
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
    localNames: localNames(options),
  })
  try {
    runners = deps.runners(metrics, options.address ?? addressOf(options.healthHost, introspection.port))
  } catch (error) {
    // An open health server would keep the process alive, and report it as ready.
    await introspection.close()
    throw error
  }
  runtime.log.info({ health_port: introspection.port, runs: runners.map((runner) => runner.name) }, 'host_started')

  async function stop(): Promise<void> {
    stopping = true
    await Promise.allSettled(runners.map((runner) => runner.stop()))
  }

  async function runOne(runner: Runner, starting: Promise<void>): Promise<void> {
    await starting
    await runner.done
    if (!stopping) throw new Error(`${runner.name} ended unexpectedly`)
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
  // Callers that await these promises receive their failures, so Node must not also report unhandled rejections.
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
