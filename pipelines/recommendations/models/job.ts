import type { Runtime } from '../../../runtime/runtime.ts'
import { MODELS_KEY, modelRequests, modelRuns, recommendationModels } from '../../../schemas/recommendations/models/topics.ts'
import type { ModelHistory, ModelRequest, ModelRun } from '../../../schemas/recommendations/types.ts'
import { DAY_MS, MINUTE_MS } from '../../../schemas/retention.ts'
import { type GroupJob, type JobRequest, type JobTurn, jobRecord } from '../../engine/index.ts'
import { NO_MODELS, withRequest, withTrained, withTrainedInForce } from './history.ts'
import { TOOK_TOO_LONG, type Train, type TrainingResult, TrainingTimeoutError } from './training.ts'

export interface ModelJobDeps {
  readonly train: Train
  /** Time between the starts of two training runs, ms. If it is undefined, models are trained only on request. */
  readonly trainEveryMs: number | undefined
  /** Removes the stored files of models that are no longer kept. */
  sweep(kept: ModelHistory): Promise<void>
  readonly runtime: Pick<Runtime, 'now' | 'id' | 'log'>
}

/**
 * Delay of the first training run, counted from the start of the worker. A system that has just been started has no
 * data to learn from.
 */
const FIRST_AFTER_MS = 15 * MINUTE_MS
/**
 * Minimum time between the starts of two runs that retry a cut-off run. If the training itself ends the worker, for
 * example because the memory is full, the worker would otherwise restart again and again, and could do nothing else.
 */
const REPEAT_AFTER_MS = 15 * MINUTE_MS
/**
 * Pause after a run that has failed, for example because ClickHouse was unavailable. The pause doubles with each
 * further failure in succession, because a cause such as a missing Python does not end by itself.
 */
const RETRY_AFTER_MS = 15 * MINUTE_MS
const CUT_OFF = 'the worker ended or lost its partition during this run'
/**
 * How long the loop waits for a request during a training run. The wait is short, because the loop must also notice
 * when the run ends.
 */
const WAIT_WHILE_TRAINING_MS = 500
const LONGEST_WAIT_MS = 60_000

/** After a run that did not end in time, all runs are urgent for this long. */
const URGENT_FOR_MS = DAY_MS

type Turn = JobTurn<string, ModelRequest>

/** Why a version that passed its comparison is kept without going into force. */
const OVERRULED = 'during the training run, an operator chose which version is in force; the trained version is kept and can be promoted'

interface Running {
  run: ModelRun
  /** Whether an operator has promoted or rolled back a version since the training run began. */
  isOverruled: boolean
  ended: { readonly result: TrainingResult } | { readonly error: Error } | undefined
}

/**
 * Creates the job that trains models every few hours and on request, and decides which model is used for answers. Only
 * the process that owns the job does this; an earlier owner can no longer publish changes.
 */
export function modelJob({ train, trainEveryMs, sweep, runtime }: ModelJobDeps): GroupJob<string, ModelRequest> {
  // The delay must not begin again with each turn, because a worker gets a new turn after each outage of the broker.
  const workerStartedAt = runtime.now()

  async function run(turn: Turn): Promise<void> {
    const stopping = new AbortController()
    const signal = AbortSignal.any([turn.signal, stopping.signal])
    let models = (await turn.readAll(recommendationModels)).find(([key]) => key === MODELS_KEY)?.[1] ?? NO_MODELS
    const runs = (await turn.readAll(modelRuns)).map(([, known]) => known)
    /** The runs that the previous turn has left unfinished, until their end is published. */
    let cut = runs.filter(({ state }) => state === 'RUNNING')
    // A run whose start is in the future began before the clock was set back, or on a worker whose clock was ahead.
    // Such a run does not determine when the next run is due.
    const past = runs.filter(({ started_at }) => started_at <= runtime.now()).toSorted((one, other) => one.started_at - other.started_at)
    let failures = failuresAtEndOf(past)
    let asked = cut.flatMap(({ request_ids }) => request_ids)
    let dueAt = cut.length > 0 ? dueAfterCut() : firstDue(past.at(-1))
    let running: Running | undefined
    let training: Promise<void> = Promise.resolve()
    /** Time (epoch ms) at which a run was last ended because of its time limit. */
    let lateAt = runs
      .filter(({ reason }) => reason === TOOK_TOO_LONG)
      .reduce((newest, { ended_at }) => Math.max(newest, ended_at ?? newest), Number.NEGATIVE_INFINITY)
    /**
     * The version that a training run of this turn has put in force; undefined after an operator has chosen a version.
     */
    let byTraining: string | undefined

    function firstDue(last: ModelRun | undefined): number {
      if (trainEveryMs === undefined) return Number.POSITIVE_INFINITY
      if (last === undefined) return Math.min(workerStartedAt, runtime.now()) + FIRST_AFTER_MS
      return Math.min(last.started_at + trainEveryMs, retryAfter(last.ended_at ?? last.started_at))
    }

    /**
     * Returns when the next run is due after a failed run that ended at this time; Infinity if the last run did not
     * fail. Without retries, the embeddings would become older than 6 hours after a single failure.
     */
    function retryAfter(endedAt: number): number {
      return failures === 0 ? Number.POSITIVE_INFINITY : endedAt + RETRY_AFTER_MS * 2 ** (failures - 1)
    }

    /**
     * Returns when a run that was cut off is to be retried: at once or, if it was itself a retry of such a run,
     * `REPEAT_AFTER_MS` after its start.
     */
    function dueAfterCut(): number {
      const ended = runs.filter(({ state }) => state !== 'RUNNING').toSorted((one, other) => one.started_at - other.started_at)
      if (ended.at(-1)?.reason !== CUT_OFF) return runtime.now()
      return Math.min(runtime.now(), ...cut.map(({ started_at }) => started_at)) + REPEAT_AFTER_MS
    }

    function isDue(): boolean {
      // If the clock was set back, the next run is not due later than it would be after a run that begins now.
      if (trainEveryMs !== undefined) dueAt = Math.min(dueAt, runtime.now() + trainEveryMs)
      return runtime.now() >= dueAt
    }

    /**
     * Returns whether a run was recently ended because of its time limit. The clock may have been set back since, so
     * the time of that end may be in the future.
     */
    function isLate(): boolean {
      return Math.abs(runtime.now() - lateAt) < URGENT_FOR_MS
    }

    async function begin(): Promise<void> {
      const startedAt = runtime.now()
      dueAt = trainEveryMs === undefined ? Number.POSITIVE_INFINITY : startedAt + trainEveryMs
      const begun: Running = { run: newRun(runtime.id(), asked, models.champion, startedAt), isOverruled: false, ended: undefined }
      asked = []
      // One transaction ends the unfinished runs and begins the run that takes over their requests, so that no failure
      // in between can lose the requests.
      const ended = cut.map((run) => failed(run, CUT_OFF, startedAt))
      await turn.publishAll([...ended, begun.run].map((run) => jobRecord(modelRuns, run.run_id, run)))
      cut = []
      const inForce = models.versions.find(({ version }) => version === models.champion)
      const sequence = (models.versions[0]?.sequence ?? 0) + 1
      running = begun
      training = train({ runId: begun.run.run_id, sequence, trainedAt: startedAt, inForce, isUrgent: isLate(), signal }).then(
        (result) => {
          begun.ended = { result }
        },
        (error: Error) => {
          begun.ended = { error }
        },
      )
    }

    async function finish({ run, isOverruled, ended }: Running): Promise<void> {
      running = undefined
      const over = finished(run, ended as NonNullable<Running['ended']>, isOverruled, runtime.now())
      const result = ended !== undefined && 'result' in ended ? ended.result : undefined
      if (result?.state === 'IN_FORCE') {
        const { version, learnedUntil: learned_until, files, metrics } = result
        const sequence = (models.versions[0]?.sequence ?? 0) + 1
        const trained = { version, sequence, trained_at: run.started_at, learned_until, files, metrics }
        if (!isOverruled) byTraining = version
        models = (isOverruled ? withTrained : withTrainedInForce)(models, trained, runtime.now())
        await turn.publishAll([jobRecord(recommendationModels, MODELS_KEY, models), jobRecord(modelRuns, run.run_id, over)])
      } else await turn.publish(modelRuns, run.run_id, over)
      failures = isFailure(over) ? failures + 1 : 0
      if (trainEveryMs !== undefined) dueAt = Math.min(dueAt, retryAfter(runtime.now()))
      if (ended !== undefined && 'error' in ended && ended.error instanceof TrainingTimeoutError) tryAgain()
      runtime.log.info({ run: run.run_id, state: over.state, reason: over.reason, version: over.version }, 'model_training_ended')
      await sweep(models).catch((error: Error) => runtime.log.warn({ err: error }, 'old_models_not_removed'))
    }

    /**
     * Makes the next run urgent, because a run did not end in time. If that run was not urgent, the next run begins at
     * once.
     */
    function tryAgain(): void {
      const wasUrgent = isLate()
      lateAt = runtime.now()
      if (!wasUrgent) dueAt = runtime.now()
    }

    async function take(request: JobRequest<string, ModelRequest>): Promise<void> {
      const { value } = request
      if (value.action === 'TRAIN') {
        if (running === undefined) asked.push(value.request_id)
        else {
          running.run = { ...running.run, request_ids: [...running.run.request_ids, value.request_id] }
          await turn.publish(modelRuns, running.run.run_id, running.run)
        }
        if (running === undefined) await begin()
      } else {
        const after = withRequest(models, value, runtime.now(), byTraining)
        // Promoting the version in force changes no record, but an operator has still chosen this version.
        const isConfirmed = value.action === 'PROMOTE' && value.version !== null && value.version === models.champion
        if (after !== undefined) {
          await turn.publish(recommendationModels, MODELS_KEY, after)
          models = after
        } else if (!isConfirmed) runtime.log.warn({ action: value.action, version: value.version }, 'model_request_without_effect')
        if (isConfirmed || (after !== undefined && value.action !== 'CHALLENGE')) {
          byTraining = undefined
          if (running !== undefined) running.isOverruled = true
        }
      }
      await turn.completed(request)
    }

    /**
     * Takes the requests that have arrived. They are applied before the result of a training run, because their senders
     * did not know the run's model.
     */
    async function takeArrived(): Promise<void> {
      for (;;) {
        const request = await turn.nextRequest(0)
        if (request === undefined) return
        await take(request)
      }
    }

    try {
      while (!turn.signal.aborted) {
        if (running?.ended !== undefined) {
          await takeArrived()
          await finish(running)
        }
        if (running === undefined && isDue()) await begin()
        const untilDue = Math.max(0, dueAt - runtime.now())
        const request = await turn.nextRequest(running ? WAIT_WHILE_TRAINING_MS : Math.min(untilDue, LONGEST_WAIT_MS))
        if (request !== undefined) await take(request)
      }
    } finally {
      stopping.abort()
      await training
    }
  }

  return { name: 'recommendation-models', requests: modelRequests, publishes: [recommendationModels, modelRuns], run }
}

/** Returns how many of the newest runs have failed in succession. */
function failuresAtEndOf(runs: readonly ModelRun[]): number {
  return runs.length - 1 - runs.findLastIndex((run) => !isFailure(run))
}

/**
 * Returns whether a run has failed. Does not count runs that took too long or were cut off, because these are retried
 * by other rules.
 */
function isFailure({ state, reason }: ModelRun): boolean {
  return state === 'FAILED' && reason !== TOOK_TOO_LONG && reason !== CUT_OFF
}

function newRun(run_id: string, request_ids: readonly string[], champion: string | null, started_at: number): ModelRun {
  return {
    run_id,
    request_ids: [...request_ids],
    state: 'RUNNING',
    reason: '',
    version: null,
    compared_with: champion,
    started_at,
    ended_at: null,
    learned_until: null,
    metrics: {},
  }
}

function finished(run: ModelRun, ended: NonNullable<Running['ended']>, isOverruled: boolean, now: number): ModelRun {
  if ('error' in ended) return failed(run, ended.error.message, now)
  const { metrics } = ended.result
  const { state, reason } =
    isOverruled && ended.result.state === 'IN_FORCE' ? { state: 'REFUSED' as const, reason: OVERRULED } : ended.result
  const known = ended.result.state === 'SKIPPED' ? {} : { version: ended.result.version, learned_until: ended.result.learnedUntil }
  return { ...run, ...known, state, reason, metrics, ended_at: now }
}

function failed(run: ModelRun, reason: string, now: number): ModelRun {
  return { ...run, state: 'FAILED', reason, ended_at: now }
}
