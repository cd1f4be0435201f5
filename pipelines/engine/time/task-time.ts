import type { Outputs } from '../task/outputs.ts'
import type { TaskContext } from '../task/task-context.ts'
import type { EmittingNode, StreamDeclaration, TickNode } from '../topology/declaration.ts'
import { expectNoPromise } from '../topology/errors.ts'
import { type TickSchedule, tickSchedule } from './ticks.ts'
import { type TimeGate, timeGate } from './time-gate.ts'
import { type MarkedSource, type TimeMarks, timeMark, timeMarks } from './time-mark.ts'
import { type TimeMarker, timeMarkerHeaders } from './time-marker.ts'
import { isClosedBehind } from './time-thinning.ts'

interface ScheduledTick {
  readonly node: TickNode
  readonly schedule: TickSchedule
}

/** The periodic handlers of one task that run by wall clock or event time. */
export interface TaskTicks {
  start(wallTime: number, streamTime: number): void
  /** Epoch ms of the next wall tick; Infinity if there are no wall ticks. */
  readonly nextWall: number
  /** Event time of the next event tick; Infinity if there are no event ticks, -Infinity before the first record. */
  readonly nextEvent: number
  /** Runs the wall ticks that are due at `time`. */
  runWall(time: number): void
  runEvent(time: number): void
}

export function taskTicks(streams: readonly StreamDeclaration[], context: TaskContext): TaskTicks {
  const all = streams.flatMap((stream) => stream.ticks).map((node): ScheduledTick => ({ node, schedule: tickSchedule(node.everyMs) }))
  const wall = all.filter((tick) => tick.node.clock === 'wall')
  const event = all.filter((tick) => tick.node.clock === 'event')
  let nextWall = Infinity
  let lastWall = -Infinity
  let nextEvent = Infinity
  let eventStarted = false

  const earliest = (ticks: readonly ScheduledTick[]) => ticks.reduce((least, tick) => Math.min(least, tick.schedule.next), Infinity)

  function run(ticks: readonly ScheduledTick[], time: number): void {
    for (const { node, schedule } of ticks) {
      const passed = schedule.take(time)
      if (passed === undefined) continue
      context.leaveRecord(node, passed)
      expectNoPromise(node.handler(passed, context))
    }
  }

  function startEvent(time: number): void {
    eventStarted = true
    for (const tick of event) tick.schedule.start(time)
    nextEvent = earliest(event)
  }

  return {
    start(wallTime, streamTime) {
      for (const tick of wall) tick.schedule.start(wallTime)
      nextWall = earliest(wall)
      lastWall = wallTime
      if (streamTime >= 0) startEvent(streamTime)
      else if (event.length > 0) nextEvent = -Infinity
    },
    get nextWall() {
      return nextWall
    },
    get nextEvent() {
      return nextEvent
    },
    runWall(time) {
      if (time < lastWall) for (const { schedule } of wall) schedule.setBack(time)
      else if (time < nextWall) return
      lastWall = time
      run(wall, time)
      nextWall = earliest(wall)
    },
    runEvent(time) {
      // The first record starts the event clock. No tick is due before that record.
      if (!eventStarted) return startEvent(time)
      run(event, time)
      nextEvent = earliest(event)
    },
  }
}

/** If the clock is set back by at most this much, no time is repeated. See `timeMark`. */
const WAITED_OUT_MS = 60_000

/**
 * Creates the periodic handlers of the caught-up clock. A handler waits until everything that was in the sources at its
 * time is processed, as if the stage sent a time marker to itself.
 */
export function caughtUpTicks(streams: readonly StreamDeclaration[], sources: readonly MarkedSource[], context: TaskContext): TimeMarks {
  const nodes = streams.flatMap((stream) => stream.ticks).filter(({ clock }) => clock === 'caught-up')
  const ticks = nodes.map((node) => ({
    mark: timeMark(node.everyMs, 0, sources.length, WAITED_OUT_MS),
    reached(time: number): void {
      context.leaveRecord(node, time)
      expectNoPromise(node.handler(time, context))
    },
  }))
  return timeMarks(ticks, sources)
}

/** Closes times for one stream of a task in a later stage, when the time markers have arrived. */
export interface TimeClosing {
  /**
   * Must be called when the time store is open. Resumes a time whose markers were committed but whose handlers have not
   * run.
   */
  start(): void
  accept(marker: TimeMarker): void
  /** True from the moment a time can be closed until all of its handlers have finished and the time is forwarded. */
  readonly due: boolean
  /** True from the start of a time's first handler to the end of its last one. */
  readonly busy: boolean
  /**
   * Runs the handlers of the due times until they finish, or until `expired` returns true after a step that leaves a
   * handler unfinished.
   */
  run(expired: () => boolean): void
  /** Ends the current handler, so that its generator can release its resources. */
  stop(): void
  readonly closed: number | undefined
}

/**
 * Creates the object that closes times for a stream.
 * @param stages the stages that send markers into the stream. `all` contains all of them, and `forwarding` contains
 * those that only forward times.
 * @param partitions the partition count of this stage. The markers that it forwards contain this count.
 */
export function timeClosing(
  stream: StreamDeclaration,
  stages: { readonly all: readonly string[]; readonly forwarding: readonly string[] },
  context: TaskContext,
  outputs: Outputs,
  partitions: number,
): TimeClosing {
  const { timeStore, timeHandlers } = stream
  if (timeStore === undefined) throw new Error(`stream ${stream.topic.name} has no time store`)
  const without = timeHandlers.find((each) => each.closeWithout !== undefined)?.closeWithout
  const gate: TimeGate = timeGate(stages.all, stages.forwarding, timeStore, without)
  let time: number | undefined
  let handler = 0
  let begun = false
  let generator: Generator<void, void, void> | undefined

  function enter(node: EmittingNode, at: number): void {
    context.leaveRecord(node, at)
  }

  /**
   * Returns true when the stage is too far behind to close this time. It then forwards no marker, so that later stages
   * skip the time as well.
   */
  function isPassedOver(at: number): boolean {
    const waitedMs = without !== undefined && gate.missing(at) > 0 ? without.afterMs : 0
    return timeHandlers.some(({ thinBehindMs }) => !isClosedBehind(at, context.now - at - waitedMs, thinBehindMs))
  }

  /** Continues the current handler of a time. @returns true when this handler has finished */
  function step(at: number): boolean {
    const node = timeHandlers[handler]
    enter(node, at)
    context.missing = gate.missing(at)
    if (generator === undefined) {
      const result = node.handler(at, context)
      if (result === undefined) return true
      generator = result
    }
    if (generator.next().done !== true) return false
    generator = undefined
    return true
  }

  function forward(at: number): void {
    const marker: TimeMarker = { stage: stream.topic.name, partition: context.partition, partitions, time: at }
    for (const { forwardTo } of timeHandlers) if (forwardTo !== undefined) outputs.mark(forwardTo, at, timeMarkerHeaders(marker))
  }

  return {
    start() {
      time = gate.due()
    },
    accept(marker) {
      gate.accept(marker)
      time ??= gate.due()
    },
    get due() {
      return time !== undefined
    },
    get busy() {
      return begun
    },
    run(expired) {
      while (time !== undefined) {
        if (!begun && isPassedOver(time)) {
          gate.close(time)
          context.count('times_passed_over')
          time = gate.due()
          continue
        }
        begun = true
        if (!step(time)) {
          if (expired()) return
          continue
        }
        handler++
        if (handler < timeHandlers.length) continue
        forward(time)
        gate.close(time)
        handler = 0
        begun = false
        time = gate.due()
      }
    },
    stop() {
      generator?.return()
      generator = undefined
    },
    get closed() {
      return gate.closed
    },
  }
}
