import type { OffsetToCommit, PartitionData, RecordAppender } from '../../../kafka/transport.ts'
import { partitionKey } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { isStateFailure } from '../../../state/stores/errors.ts'
import type { ChangelogWriter, EngineStore, StateSession } from '../../../state/stores/store.ts'
import { streamTimeMetadata } from '../state/commit-metadata.ts'
import { taskMarks } from '../time/task-marks.ts'
import { caughtUpTicks, taskTicks, timeClosing } from '../time/task-time.ts'
import type { Codecs } from '../topology/codecs.ts'
import { expectNoPromise, ProcessorError } from '../topology/errors.ts'
import { changelogTopicName } from '../topology/internal-topics.ts'
import { forwardingStagesInto, type SubTopology, timeStagesInto } from '../topology/sub-topology.ts'
import type { Topology } from '../topology/topology.ts'
import type { FailedRecords } from './failed-records.ts'
import type { TaskMetrics } from './metrics.ts'
import { type AppenderSource, taskOutputs } from './outputs.ts'
import { causedByNoRecord, type RecordPlace, RowFailure, rowProblem } from './record-failure.ts'
import { processorFailed, type RunResult, recordLoop } from './record-loop.ts'
import type { RecordQueue } from './record-queue.ts'
import { TaskContext } from './task-context.ts'
import { taskIdling } from './task-idling.ts'
import { type TaskPlace, taskPlace } from './task-place.ts'
import { taskSources } from './task-sources.ts'
import { type TaskState, taskStateMachine } from './task-state.ts'

export interface TaskDeps {
  readonly topology: Topology
  readonly part: SubTopology
  readonly partition: number
  /** The actual partition count of every topic that the topology reads or writes. */
  readonly partitionCounts: ReadonlyMap<string, number>
  readonly codecs: Codecs
  readonly session: StateSession
  readonly producer: AppenderSource
  readonly metrics: TaskMetrics
  readonly runtime: Pick<Runtime, 'now'>
  /** Returns true if the registry does not have this schema id. */
  readonly isMissing: (schemaId: number) => boolean
  /**
   * The records that have failed. All tasks of a worker share this object, including earlier tasks of the same
   * partitions.
   */
  readonly failed: FailedRecords
  /** Cache size for decoded objects, in bytes, for each store that does not set its own size. */
  readonly cacheBytes: number
}

export interface StartPosition {
  readonly offset: number
  /** Event time (epoch ms) when the offset was committed; -1 when it is unknown. */
  readonly streamTime: number
  /** The leader epoch that was committed with the offset. */
  readonly leaderEpoch?: number
  /** True if the reset policy determined this offset, because neither the group nor the state has one. */
  readonly isReset?: boolean
}

/** The progress of a task, as a commit saves it. */
export interface TaskProgress {
  /** Next offset of each source. The metadata of each offset contains the event time. */
  readonly offsets: readonly OffsetToCommit[]
  /** Event time, epoch ms; -1 before the first record. */
  readonly streamTime: number
}

/**
 * One sub-topology in one partition. All methods are synchronous, so that the worker and the test driver can call them
 * from a single loop.
 */
export interface StreamTask extends TaskPlace {
  readonly state: TaskState
  beginRestore(): void
  /** Opens the stores after the state was restored. @param positions the start positions, keyed by partition key */
  start(positions: ReadonlyMap<string, StartPosition>): void
  accept(data: PartitionData): void
  /**
   * Processes queued records until none can be processed now, `expired` returns true, a commit must come first, or time
   * handlers are due. Handlers that are already due when this method is called run first.
   */
  run(expired: () => boolean): RunResult
  /**
   * Time (epoch ms) at which the task next needs fresh high watermarks, even without input. Time markers and ticks of
   * the caught-up clock depend on them.
   */
  readonly asksFrom: number
  /** Epoch ms of the next wall tick. */
  readonly nextTickAt: number
  runWallTicks(now: number): void
  /** False while a time handler is in progress. Nothing may be committed during that time. */
  readonly atRest: boolean
  /** True when a time can be closed; the next run starts or continues its handlers. */
  readonly closingDue: boolean
  /** True when the task processes nothing more before the next commit; see `RecordLoop`. */
  readonly commitDue: boolean
  /** True if the author's code has called `commitSoon` since the last commit began. */
  readonly commitSoon: boolean
  /** Continues only the time handlers, until they finish or `expired` returns true. */
  runHandlers(expired: () => boolean): void
  /**
   * True when there is something to commit: state, output, processed records, due ticks and time markers, or a start
   * position that must be committed.
   */
  readonly hasWork: boolean
  /** Number of changed keys that the next commit encodes. */
  readonly dirtyKeys: number
  /** Estimated size in bytes of the rows that the next commit encodes. */
  readonly dirtyBytes: number
  /**
   * True when positions have moved, even if only past control records, or when a start position must be committed
   * although it has not moved.
   */
  readonly positionsMoved: boolean
  readonly queuedRecords: number
  readonly queuedBytes: number
  /** Returns true if records of this source are queued. */
  hasQueued(topic: string): boolean
  /** True while the queued records wait for records from another source; see `TaskIdling`. */
  readonly idles: boolean
  /** Epoch ms at which the wait for another source ends if no records arrive. */
  readonly idlesUntil: number
  /** True when all records before the known high watermarks are processed. */
  readonly caughtUp: boolean
  /**
   * Runs step 1 of a commit: runs the ticks of the caught-up clock and the hooks, sends due time markers, and encodes
   * dirty state into the changelogs and the state's open batch. Records processed afterwards belong to the next commit.
   */
  prepareCommit(): TaskProgress
  /** Returns the current progress. */
  progress(): TaskProgress
  /** Must be called after step 5 of the commit. */
  committed(): void
  position(topic: string): number
  highWatermark(topic: string): number
  /**
   * Time (epoch ms) of the fetch that returned the oldest of the sources' high watermarks; undefined while the high
   * watermark of any source is unknown.
   */
  readonly fetchedAt: number | undefined
  readonly streamTime: number
  /** The latest time that all streams have closed. Streams that have not closed any time do not count. */
  readonly timeClosed: number | undefined
  store(name: string): EngineStore
  /** Closes the task and discards everything that is not committed. */
  close(): void
}

export function streamTask(deps: TaskDeps): StreamTask {
  const { topology, part, partition, session, codecs, metrics, runtime, cacheBytes, failed, isMissing } = deps
  const declaration = topology.declare()
  const place = taskPlace(declaration, part, partition)
  const { id } = place
  const state = taskStateMachine(`${topology.name} ${id}`)
  const streams = declaration.streams.filter((stream) => part.sources.includes(stream.topic.name))
  const stores = part.stores.map((name) => declaration.stores.get(name) as EngineStore)
  const outputs = taskOutputs(deps.producer, codecs, deps.partitionCounts)
  const partitions = deps.partitionCounts.get(part.sources[0]) ?? part.partitions
  const context = new TaskContext(partition, partitions, outputs, metrics)

  const sources = taskSources(streams, { declaration, partition, codecs, isMissing, failed })
  const { queues } = sources
  const ticks = taskTicks(streams, context)
  const settledTicks = caughtUpTicks(streams, queues, context)
  const closings = streams.map((stream) => {
    if (stream.timeHandlers.length === 0) return undefined
    const into = stream.topic.name
    const stages = { all: timeStagesInto(declaration, into), forwarding: forwardingStagesInto(declaration, into) }
    return timeClosing(stream, stages, context, outputs, partitions)
  })
  const marks = taskMarks(streams, queues, context, outputs)
  const idling = taskIdling(queues, topology.options.maxIdleMs ?? 0)
  const ofLoop = { queues, closings, idling, stores, rowCheckOf, ticks, context, outputs, metrics, failed, isMissing }
  const loop = recordLoop({ topology: topology.name, ...ofLoop })

  /** True if this task repeats records because a commit could not write a row. */
  const repeats = queues.some((queue) => queue.checksNext)
  let startPositions: readonly number[] = []
  /** The positions in the last commit that has begun; before the first commit, the start positions. */
  let committedPositions: readonly number[] = []
  /**
   * True while there is an uncommitted start position that the reset policy of its source might not choose again. With
   * `latest`, the next start would skip the records that arrived in the meantime. With `fail`, the next start could be
   * refused: a partition that was added while this worker was running is read from its beginning, but another worker
   * would apply the policy. The task processes nothing until the position is committed, because even a failed record
   * can restart the task.
   */
  let hasUniqueStart = false
  /** The stores that are open. If the state is damaged, a start can fail before it has opened all of them. */
  const openStores: EngineStore[] = []

  function runHooks(): void {
    try {
      settledTicks.run()
      for (const node of streams.flatMap((stream) => stream.beforeCommits)) {
        context.leaveRecord(node, context.streamTime >= 0 ? context.streamTime : context.now)
        expectNoPromise(node.handler(context))
      }
      context.node = undefined
    } catch (error) {
      throw processorFailed(topology.name, context, error)
    }
  }

  function flushStores(): void {
    for (const store of stores) {
      try {
        store.flush(changelogOf(store))
      } catch (error) {
        if (isStateFailure(error)) throw error
        const message = `${topology.name}: ${rowProblem(store, error)}`
        // If every record since the last commit was checked, none of them has caused the failure.
        if (loop.unchecked === 0) throw new ProcessorError(causedByNoRecord(message), { cause: error })
        throw new RowFailure(message, placesAt(committedPositions), placesAt(sources.positions()), error)
      }
    }
  }

  function placesAt(positions: readonly number[]): RecordPlace[] {
    return queues.map(({ topic }, i) => ({ topic, partition, offset: positions[i] }))
  }

  /**
   * Throws if an earlier commit could not write a row, and the repetition has shown that no record caused the failure.
   * A tick that changed the row may not have run again, so this commit could succeed without the tick's work.
   */
  function expectCause(): void {
    if (!repeats) return
    const problem = failed.unexplained(placesAt(startPositions), placesAt(sources.positions()))
    if (problem !== undefined) throw new ProcessorError(causedByNoRecord(problem))
  }

  function appenderOf(store: EngineStore): RecordAppender | undefined {
    return store.logged ? deps.producer.appender(changelogTopicName(topology.name, store.name), partition) : undefined
  }

  function changelogOf(store: EngineStore): ChangelogWriter | undefined {
    const appender = appenderOf(store)
    if (appender === undefined) return undefined
    return {
      append: (key, keyStart, keyEnd, value, valueStart, valueEnd) =>
        appender.append(context.now, key, keyStart, keyEnd, value, valueStart, valueEnd),
    }
  }

  function rowCheckOf(store: EngineStore): ChangelogWriter | undefined {
    const appender = appenderOf(store)
    return appender && { append: (...row) => appender.check(context.now, ...row) }
  }

  function idlesUntil(): number {
    return state.current === 'RUNNING' && sources.queuedRecords > 0 ? idling.until(runtime.now()) : -Infinity
  }

  function progress(): TaskProgress {
    const { streamTime } = context
    const metadata = streamTimeMetadata(streamTime)
    const offsetOf = ({ topic, position, leaderEpoch }: RecordQueue) => ({ topic, partition, offset: position, metadata, leaderEpoch })
    return { offsets: queues.map(offsetOf), streamTime }
  }

  return {
    ...place,
    get state() {
      return state.current
    },

    beginRestore() {
      state.to('RESTORING')
    },

    start(positions) {
      state.to('RUNNING')
      for (const store of stores) {
        const column = session.column(store.name, partition)
        store.open({ column, codec: codecs.storeValue(store), cacheBytes, access: context, record: context, time: context })
        openStores.push(store)
      }
      for (const queue of queues) {
        const start = positions.get(partitionKey(queue.topic, partition))
        if (start === undefined) throw new Error(`task ${id} was started without a position for ${queue.topic}`)
        queue.position = start.offset
        queue.leaderEpoch = start.leaderEpoch
        context.streamTime = Math.max(context.streamTime, start.streamTime)
        if (start.isReset === true && (queue.stream.options.offsetReset ?? 'earliest') !== 'earliest') hasUniqueStart = true
      }
      startPositions = sources.positions()
      committedPositions = startPositions
      for (const closing of closings) closing?.start()
      context.now = runtime.now()
      ticks.start(context.now, context.streamTime)
    },

    accept(data) {
      state.expect('RUNNING', 'accepting records')
      const index = sources.push(data)
      const now = runtime.now()
      marks.observe(index, data.fetchedAt, data.highWatermark, now)
      settledTicks.observe(index, data.fetchedAt, data.highWatermark, now)
    },

    run(expired) {
      state.expect('RUNNING', 'processing')
      context.now = runtime.now()
      return loop.run(expired)
    },

    get asksFrom() {
      if (state.current !== 'RUNNING') return Infinity
      return Math.min(marks.asksFrom, settledTicks.asksFrom)
    },

    get nextTickAt() {
      return state.current === 'RUNNING' ? ticks.nextWall : Infinity
    },

    runWallTicks(now) {
      state.expect('RUNNING', 'ticking')
      if (!loop.atRest) return
      context.now = now
      try {
        ticks.runWall(now)
        context.node = undefined
      } catch (error) {
        throw processorFailed(topology.name, context, error)
      }
    },

    get atRest() {
      return loop.atRest
    },

    get commitDue() {
      return loop.commitDue || hasUniqueStart
    },

    get commitSoon() {
      return context.soon
    },

    runHandlers(expired) {
      state.expect('RUNNING', 'running time handlers')
      context.now = runtime.now()
      loop.runHandlers(expired)
    },

    get closingDue() {
      return state.current === 'RUNNING' && loop.closingDue
    },

    get hasWork() {
      if (state.current !== 'RUNNING') return false
      if (hasUniqueStart || loop.processed > 0 || context.emitted > 0 || settledTicks.due) return true
      return marks.due || stores.some((store) => store.dirtyKeys > 0)
    },

    get dirtyKeys() {
      return stores.reduce((sum, store) => sum + store.dirtyKeys, 0)
    },

    get dirtyBytes() {
      return stores.reduce((sum, store) => sum + store.dirtyBytes, 0)
    },

    get positionsMoved() {
      return state.current === 'RUNNING' && (hasUniqueStart || sources.movedSince(committedPositions))
    },

    get queuedRecords() {
      return sources.queuedRecords
    },

    get queuedBytes() {
      return sources.queuedBytes
    },

    hasQueued: (topic) => (sources.of(topic)?.queuedRecords ?? 0) > 0,

    get idles() {
      return idlesUntil() > runtime.now()
    },

    get idlesUntil() {
      return idlesUntil()
    },

    get caughtUp() {
      return sources.caughtUp
    },

    prepareCommit() {
      state.expect('RUNNING', 'committing')
      if (!loop.atRest) throw new Error(`task ${id} cannot commit in the middle of a time handler`)
      expectCause()
      context.now = runtime.now()
      runHooks()
      marks.run()
      flushStores()
      committedPositions = sources.positions()
      hasUniqueStart = false
      context.emitted = 0
      context.soon = false
      loop.processed = 0
      loop.unchecked = 0
      loop.commitDue = false
      return progress()
    },

    progress,

    committed() {
      for (const store of stores) store.committed()
      queues.forEach(({ topic }, i) => {
        failed.forgetBefore({ topic, partition }, committedPositions[i])
      })
    },

    position: (topic) => sources.of(topic)?.position ?? -1,
    highWatermark: (topic) => sources.of(topic)?.highWatermark ?? -1,
    get fetchedAt() {
      return sources.fetchedAt
    },
    get streamTime() {
      return context.streamTime
    },
    get timeClosed() {
      const times = closings.flatMap((closing) => closing?.closed ?? [])
      return times.length === 0 ? undefined : Math.min(...times)
    },
    store(name) {
      const store = stores.find((candidate) => candidate.name === name)
      if (store === undefined) throw new Error(`task ${id} of ${topology.name} has no store ${name}`)
      return store
    },

    close() {
      state.to('CLOSED')
      for (const closing of closings) closing?.stop()
      for (const store of openStores) store.discard()
    },
  }
}
