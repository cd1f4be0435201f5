import { FencedError, ReplacedError } from '../../../kafka/transport.ts'
import { UnknownSchemaError } from '../../../schemas/codec.ts'
import type { StateCorrupted } from '../../../state/stores/errors.ts'
import type { StateQueries } from '../queries/queries.ts'
import type { StandbyCopy } from '../state/standby.ts'
import { type TaskMetrics, taskMetrics } from '../task/metrics.ts'
import type { StreamTask } from '../task/task.ts'
import type { Topology } from '../topology/topology.ts'
import { type Assembly, assemble } from './assembly.ts'
import { isPassing } from './membership.ts'
import type { RestoreProgress } from './task-starts.ts'
import type { WarmUpProgress } from './warm-up.ts'
import type { WorkerConfig, WorkerDeps } from './worker-config.ts'

/**
 * Longest wait of a poll. One second is short enough, because the other duties of the loop are due at most once a
 * second.
 */
const LONGEST_POLL_MS = 1_000
/**
 * Longest wait of a poll while a restore is paused. The restore may continue after the flush of a memtable, which takes
 * tens of milliseconds.
 */
const LONGEST_POLL_WHILE_HELD_BACK_MS = 20
/**
 * Longest wait of a poll on workers that keep or may soon keep copies of other workers' state. It is short, because the
 * records of the copies are handled only between two polls.
 */
const LONGEST_POLL_WITH_COPIES_MS = 100
/**
 * While more bytes than this are queued, the worker does not poll. Fetched data then waits in the fetcher. The fetcher
 * stops fetching when its own buffer is full.
 */
const MAX_QUEUED_BYTES = 8 * 1_048_576
/**
 * Maximum bytes per poll while some tasks restore and others process records. Copying this much takes a few
 * milliseconds. A larger poll would delay commits, because each request of a commit waits for the end of the turn. A
 * turn takes longer only if it writes collected rows.
 */
const SHARED_POLL_BYTES = 524_288
/**
 * How long a stopping worker waits by default: half of Kubernetes' grace period. A commit takes milliseconds, so only
 * unreachable brokers or a time handler that does not end delay the stop this long.
 */
const DEFAULT_STOP_GRACE_MS = 15_000

export type WorkerState = 'created' | 'running' | 'stopped' | 'failed'

/** A snapshot of a worker for health checks, metrics and reports. */
export interface WorkerStatus {
  readonly state: WorkerState
  /**
   * True when the worker is running, has an assignment, and runs all its tasks. In addition, every partition of the
   * sources must have a task, all topics of the topology must exist, and no warm-up may be in progress.
   */
  readonly ready: boolean
  /** Explains which partitions have no task because their topics have gained partitions. */
  readonly withoutTask: readonly string[]
  /** The topics of the topology that were missing in both of the last two lookups. */
  readonly deletedTopics: readonly string[]
  readonly tasks: readonly StreamTask[]
  readonly restoring: readonly RestoreProgress[]
  readonly standbys: readonly StandbyCopy[]
  /** Progress of the warm-up; see `WarmUp.progress`. */
  readonly warmUp: WarmUpProgress | undefined
  readonly metrics: TaskMetrics
  readonly commits: number
  /** Number of times that the worker was fenced. */
  readonly fences: number
  /** Number of stalls of the event loop in which another thread sent the heartbeats. */
  readonly stalls: number
  /** Number of times that the worker restarted from the last commit, for any reason. */
  readonly restarts: number
  /** Schema ids that tasks wait for. */
  readonly waitingForSchemas: readonly number[]
  /** Reasons why schemas could not be loaded yet, keyed by schema id. */
  readonly schemaFailures: ReadonlyMap<number, string>
  /** Number of failed attempts to load a schema. Each is retried. */
  readonly schemaRetries: number
}

/** One topology in one process, with one poll loop, one producer and many tasks. */
export interface Worker {
  readonly topology: Topology
  /**
   * Creates missing topics, registers schemas and joins the group. Rejects when the topology cannot run here. If the
   * worker is stopped while it prepares topics and schemas, resolves without joining.
   */
  start(): Promise<void>
  /** Resolves when the worker has stopped cleanly; rejects when it has failed. */
  readonly done: Promise<void>
  /**
   * Finishes the current records and commits. Then leaves the group, unless `keepPlaceOnStop` is set. Gives up when the
   * grace period (`stopGraceMs`) has ended.
   */
  stop(): Promise<void>
  status(): WorkerStatus
  /** Queries on the state; undefined unless the worker is running. */
  readonly queries: StateQueries | undefined
}

export function createWorker(config: WorkerConfig, deps: WorkerDeps): Worker {
  const { topology } = config
  const { runtime } = deps
  const { log } = runtime
  const declaration = topology.declare()
  const metrics = taskMetrics()
  const stopping = new AbortController()
  const givenUp = new AbortController()
  const done = Promise.withResolvers<void>()
  done.promise.catch(() => {}) // Callers do not have to handle the rejection.
  let state: WorkerState = 'created'
  let opened: Assembly | undefined
  let loop: Promise<void> | undefined
  /** True when another process has initialised the worker's transactional id. */
  let replaced = false
  /** The error of a query that has found corrupted state. */
  let damage: StateCorrupted | undefined
  const hasStandbys = (topology.options.standby ?? 0) > 0

  async function start(): Promise<void> {
    try {
      await begin()
    } catch (error) {
      // If the worker is stopped while it is starting, its pending request fails. This failure is expected.
      if (stopping.signal.aborted && isPassing(error)) {
        state = 'stopped'
        done.resolve()
        return
      }
      state = 'failed'
      done.reject(error)
      throw error
    }
  }

  async function begin(): Promise<void> {
    const signals = { stopping: stopping.signal, givenUp: givenUp.signal }
    const onDamage = (error: StateCorrupted) => {
      damage = error
    }
    opened = await assemble(config, deps, { declaration, metrics, ...signals, onDamage })
    if (stopping.signal.aborted) {
      // The worker was stopped in the meantime. If it joined the group, partitions would move to it and back.
      state = 'stopped'
      await release(opened)
      done.resolve()
      return
    }
    try {
      await opened.producer.init()
      await opened.warmUp.join()
    } catch (error) {
      await release(opened)
      throw error
    }
    state = 'running'
    log.info({ topology: topology.name, member_id: opened.group.memberId }, 'worker_started')
    const parts = opened
    loop = run(parts)
    stopping.signal.addEventListener('abort', () => giveUpLater(parts))
    loop.then(done.resolve, done.reject)
  }

  /**
   * Requests to unreachable brokers are retried without a limit, and a time handler may never end, so a stopping worker
   * gives up after the grace period.
   */
  function giveUpLater(parts: Assembly): void {
    const cancelTimer = runtime.setTimer(config.stopGraceMs ?? DEFAULT_STOP_GRACE_MS, () => giveUp(parts))
    loop?.catch(() => {}).then(() => cancelTimer())
  }

  function giveUp({ producer, group }: Assembly): void {
    log.warn({ topology: topology.name }, 'stop_waits_no_longer')
    givenUp.abort()
    void Promise.allSettled([producer.close(), group.leave({ keepPlace: config.keepPlaceOnStop === true })])
  }

  async function run(parts: Assembly): Promise<void> {
    try {
      while (!stopping.signal.aborted) {
        await turn(parts)
        // Stops the worker, so that its host deletes the state, which is then restored.
        if (damage !== undefined) throw damage
      }
      await commitLast(parts)
      state = 'stopped'
      log.info({ topology: topology.name }, 'worker_stopped')
    } catch (error) {
      state = 'failed'
      replaced = error instanceof ReplacedError
      log.error({ err: error, topology: topology.name }, 'worker_failed')
      stopping.abort()
      throw error
    } finally {
      await release(parts)
    }
  }

  /** Runs one turn of the loop. Only the loop changes tasks, state and the transaction. */
  async function turn(parts: Assembly): Promise<void> {
    const { tasks, starts } = parts
    try {
      await parts.membership.handleEvents()
      await takeInput(parts)
      starts.finish()
      await parts.committer.commitBeforeHandlers()
      await parts.inactiveState.maintain()
      parts.warmUp.maintain()
      // If the transaction is full and a time handler delays its commit, the other tasks must wait. Their results would
      // otherwise fill the memory.
      const worked = tasks.work(!tasks.atRest && parts.committer.isFull)
      tasks.tick(runtime.now())
      await parts.committer.commitIfDue(worked)
    } catch (error) {
      await recover(parts, error)
    }
    await runtime.nextTurn()
  }

  function longestPoll({ inactiveState, warmUp }: Assembly): number {
    const hasCopies = hasStandbys || warmUp.isRestless || inactiveState.copies().length > 0
    return hasCopies ? LONGEST_POLL_WITH_COPIES_MS : LONGEST_POLL_MS
  }

  async function takeInput(parts: Assembly): Promise<void> {
    const { fetcher, tasks, starts, ...rest } = parts
    if (tasks.queuedBytes() > MAX_QUEUED_BYTES) return
    const now = runtime.now()
    const longestPollMs = longestPoll(parts)
    // The wait ends at a multiple of the longest wait, like the waits of the other loops, so that the process wakes up
    // once for all of them.
    const longestMs = longestPollMs - (runtime.monotonic() % longestPollMs)
    let until = Math.min(now + longestMs, rest.committer.waitUntil(now))
    if (starts.holdBack()) until = Math.min(until, now + LONGEST_POLL_WHILE_HELD_BACK_MS)
    for (const task of tasks.running()) {
      until = Math.min(until, task.nextTickAt)
      if (task.idlesUntil > now) until = Math.min(until, task.idlesUntil)
    }
    const busy = tasks.canWork() || rest.membership.hasNews || rest.inactiveState.catchingUp
    const maxBytes = starts.restoring && tasks.running().length > 0 ? SHARED_POLL_BYTES : undefined
    for (const data of await fetcher.poll(busy ? 0 : Math.max(0, until - now), maxBytes)) if (!starts.take(data)) tasks.dispatch(data)
  }

  async function recover(parts: Assembly, error: unknown): Promise<void> {
    if (!parts.failed.note(error)) return startOver(parts, error)
    try {
      await parts.committer.rollBack()
    } catch (lost) {
      await startOver(parts, lost)
    }
  }

  /**
   * Restarts the worker from the last commit after it was fenced, after a transient failure, or after it read state
   * with an unknown schema. Any other error stops the worker.
   */
  async function startOver(parts: Assembly, error: unknown): Promise<void> {
    const schemaId = unknownSchema(error)
    if (schemaId !== undefined) await loadSchema(parts, schemaId, error)
    else if (!(error instanceof FencedError) && !isPassing(error)) throw error
    parts.copySession.dropBatch()
    await parts.membership.startOver(error as Error)
  }

  /**
   * Loads the schema of stored state. This is necessary when a processor reads, without a prefetch, a value that was
   * written with another schema version. If the worker stops in the meantime, the schema is no longer needed.
   */
  async function loadSchema({ schemas }: Assembly, schemaId: number, reason: unknown): Promise<void> {
    try {
      if ((await schemas.load(schemaId)) === 'not-found') throw reason
    } catch (error) {
      if (!stopping.signal.aborted) throw error
    }
  }

  async function commitLast({ tasks, committer: commits, failed }: Assembly): Promise<void> {
    try {
      await tasks.comeToRest()
      await commits.commit()
    } catch (error) {
      if (!(error instanceof FencedError) && !isPassing(error) && !failed.note(error)) throw error
      log.warn({ err: error, topology: topology.name }, 'last_commit_lost')
    }
  }

  /** Releases all resources and drops uncommitted results. */
  async function release({
    tasks,
    session,
    copySession,
    producer,
    group,
    fetcher,
    inactiveState,
    committer: commits,
  }: Assembly): Promise<void> {
    await commits.settle()
    for (const task of tasks.all()) tasks.close(task)
    session.dropBatch()
    copySession.dropBatch()
    // The process that replaced this process uses the same member id. If this process left the group, the other process
    // would lose its partitions.
    const keepPlace = replaced || (config.keepPlaceOnStop === true && state === 'stopped')
    const leave = () => group.leave({ keepPlace })
    for (const step of [producer.abort, leave, producer.close, fetcher.close, inactiveState.close])
      await step().catch((error) => log.warn({ err: error, topology: topology.name }, 'release_failed'))
  }

  return {
    topology,
    start,
    done: done.promise,
    get queries() {
      return state === 'running' ? opened?.queries : undefined
    },
    async stop() {
      stopping.abort()
      opened?.fetcher.wake()
      // If the start is still waiting for brokers, the worker abandons it.
      if (opened !== undefined && loop === undefined) giveUp(opened)
      await loop?.catch(() => {}) // `done` reports the failure.
    },
    status() {
      const tasks = opened?.tasks.all() ?? []
      const assigned = opened?.membership.assigned === true
      const withoutTask = opened?.counts.withoutTask ?? []
      const deletedTopics = opened?.counts.missing ?? []
      const warmUp = opened?.warmUp.progress
      const isReady = state === 'running' && assigned && warmUp === undefined && withoutTask.length === 0 && deletedTopics.length === 0
      return {
        state,
        ready: isReady && tasks.every((task) => task.state === 'RUNNING'),
        withoutTask,
        deletedTopics,
        tasks,
        restoring: opened?.starts.progress() ?? [],
        standbys: opened?.inactiveState.copies() ?? [],
        warmUp,
        metrics,
        commits: opened?.committer.commits ?? 0,
        fences: opened?.membership.fences ?? 0,
        stalls: opened?.group.stalls ?? 0,
        restarts: (opened?.membership.restarts ?? 0) + (opened?.committer.restarts ?? 0),
        waitingForSchemas: opened?.tasks.waitingForSchemas ?? [],
        schemaFailures: opened?.schemas.failures ?? new Map(),
        schemaRetries: opened?.schemas.failedAttempts ?? 0,
      }
    },
  }
}

/** Returns the id of the schema that was not loaded when state was read; undefined for any other failure. */
function unknownSchema(error: unknown): number | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof UnknownSchemaError) return cause.schemaId
  return undefined
}
