import { onTestFinished } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { startHost } from '../../../../pipelines/engine/worker/host.ts'
import { createWorker } from '../../../../pipelines/engine/worker/worker.ts'
import { workerRunner } from '../../../../pipelines/engine/worker/worker-runner.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { type Bench, newIdentity, until } from '../harness.ts'
import { wordCount } from '../words.ts'

interface HostOptions {
  readonly queryToken?: string
  readonly healthHost?: string
  readonly address?: string
}

/**
 * Starts a host that runs one topology, by default the word count. Tests query the host through its HTTP port, like
 * operators and other processes.
 */
export async function hosted(at: Bench, options: HostOptions = {}, tested = wordCount(), backend = memoryBackend()) {
  const host = await startHost(
    { healthPort: 0, healthHost: '127.0.0.1', ...options },
    {
      backend,
      runtime: systemRuntime(),
      runners: (_metrics, address) => {
        const deps = {
          transport: memoryTransport(at.broker),
          registry: at.registry,
          backend,
          identity: newIdentity(),
          runtime: systemRuntime(),
          address,
        }
        return [workerRunner(createWorker({ topology: tested }, deps))]
      },
    },
  )
  onTestFinished(() => host.stop())
  const base = `http://127.0.0.1:${host.healthPort}`
  async function get(path: string, headers: Record<string, string> = {}) {
    const response = await fetch(base + path, { redirect: 'manual', headers })
    return { status: response.status, location: response.headers.get('location'), body: JSON.parse(await response.text()) }
  }
  const ready = () => until(async () => (await fetch(`${base}/readyz`)).status === 200, 'ready')
  return { base, get, ready, done: host.done, stop: () => host.stop() }
}
