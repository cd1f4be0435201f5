import type { Runtime } from '../../../runtime/runtime.ts'

type Job = () => Promise<() => void>

export interface RetriedJobDeps {
  /** Called when an attempt has ended, so that the loop calls `takeResult`. */
  readonly wake: () => void
  /** Provides the jitter that spreads the retries of many partitions. */
  readonly runtime: Pick<Runtime, 'random'>
  /** Called when a job succeeds after failed attempts. `attempts` includes the successful one. */
  readonly onRecovery: (attempts: number) => void
  /**
   * Decides whether a failed job is retried or dropped. `isFirst` is true for the first failure since the last
   * success.
   * @throws errors that must stop the sink
   */
  readonly onFailure: (error: unknown, isFirst: boolean) => 'repeat' | 'drop'
}

/**
 * Runs at most one job at a time. The result is kept until the loop takes it. After a transient failure the job is
 * repeated, with growing pauses.
 */
export interface RetriedJob {
  /** True while an attempt is running or its result has not been taken. */
  readonly isBusy: boolean
  readonly hasResult: boolean
  /** True when the job has failed and `repeat` is due at `retryAt`. */
  readonly mustRepeat: boolean
  /** Earliest time of the next attempt, by the clock of `takeResult`. */
  readonly retryAt: number
  start(job: Job): void
  repeat(): void
  /** Applies the result of the last attempt, if there is one. @param now milliseconds of a monotonic clock */
  takeResult(now: number): void
}

/**
 * First pause. Jitter shortens each pause by up to half. A restarting target is usually back within a second or two.
 * During a long outage the pauses grow up to `LONGEST_RETRY_MS`.
 */
const FIRST_RETRY_MS = 50
const LONGEST_RETRY_MS = 5_000

export function retriedJob({ wake, runtime, onRecovery, onFailure }: RetriedJobDeps): RetriedJob {
  let job: Job | undefined
  let isBusy = false
  let result: ((now: number) => void) | undefined
  let failures = 0
  let retryAt = 0

  function run(next: Job): void {
    isBusy = true
    next()
      .then(
        (apply) => {
          result = () => succeed(apply)
        },
        (error: unknown) => {
          result = (now) => fail(error, now)
        },
      )
      .then(wake)
  }

  function succeed(apply: () => void): void {
    job = undefined
    if (failures > 0) onRecovery(failures + 1)
    failures = 0
    apply()
  }

  function fail(error: unknown, now: number): void {
    const wait = Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS)
    if (onFailure(error, failures === 0) === 'drop') job = undefined
    failures++
    retryAt = now + wait * (0.5 + runtime.random() / 2)
  }

  return {
    get isBusy() {
      return isBusy
    },
    get hasResult() {
      return result !== undefined
    },
    get mustRepeat() {
      return !isBusy && job !== undefined
    },
    get retryAt() {
      return retryAt
    },
    start(next) {
      job = next
      run(next)
    },
    repeat() {
      if (job !== undefined) run(job)
    },
    takeResult(now) {
      if (result === undefined) return
      const take = result
      result = undefined
      isBusy = false
      take(now)
    },
  }
}
