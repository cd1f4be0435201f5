import type { StateBackend } from '../../state/stores/store.ts'
import { type EngineMetrics, engineMetrics, type Introspection, serveIntrospection } from './introspection.ts'
import type { Runner } from './runner.ts'
import type { EngineLog } from './worker-parts.ts'

export interface HostOptions {
  /** 0 chooses a free one. */
  readonly healthPort: number
  readonly healthHost: string
}

export interface HostDeps {
  readonly backend: StateBackend
  readonly log: EngineLog
  /** Makes what this process runs; the metrics are for its commits. */
  readonly runners: (metrics: EngineMetrics) => readonly Runner[]
}

/** One worker process: several topologies and sinks on one database, observable over HTTP. */
export interface Host {
  readonly healthPort: number
  /** Resolves when all has stopped in order; rejects with the first failure, after everything else was stopped. */
  readonly done: Promise<void>
  stop(): Promise<void>
}

/** Health answers from the first moment on, so that a start that takes long (restore, a broker that is away) can be watched. */
export async function startHost(options: HostOptions, deps: HostDeps): Promise<Host> {
  const { backend, log } = deps
  let runners: readonly Runner[] = []
  let stopping = false
  const metrics = engineMetrics(() => runners, backend)
  const introspection: Introspection = await serveIntrospection({
    port: options.healthPort,
    host: options.healthHost,
    runners: () => runners,
    metrics,
    isStopping: () => stopping,
  })
  runners = deps.runners(metrics)
  log.info({ health_port: introspection.port, runs: runners.map((runner) => runner.name) }, 'host_started')

  async function stop(): Promise<void> {
    stopping = true
    await Promise.allSettled(runners.map((runner) => runner.stop()))
  }

  async function runOne(runner: Runner): Promise<void> {
    await runner.start()
    await runner.done
    if (!stopping) throw new Error(`${runner.name} ended by itself`)
  }

  async function runAll(): Promise<void> {
    try {
      await Promise.all(runners.map(runOne))
    } catch (error) {
      if (stopping) return
      log.error({ err: error }, 'host_failed')
      throw error
    } finally {
      await stop()
      await introspection.close()
    }
  }

  const done = runAll()
  done.catch(() => {}) // Whoever waits for `done` gets it.
  return {
    healthPort: introspection.port,
    done,
    async stop() {
      await stop()
      await done.catch(() => {})
    },
  }
}
