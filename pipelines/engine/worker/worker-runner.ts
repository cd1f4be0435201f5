import type { StreamTask } from '../task/task.ts'
import type { Runner, Sample } from './runner.ts'
import type { Worker } from './worker.ts'

/** Wraps a worker as a runner for its host process. */
export function workerRunner(worker: Worker): Runner {
  const { topology } = worker
  return {
    name: topology.name,
    kind: 'topology',
    start: worker.start,
    done: worker.done,
    stop: worker.stop,
    notReady() {
      const { ready, state, restoring, tasks, withoutTask, deletedTopics, warmUp } = worker.status()
      if (ready) return undefined
      if (state !== 'running') return `its state is ${state}`
      if (deletedTopics.length > 0) return `these topics were deleted: ${deletedTopics.join(', ')}`
      if (withoutTask.length > 0) return withoutTask.join('; ')
      if (warmUp !== undefined)
        return `it copies the state of ${tasksText(warmUp.tasks)} before it takes over partitions; ${warmUp.remaining} offsets remain`
      const remaining = restoring.reduce((sum, progress) => sum + progress.remaining, 0)
      if (restoring.length > 0) return `the state of ${tasksText(restoring.length)} is being restored; ${remaining} offsets remain`
      return tasks.length === 0 ? 'no partitions are assigned yet' : 'tasks are starting'
    },
    describe: () => topology.describe(),
    report: () => workerReport(worker),
    samples: () => workerSamples(worker),
    get queries() {
      return worker.queries
    },
  }
}

function tasksText(count: number): string {
  return count === 1 ? '1 task' : `${count} tasks`
}

/** Returns the lag of a task; 0 while the task restores, because its positions are not known yet. */
function lagOf(task: StreamTask): number {
  if (task.state !== 'RUNNING') return 0
  return task.sources.reduce((sum, { topic }) => sum + Math.max(0, task.highWatermark(topic) - task.position(topic)), 0)
}

function workerReport(worker: Worker): object {
  const { state, ready, withoutTask, deletedTopics, tasks, restoring, standbys, warmUp, commits, fences, stalls, restarts, ...schemas } =
    worker.status()
  return {
    state,
    ready,
    without_task: withoutTask,
    deleted_topics: deletedTopics,
    commits,
    fences,
    stalls,
    restarts,
    waiting_for_schemas: schemas.waitingForSchemas,
    schema_failures: Object.fromEntries(schemas.schemaFailures),
    warming_up: warmUp ?? null,
    restoring: restoring.map(({ task, records, remaining, recordsPerSecond }) => ({
      task,
      records,
      remaining,
      records_per_second: recordsPerSecond,
    })),
    standbys: standbys.map(({ task, behind, completeAt }) => ({
      task,
      behind,
      complete_at: completeAt === undefined ? null : new Date(completeAt).toISOString(),
    })),
    tasks: tasks.map((task) => ({
      task: task.id,
      state: task.state,
      stores: task.part.stores,
      sources: task.sources.map(({ topic, partition }) => ({
        topic,
        partition,
        position: task.position(topic),
        end: task.highWatermark(topic),
      })),
      lag: lagOf(task),
      queued_records: task.queuedRecords,
      waits_for_source: task.idles,
      dirty_keys: task.state === 'RUNNING' ? task.dirtyKeys : 0,
      stream_time: task.streamTime < 0 ? null : new Date(task.streamTime).toISOString(),
      time_closed: task.timeClosed === undefined ? null : new Date(task.timeClosed).toISOString(),
    })),
  }
}

function* workerSamples(worker: Worker): Generator<Sample> {
  const {
    tasks,
    restoring,
    standbys,
    warmUp,
    metrics,
    commits,
    fences,
    stalls,
    restarts,
    ready,
    withoutTask,
    deletedTopics,
    schemaFailures,
    schemaRetries,
  } = worker.status()
  const topology = worker.topology.name
  const sample = (name: string, help: string, value: number, labels = {}) => ({ name, help, labels: { topology, ...labels }, value })

  yield sample('worker_ready', '1 when the worker is ready, as in /readyz', ready ? 1 : 0)
  yield sample('partitions_outgrown', 'Sub-topologies that do not process all partitions of their sources', withoutTask.length)
  for (const topic of deletedTopics) yield sample('topic_deleted', '1 while a topic of the topology does not exist', 1, { topic })
  yield sample('records_processed_total', 'Records passed to processors', metrics.processed)
  yield sample('records_dead_lettered_total', 'Records sent to the dead-letter topic', metrics.deadLetters)
  for (const { source, stage, handling, count } of metrics.skipped)
    yield sample('records_skipped_total', 'Failed records that a policy of their source has skipped', count, { source, stage, handling })
  yield sample('records_late_total', 'Records that arrived after their window and its grace period had ended', metrics.late)
  for (const [reason, value] of metrics.dropped) yield sample('records_dropped_total', 'Records ignored on purpose', value, { reason })
  for (const [metric, value] of metrics.counts) yield sample('processor_events_total', 'Events counted by processors', value, { metric })
  yield sample('commits_total', 'Committed transactions', commits)
  yield sample('fences_total', 'Times that the worker was fenced', fences)
  yield sample('stalls_total', 'Stalls of the event loop during which a thread sent the heartbeats', stalls)
  yield sample('restarts_total', 'Times that the worker restarted from the last commit', restarts)
  yield sample('schema_retries_total', 'Failed attempts to load a schema; each is retried', schemaRetries)
  yield sample('schemas_failing', 'Schemas that are needed and could not be loaded yet', schemaFailures.size)
  for (const task of tasks) {
    yield sample('task_lag_records', 'Offsets to the ends of the sources; 0 while the task restores', lagOf(task), { task: task.id })
    yield sample('task_running', '1 when the task runs, 0 while it restores', task.state === 'RUNNING' ? 1 : 0, { task: task.id })
  }
  yield sample('worker_warming_up', '1 while the worker copies state before it takes over partitions', warmUp === undefined ? 0 : 1)
  for (const { task, behind } of standbys)
    yield sample('standby_lag_records', 'Committed changelog offsets that the standby copy lacks', behind, { task })
  for (const { task, remaining, recordsPerSecond } of restoring) {
    yield sample('restore_remaining_records', 'Changelog offsets still to be read', remaining, { task })
    yield sample('restore_records_per_second', 'Mean number of changelog records restored per second', recordsPerSecond, { task })
  }
}
