import { setTimeout as delay } from 'node:timers/promises'
import {
  type BacktestJob,
  type BacktestState,
  beginBacktest,
  endBacktest,
  readBacktest,
  renewBacktest,
} from '../../../state/views/fraud/backtests.ts'
import type { ViewScripts } from '../../../state/views/view.ts'
import type { Logger } from '../../kit/logging.ts'
import type { ReplayProgress } from './process/messages.ts'
import { ReplayError, type RunningReplay } from './process/start.ts'

/** Functions that start the replay of a job, and turn the replay's result into the job's report. */
export interface ReplayStart {
  run(onProgress: (progress: ReplayProgress) => void): RunningReplay
  report(found: Awaited<RunningReplay['done']>): unknown
}

export type Started =
  | { readonly outcome: 'started' }
  | { readonly outcome: 'caller_busy'; readonly jobId: string }
  | { readonly outcome: 'full' }

/** Runs the back-tests of this process. Every API process can read the states of all back-tests. */
export interface BacktestJobs {
  /**
   * Starts a job, unless its caller already has a running job or this process already runs the maximum number of jobs.
   * If the job already exists, because its request was repeated, starts nothing.
   */
  start(job: BacktestJob, replay: ReplayStart): Promise<Started>
  /** Returns the state of a job; undefined if there is no such job or its state has expired. */
  read(jobId: string): Promise<BacktestState | undefined>
  /** Cancels the jobs of this process and waits until they have ended. */
  close(): Promise<void>
}

export interface BacktestJobsDeps {
  readonly scripts: ViewScripts
  readonly log: Logger
  /** Epoch ms. */
  now(): number
}

/**
 * Maximum number of jobs that a process runs at once. Each job has its own process of about 200 MB, and all jobs share
 * the CPU time that scoring does not use.
 */
const MAX_RUNNING = 2
/**
 * Interval between renewals of a job's lease, and between repeated attempts to reach Redis. A lease outlasts several
 * intervals, so a single failed renewal does no harm.
 */
const RENEW_EVERY_MS = 2_000
/**
 * Maximum number of attempts to look for a job when Redis has not confirmed that the job has begun. With the pauses
 * between them, the attempts take about as long as the lease of the job, 15 s.
 */
const ADOPT_ATTEMPTS = 7
/** Maximum number of attempts to store a job's result in Redis. */
const END_ATTEMPTS = 30
const STOPPED = 'The API process that ran the back-test was stopped. Start the back-test again.'

interface Running {
  readonly replay: RunningReplay
  readonly ended: Promise<void>
}

export function backtestJobs({ scripts, log, now }: BacktestJobsDeps): BacktestJobs {
  const running = new Set<Running>()
  let places = MAX_RUNNING
  let isClosing = false

  async function start(job: BacktestJob, replay: ReplayStart): Promise<Started> {
    if (isClosing) return { outcome: 'full' }
    // A repeated request is accepted even if all places are taken, because its job already runs or has ended.
    if (places === 0) return { outcome: (await readBacktest(scripts, job.jobId)) === undefined ? 'full' : 'started' }
    places--
    const startedAt = now()
    const begun = await beginBacktest(scripts, job, stateOf(startedAt, 0)).catch((error: Error) => {
      adopt(job, replay, startedAt).catch(({ message }: Error) => log.warn({ job: job.jobId, reason: message }, 'backtest_failed'))
      throw error
    })
    if (begun.outcome === 'begun' && !isClosing) follow(job, replay, startedAt)
    else places++
    return begun.outcome === 'busy' ? { outcome: 'caller_busy', jobId: begun.jobId } : { outcome: 'started' }
  }

  /**
   * Called if Redis has not confirmed that a job has begun. Runs the job if Redis has stored it nevertheless, because a
   * repeated request finds the stored job and does not start it. Makes at most ADOPT_ATTEMPTS attempts to read the job.
   */
  async function adopt(job: BacktestJob, replay: ReplayStart, startedAt: number): Promise<void> {
    for (let attempt = 1; attempt <= ADOPT_ATTEMPTS && !isClosing; attempt++) {
      const found = await readBacktest(scripts, job.jobId).catch(() => 'away' as const)
      if (found === 'away') {
        await delay(RENEW_EVERY_MS)
        continue
      }
      // Another process may have begun the same job at a different time.
      if (isClosing || found?.status !== 'running' || found.started_at !== startedAt) break
      return follow(job, replay, startedAt)
    }
    places++
  }

  /**
   * Runs a job that already occupies one of the `places`, and keeps its stored state up to date until the job has
   * ended.
   */
  function follow(job: BacktestJob, { run, report }: ReplayStart, startedAt: number): void {
    let progress = 0
    const replay = run(({ transactions, expected }) => {
      progress = expected === 0 ? 0 : transactions / expected
    })
    let lost = 0
    const timer = setInterval(() => {
      renewBacktest(scripts, job, stateOf(startedAt, progress)).catch((error: Error) => {
        if (lost++ === 0) log.warn({ job: job.jobId, reason: error.message }, 'backtest_not_renewed')
      })
    }, RENEW_EVERY_MS)

    async function outcome(): Promise<Partial<BacktestState>> {
      try {
        return { status: 'done', progress: 1, report: report(await replay.done) }
      } catch (error) {
        log.warn({ job: job.jobId, reason: (error as Error).message }, 'backtest_failed')
        return { status: 'failed', progress, reason: error instanceof ReplayError ? error.message : 'The cause is in the log of the API.' }
      }
    }

    async function finish(): Promise<void> {
      const end = await outcome()
      clearInterval(timer)
      await writeEnd(job, { ...stateOf(startedAt, progress), ...end, ended_at: now() })
      running.delete(entry)
      places++
    }

    const entry: Running = { replay, ended: finish() }
    running.add(entry)
  }

  async function writeEnd(job: BacktestJob, state: BacktestState): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await endBacktest(scripts, job, state)
      } catch (error) {
        if (attempt < END_ATTEMPTS && !isClosing) await delay(RENEW_EVERY_MS)
        else return log.error({ job: job.jobId, reason: (error as Error).message }, 'backtest_result_lost')
      }
    }
  }

  return {
    start,
    read: (jobId) => readBacktest(scripts, jobId),
    async close() {
      isClosing = true
      for (const { replay } of running) replay.cancel(STOPPED)
      await Promise.all([...running].map(({ ended }) => ended))
    },
  }
}

function stateOf(started_at: number, progress: number): BacktestState {
  return { status: 'running', progress, started_at, ended_at: null, reason: null, report: null }
}
