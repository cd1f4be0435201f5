import { type Fetcher, type PartitionData, partitionKey, TransportError } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StreamTask } from '../task/task.ts'
import type { SchemaWaits } from './schema-waits.ts'

/**
 * A task with more queued bytes than this gets no further records from sources that have records queued. A task that
 * waits for a schema therefore cannot use up the memory.
 */
const PAUSE_TASK_BYTES = 4 * 1_048_576
/** Time limit of one round over all tasks. Between rounds, the event loop reads sockets and sends heartbeats. */
const ROUND_MS = 20

/** The tasks of a worker. Distributes records to the tasks and determines which task runs. */
export interface TaskSet {
  all(): StreamTask[]
  running(): StreamTask[]
  has(task: StreamTask): boolean
  hasId(taskId: string): boolean
  add(task: StreamTask): void
  /** Closes a task and removes its partitions from the fetcher. */
  close(task: StreamTask): void
  dispatch(data: PartitionData): void
  /**
   * Returns the number of fetched bytes that can be processed now. The bytes of tasks that cannot run, for example
   * because they wait for a schema, are not included. Such tasks have a separate limit.
   */
  queuedBytes(): number
  /** Returns true when at least one task can run now. */
  canWork(): boolean
  /**
   * Runs one round over the tasks, starting with a different task each time.
   * @param onlyHandlers continues only the tasks inside a time handler
   * @returns true when any task had something to do
   */
  work(onlyHandlers: boolean): boolean
  tick(now: number): void
  /** False while any task is inside a time handler. */
  readonly atRest: boolean
  /** True when any task has time handlers to start or to continue. */
  readonly closingDue: boolean
  /** True when any task processes nothing more before the next commit. */
  readonly commitDue: boolean
  /**
   * Finishes the running time handlers. Nothing can be committed before that.
   * @param limitMs how long to wait for the handlers; by default without a limit
   * @throws TransportError, not fatal, if the limit is reached or the worker gives up before the handlers have finished
   */
  comeToRest(limitMs?: number): Promise<void>
  readonly waitingForSchemas: number[]
}

export interface TaskSetDeps {
  readonly fetcher: Fetcher
  readonly schemas: SchemaWaits
  readonly runtime: Runtime
  /** Called for every task that is closed. */
  readonly onClose: (task: StreamTask) => void
  /** Fires when the grace period of a stopping worker is over. */
  readonly givenUp: AbortSignal
}

export function taskSet({ fetcher, schemas, runtime, onClose, givenUp }: TaskSetDeps): TaskSet {
  const tasks = new Map<string, StreamTask>()
  /** The task of each source partition, keyed by partition key. */
  const owners = new Map<string, StreamTask>()
  const waiting = new Map<StreamTask, number>()
  const paused = new Set<StreamTask>()
  let turn = 0

  const running = () => [...tasks.values()].filter((task) => task.state === 'RUNNING')

  function canRun(task: StreamTask): boolean {
    if (!task.atRest || task.closingDue) return true
    if (task.commitDue) return false
    const schema = waiting.get(task)
    if (schema !== undefined && schemas.isWaiting(schema)) return false
    return task.queuedRecords > 0 && !task.idles
  }

  function run(task: StreamTask, expired: () => boolean): void {
    const result = task.run(expired)
    waiting.delete(task)
    if (typeof result !== 'object') return
    waiting.set(task, result.waitsForSchema)
    schemas.waitFor(result.waitsForSchema)
  }

  function pauseIfFull(task: StreamTask): void {
    const full = task.queuedBytes > PAUSE_TASK_BYTES
    if (!full && !paused.has(task)) return
    if (full) paused.add(task)
    else paused.delete(task)
    for (const source of task.sources) {
      // The task may be waiting for records from a source that has none queued, so such a source is never paused.
      if (full && task.hasQueued(source.topic)) fetcher.pause(source)
      else fetcher.resume(source)
    }
  }

  return {
    all: () => [...tasks.values()],
    running,
    has: (task) => tasks.get(task.id) === task,
    hasId: (taskId) => tasks.has(taskId),
    add(task) {
      tasks.set(task.id, task)
      for (const { topic, partition } of task.sources) owners.set(partitionKey(topic, partition), task)
    },
    close(task) {
      for (const source of task.sources) {
        fetcher.unassign(source)
        owners.delete(partitionKey(source.topic, source.partition))
      }
      tasks.delete(task.id)
      waiting.delete(task)
      paused.delete(task)
      onClose(task)
      task.close()
    },
    dispatch(data) {
      const task = owners.get(partitionKey(data.topic, data.partition))
      if (task?.state !== 'RUNNING') return
      task.accept(data)
      pauseIfFull(task)
    },
    queuedBytes: () =>
      running()
        .filter(canRun)
        .reduce((sum, task) => sum + task.queuedBytes, 0),
    canWork: () => running().some(canRun),
    work(onlyHandlers) {
      const able = running().filter((task) => (onlyHandlers ? !task.atRest : canRun(task)))
      if (able.length === 0) return false
      const deadline = runtime.monotonic() + ROUND_MS
      const expired = () => runtime.monotonic() >= deadline
      turn = (turn + 1) % able.length
      for (let i = 0; i < able.length; i++) {
        const task = able[(turn + i) % able.length]
        run(task, expired)
        pauseIfFull(task)
        if (expired()) break
      }
      return true
    },
    tick(now) {
      for (const task of running()) task.runWallTicks(now)
    },
    get atRest() {
      return running().every((task) => task.atRest)
    },
    get closingDue() {
      return running().some((task) => task.closingDue)
    },
    get commitDue() {
      return running().some((task) => task.commitDue)
    },
    async comeToRest(limitMs = Infinity) {
      const end = runtime.monotonic() + limitMs
      for (let busy = running().filter((task) => !task.atRest); busy.length > 0; busy = busy.filter((task) => !task.atRest)) {
        if (givenUp.aborted) throw new TransportError('CLOSED', 'the worker gave up while time handlers were running', { fatal: false })
        if (runtime.monotonic() >= end)
          throw new TransportError('TIMED_OUT', `a time handler was still running after ${limitMs} ms`, { fatal: false })
        const deadline = runtime.monotonic() + ROUND_MS
        for (const task of busy) task.runHandlers(() => task.atRest || runtime.monotonic() >= deadline)
        await runtime.nextTurn()
      }
    },
    get waitingForSchemas() {
      return [...new Set(waiting.values())]
    },
  }
}
