import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { waitUntil } from '../../deploy/local/wait.ts'
import { BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'
import { childEnvironment } from './config.ts'
import { type Endings, endings } from './endings.ts'
import type { RestartWorker, WorkerLine } from './worker-process.ts'

const PROGRAM = fileURLToPath(new URL('./worker-process.ts', import.meta.url))
export const DEADLINE_MS = 120_000
const LOOK_MS = 5

/** A worker process of the benchmark. */
export interface WorkerProcess extends Endings {
  readonly slot: number
  /** Returns the last status that the worker printed; undefined before the first status. */
  status(): WorkerLine | undefined
  /**
   * Waits for a status that satisfies the condition.
   * @returns the time since the start of the process, in ms
   */
  until(holds: (line: WorkerLine) => boolean, what: string, timeoutMs?: number): Promise<number>
}

export function startWorker(slot: number, given: RestartWorker): WorkerProcess {
  mkdirSync(given.folder, { recursive: true })
  const startedAt = performance.now()
  const child: ChildProcess = spawn(process.execPath, [...BUFFER_HEAP_FLAGS, PROGRAM, JSON.stringify(given)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Caches compiled code on disk, as in production.
    env: childEnvironment({ NODE_COMPILE_CACHE: join(given.folder, '..', 'compile-cache') }),
  })
  const ways = endings(child)
  let last: WorkerLine | undefined
  if (child.stdout !== null)
    createInterface({ input: child.stdout }).on('line', (line) => {
      last = JSON.parse(line) as WorkerLine
    })

  return {
    slot,
    status: () => last,
    async until(holds, what, timeoutMs = DEADLINE_MS) {
      await waitUntil(() => last !== undefined && holds(last), {
        what: `worker ${slot}, waiting until ${what}`,
        timeoutMs,
        intervalMs: LOOK_MS,
        givenUp: () => (ways.hasEnded ? 'the worker has ended' : undefined),
      })
      return performance.now() - startedAt
    },
    ...ways,
    get hasEnded() {
      return ways.hasEnded
    },
  }
}
