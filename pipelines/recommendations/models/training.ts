import { spawn } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { ModelVersion } from '../../../schemas/recommendations/types.ts'
import { HOUR_MS } from '../../../schemas/retention.ts'

export interface TrainingOrder {
  readonly runId: string
  readonly sequence: number
  /** Epoch ms. */
  readonly trainedAt: number
  /** The version with which the candidate is compared; undefined to compare it with the rules. */
  readonly inForce: ModelVersion | undefined
  /**
   * Whether the run gets the same CPU priority as the worker, because an earlier run at the lowest priority did not end
   * in time. If all cores of a machine are always busy, a run at the lowest priority gets hardly any CPU time.
   */
  readonly isUrgent: boolean
  readonly signal: AbortSignal
}

/** Error for a run that was ended at its time limit. Its message is reported as the reason why the run failed. */
export class TrainingTimeoutError extends Error {
  override readonly name = 'TrainingTimeoutError'
  constructor() {
    super(TOOK_TOO_LONG)
  }
}

/** The reason that is reported for a run that was ended at its time limit. */
export const TOOK_TOO_LONG = 'the training took too long'

const metrics = z.record(z.string(), z.number())
const resultSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('SKIPPED'), reason: z.string(), metrics }),
  z.object({ state: z.literal('REFUSED'), reason: z.string(), version: z.string(), learnedUntil: z.int(), metrics }),
  z.object({
    state: z.literal('IN_FORCE'),
    reason: z.string(),
    version: z.string(),
    learnedUntil: z.int(),
    metrics,
    files: z.array(z.object({ name: z.string(), hash: z.string(), bytes: z.int() })),
  }),
])
/** The result of a training run. If the trained version may be used, its files are in the blob store. */
export type TrainingResult = z.infer<typeof resultSchema>

/** Trains a version. Rejects with the reason when training fails or when `signal` is aborted. */
export type Train = (order: TrainingOrder) => Promise<TrainingResult>

export interface TrainingProgramOptions {
  /** Folder for the files of training runs. Files of runs that were killed are removed. */
  readonly folder: string
  /** The folder that contains downloaded tools. */
  readonly tools: string
  readonly python: string | undefined
  /** Path of the training program. Tests replace it. */
  readonly program?: string
  /** Time limit of a run that is not urgent, ms. Tests shorten it. */
  readonly limitMs?: number
}

const PROGRAM = fileURLToPath(new URL('../../../tools/recommendations/train/main.ts', import.meta.url))
/** The lowest CPU priority, so that a training run does not slow down other processes of the machine. */
const LOWEST_PRIORITY = '19'
/**
 * Time limit of a training run at the lowest priority. By default, runs start every 4 hours, and embeddings must not
 * become older than 6 hours. With this limit, one hour is left for the urgent run that follows a failed one.
 */
export const LOW_TIME_LIMIT_MS = HOUR_MS
/**
 * Time limit of an urgent run. A run that takes longer than the default time between the starts of two runs has hung.
 */
export const URGENT_TIME_LIMIT_MS = 4 * HOUR_MS
const STOP_GRACE_MS = 5_000
const REASON_CHARACTERS = 500

/**
 * Returns a function that trains in a separate process, at the lowest priority unless the run is urgent. Training takes
 * minutes of CPU time and a lot of memory, and must not delay the streams of this worker.
 */
export function trainingProgram({ folder, tools, python, program = PROGRAM, limitMs = LOW_TIME_LIMIT_MS }: TrainingProgramOptions): Train {
  return async function train({ runId, sequence, trainedAt, inForce, isUrgent, signal }) {
    await rm(folder, { recursive: true, force: true })
    const place = join(folder, runId)
    await mkdir(place, { recursive: true })
    try {
      const job = { folder: place, tools, python: python ?? null, sequence, trained_at: trainedAt, in_force: inForce ?? null }
      const file = join(place, 'job.json')
      await writeFile(file, JSON.stringify(job))
      const command = [process.execPath, program, file]
      await (isUrgent
        ? runProgram(command, signal, URGENT_TIME_LIMIT_MS)
        : runProgram(['nice', '-n', LOWEST_PRIORITY, ...command], signal, limitMs))
      return resultSchema.parse(JSON.parse(await readFile(join(place, 'result.json'), 'utf8')))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/**
 * Runs the training program. The program ends when its standard input closes, so it does not outlive a worker that was
 * killed.
 */
function runProgram([command, ...args]: readonly string[], signal: AbortSignal, limitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'] })
    const limited = AbortSignal.any([signal, AbortSignal.timeout(limitMs)])
    let reason = ''
    let killing: NodeJS.Timeout | undefined
    child.stdin.on('error', () => {})
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      reason = `${reason}${text}`.slice(-REASON_CHARACTERS)
    })

    function stop(): void {
      child.stdin.end()
      killing = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS)
    }

    if (limited.aborted) stop()
    else limited.addEventListener('abort', stop, { once: true })
    child.on('error', reject)
    child.on('close', (code, killedBy) => {
      clearTimeout(killing)
      limited.removeEventListener('abort', stop)
      if (limited.aborted) reject(signal.aborted ? new Error('the training run was stopped') : new TrainingTimeoutError())
      else if (code === 0) resolve()
      else reject(new Error(reason.trim() || `the training program ended with ${killedBy ?? `exit code ${code}`}`))
    })
  })
}
