import { createHash } from 'node:crypto'
import type { ViewScript, ViewScripts } from '../view.ts'

/**
 * Back-tests. API processes store them in Redis, so that any process can report on any back-test. Back-tests are stored
 * nowhere else.
 *
 * | key | value |
 * |---|---|
 * | `{fraud-backtests}:job:<job_id>` | hash: `state`, the JSON of a BacktestState, and `ended`; kept for 24 h |
 * | `{fraud-backtests}:running:<job_id>` | present while a process works on the job and renews the lease |
 * | `{fraud-backtests}:caller:<hash of the subject>` | the caller's running job; renewed together with the job |
 */
const TAG = '{fraud-backtests}'
const HASH_CHARACTERS = 22
/** How long a job can be read after its state was last stored. */
const KEPT_MS = 24 * 3_600_000
/** A job counts as failed if its process has not renewed it for this long. */
const LEASE_MS = 15_000

/** The state of a job, as the process that runs it last stored it. */
export interface BacktestState {
  readonly status: 'running' | 'done' | 'failed'
  /** Completed share of the back-test, from 0 to 1. */
  readonly progress: number
  /** Epoch ms. */
  readonly started_at: number
  /** Epoch ms; null while the job runs. */
  readonly ended_at: number | null
  /** Why the job failed, as a sentence for the caller. */
  readonly reason: string | null
  /** The report in the form in which the API returns it. */
  readonly report: unknown
}

/** A job and its caller. A caller may have only one running job. */
export interface BacktestJob {
  readonly jobId: string
  /** Subject of the caller's token. */
  readonly subject: string
}

/**
 * Result of an attempt to begin a job. `known`: the same request has already begun the job. `busy`: the caller has
 * another running job.
 */
export type Begun = { readonly outcome: 'begun' | 'known' } | { readonly outcome: 'busy'; readonly jobId: string }

const BEGIN: ViewScript = {
  name: 'begin-backtest',
  source: `
if redis.call('EXISTS', KEYS[1]) == 1 then return {'known'} end
local held = redis.call('GET', KEYS[3])
if held and held ~= ARGV[1] then return {'busy', held} end
redis.call('HSET', KEYS[1], 'state', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], '1', 'PX', ARGV[4])
redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[4])
return {'begun'}`,
}

/**
 * Renews a job. If Redis was emptied in the meantime, restores the job. This is possible because the process that runs
 * the job has all of its data. Changes nothing if the job has already ended.
 */
const RENEW: ViewScript = {
  name: 'renew-backtest',
  source: `
if redis.call('HEXISTS', KEYS[1], 'ended') == 1 then return 0 end
redis.call('HSET', KEYS[1], 'state', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], '1', 'PX', ARGV[4])
local held = redis.call('GET', KEYS[3])
if not held or held == ARGV[1] then redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[4]) end
return 1`,
}

const END: ViewScript = {
  name: 'end-backtest',
  source: `
redis.call('HSET', KEYS[1], 'state', ARGV[2], 'ended', '1')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('DEL', KEYS[2])
if redis.call('GET', KEYS[3]) == ARGV[1] then redis.call('DEL', KEYS[3]) end
return 1`,
}

const READ: ViewScript = {
  name: 'read-backtest',
  source: `return {redis.call('HGET', KEYS[1], 'state'), redis.call('EXISTS', KEYS[2])}`,
}

export async function beginBacktest(scripts: ViewScripts, job: BacktestJob, state: BacktestState): Promise<Begun> {
  const [outcome, held] = (await scripts.run(BEGIN, keysOf(job), argumentsOf(job, state))) as ['begun' | 'known' | 'busy', string?]
  return outcome === 'busy' ? { outcome, jobId: held! } : { outcome }
}

/** Stores the progress of a job, and renews its lease. */
export async function renewBacktest(scripts: ViewScripts, job: BacktestJob, state: BacktestState): Promise<void> {
  await scripts.run(RENEW, keysOf(job), argumentsOf(job, state))
}

export async function endBacktest(scripts: ViewScripts, job: BacktestJob, state: BacktestState): Promise<void> {
  await scripts.run(END, keysOf(job), argumentsOf(job, state))
}

/** Returns the state of a job; undefined if the job is unknown. A job that is no longer renewed counts as failed. */
export async function readBacktest(scripts: ViewScripts, jobId: string): Promise<BacktestState | undefined> {
  const [text, isAlive] = (await scripts.run(READ, [jobKey(jobId), runningKey(jobId)], [])) as [string | null, number]
  if (text === null) return undefined
  const state = JSON.parse(text) as BacktestState
  if (state.status !== 'running' || isAlive === 1) return state
  return { ...state, status: 'failed', reason: 'The API process that ran the back-test has ended. Start the back-test again.' }
}

const jobKey = (jobId: string) => `${TAG}:job:${jobId}`
const runningKey = (jobId: string) => `${TAG}:running:${jobId}`

function keysOf({ jobId, subject }: BacktestJob): string[] {
  // The subject is hashed because it is free text of any length and may be personal data.
  const caller = createHash('sha256').update(subject).digest('base64url').slice(0, HASH_CHARACTERS)
  return [jobKey(jobId), runningKey(jobId), `${TAG}:caller:${caller}`]
}

function argumentsOf({ jobId }: BacktestJob, state: BacktestState): (string | number)[] {
  return [jobId, JSON.stringify(state), KEPT_MS, LEASE_MS]
}
