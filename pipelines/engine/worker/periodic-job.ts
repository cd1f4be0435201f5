import { endsWithin } from '../../../runtime/ends-within.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { Runner } from './runner.ts'

export interface PeriodicJob {
  readonly name: string
  readonly everyMs: number
  /**
   * Runs the job. Called one interval after the start, and then one interval after each run has ended. If a run fails,
   * the failure is reported, and the next run tries again.
   */
  run(signal: AbortSignal): Promise<void>
  /** Returns whether the process must end because of this failure of a run. By default, no failure ends the process. */
  isFatal?(error: unknown): boolean
  readonly samples?: Runner['samples']
  /** Called when the job has stopped, or when a run has not ended within the grace period of a stop. */
  close?(): void
}

/** How long a stopping process waits for a run to end. It is short, because the next process repeats the run. */
const STOP_GRACE_MS = 3_000

/** Creates a runner for a job, so that the job runs in the same process as topologies and sinks. */
export function periodicJob(
  { name, everyMs, run, isFatal, samples, close }: PeriodicJob,
  { sleep, log }: Pick<Runtime, 'sleep' | 'log'>,
): Runner {
  const stopping = new AbortController()
  const { promise: done, resolve, reject } = Promise.withResolvers<void>()
  let running: Promise<void> = Promise.resolve()
  let failure: string | undefined

  async function repeat(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(everyMs, stopping.signal)
      if (stopping.signal.aborted) return
      try {
        await run(stopping.signal)
        failure = undefined
      } catch (error) {
        if (stopping.signal.aborted) return
        failure = (error as Error).message
        log.warn({ job: name, reason: failure }, 'job_failed')
        if (isFatal?.(error)) return reject(error)
      }
    }
  }

  return {
    name,
    kind: 'sink',
    async start() {
      running = repeat()
    },
    done,
    async stop() {
      stopping.abort()
      await endsWithin({ sleep }, STOP_GRACE_MS, running)
      close?.()
      resolve()
    },
    notReady: () => undefined,
    describe: () => undefined,
    report: () => ({ failure }),
    samples: () => samples?.() ?? [],
  }
}
