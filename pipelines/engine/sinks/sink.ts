import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import { type AnyValueTopic, openSerdes } from '../../../kafka/serdes.ts'
import { type Fetcher, type MemberlessGroup, partitionKey, type TopicPartition, type Transport } from '../../../kafka/transport.ts'
import { endsWithin } from '../../../runtime/ends-within.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import { copies } from './copies.ts'
import { kafkaDeadLetters, type SinkDeadLetters } from './dead-letters.ts'
import { type DeliveryStatus, deliveries } from './deliveries/deliveries.ts'
import type { DeliveryTarget } from './deliveries/delivery.ts'
import type { Lane, LaneState } from './lane.ts'
import { type SinkMetrics, sinkMetrics } from './metrics.ts'
import { type OffsetCommits, offsetCommits } from './offset-commits.ts'
import type { SinkAssignment, SinkSeat } from './sink-group.ts'
import type { SinkTarget } from './target.ts'

export interface SinkOptions {
  /** A stable name. The consumer group for the offsets has this name, and the dead-letter topic is named after it. */
  readonly name: string
  readonly topics: readonly AnyTopic[]
  /**
   * Whether records that cannot be decoded, and records that the target refuses permanently, are sent to
   * `<name>-dead-letters`. Default true. With false they are only counted.
   */
  readonly deadLetters?: boolean
  /** How long a stopping sink waits for running writes. Default 15 s. */
  readonly stopGraceMs?: number
}

export interface SinkDeps {
  readonly transport: Transport
  readonly registry: SchemaRegistry
  /**
   * The target into which the topics are copied, such as a view, or the receiver to which the records of a single topic
   * are delivered.
   */
  readonly target: SinkTarget | DeliveryTarget
  /** The sink's seat in the group whose processes share the partitions. */
  readonly seat: SinkSeat
  readonly runtime: Runtime
}

export interface LaneStatus extends TopicPartition {
  readonly state: LaneState
  /** The offset before which all records are applied or done; see `Lane.applied`. */
  readonly position: number | undefined
  readonly lag: number
  readonly queuedBytes: number
  readonly caughtUp: boolean
}

/**
 * Copies topics into an external database, which usually saves the offsets together with the data. With a
 * `DeliveryTarget`, the sink delivers single records instead, at least once. Processes that run the same sink share its
 * partitions.
 */
export interface Sink {
  readonly name: string
  readonly topics: readonly string[]
  /** Resolves after `stop`. Rejects after an error that a retry cannot fix. */
  run(): Promise<void>
  /**
   * Finishes running writes, commits the offsets and leaves the group. Abandons what does not end within the grace
   * period (`stopGraceMs`).
   */
  stop(): Promise<void>
  /**
   * True when the sink has an assignment and each assigned partition is either caught up or still served by a process
   * with an earlier version.
   */
  readonly isReady: boolean
  readonly metrics: Readonly<SinkMetrics>
  /** Counts of deliveries; undefined for sinks that copy topics. */
  readonly deliveries: DeliveryStatus | undefined
  lanes(): LaneStatus[]
}

/** Longest wait of the loop when nothing is due. */
const LONGEST_WAIT_MS = 1_000
/**
 * How long the broker may hold a fetch request while it has no data. This can be long, because a sink does not need
 * empty responses.
 */
const IDLE_WAIT_MS = 15_000
/**
 * Maximum wait for the last commit of a partition. Without this commit, the next owner processes some records again if
 * the target stores no offsets.
 */
const LAST_COMMIT_GRACE_MS = 2_000
/** How long a stopping sink waits for a write. The next owner repeats unfinished writes. */
const DEFAULT_STOP_GRACE_MS = 15_000
/**
 * Time limit for the last commit and for leaving the group. Together with the grace period above, it is less than the
 * 30 s that Kubernetes allows a stopping container.
 */
const GOODBYE_GRACE_MS = 3_000

export function createSink(options: SinkOptions, deps: SinkDeps): Sink {
  const { name, topics } = options
  const { transport, target, seat, runtime } = deps
  const { log } = runtime
  const stopGraceMs = options.stopGraceMs ?? DEFAULT_STOP_GRACE_MS
  const goodbyeMs = Math.min(stopGraceMs, GOODBYE_GRACE_MS)
  const metrics = sinkMetrics()
  const delivering = 'deliver' in target ? deliveries(name, topics, target, transport) : undefined
  const kind = delivering ?? copies(name, topics, target as SinkTarget, transport)
  const lanes = new Map<string, Lane>()
  /** The current assignment; undefined before the first assignment and while a fenced member rejoins. */
  let assignment: SinkAssignment | undefined
  let commits: OffsetCommits | undefined
  let stopping = false
  let turn = 0
  let fetcher: Fetcher | undefined
  let offsets: MemberlessGroup | undefined
  let running: Promise<void> | undefined

  async function loop(): Promise<void> {
    let deadLetters: SinkDeadLetters | undefined
    try {
      await kind.prepareTopics()
      const serdes = await openSerdes(deps.registry, topics as readonly AnyValueTopic[], { runtime })
      deadLetters = options.deadLetters === false ? undefined : kafkaDeadLetters(transport, name, topics, runtime)
      const fetching = transport.fetcher({ unreadableBatches: 'stand-in', collectMs: kind.collectMs, idleWaitMs: () => IDLE_WAIT_MS })
      const group = transport.memberlessGroup(name)
      fetcher = fetching
      offsets = group
      const confirm = kind.confirmsOwnership ? seat.confirmMembership : async () => {}
      commits = offsetCommits(group, { confirm, everyMs: kind.commitEveryMs, runtime })
      const newLane = kind.lanes({ transport, fetcher: fetching, group, seat, serdes, metrics, runtime, deadLetters })
      seat.take({ topics: kind.topics.map((topic) => topic.name), wake: fetching.wake })
      while (!stopping) {
        assignment = seat.assigned()
        await followAssignment(newLane)
        const waitMs = Math.max(0, earliest(runtime.monotonic()) - runtime.monotonic())
        for (const data of await fetching.poll(waitMs)) lanes.get(partitionKey(data.topic, data.partition))?.push(data)
        stepAll()
        await runtime.nextTurn()
        if (commits.isDue) void commits.commit(lanes.values())
      }
      await finish(fetching)
    } finally {
      await close(deadLetters)
    }
  }

  /**
   * Opens and closes lanes according to the assignment. A partition is given up only after its last write has ended.
   */
  async function followAssignment(newLane: (partition: TopicPartition) => Lane): Promise<void> {
    if (assignment === undefined) return
    const { partitions, isFenced } = assignment
    for (const [key, lane] of lanes) if (!partitions.has(key)) lane.close()
    const closed = [...lanes].filter(([, lane]) => lane.state === 'closed')
    if (closed.length > 0 && !isFenced && commits !== undefined) {
      await endsWithin(runtime, LAST_COMMIT_GRACE_MS, commits.commit(lanes.values()))
    }
    for (const [key] of closed) lanes.delete(key)
    for (const [key, partition] of partitions) if (!lanes.has(key)) lanes.set(key, newLane(partition))
    settle()
  }

  function settle(): void {
    if (assignment === undefined) return
    const { partitions } = assignment
    if ([...lanes].every(([key, lane]) => partitions.has(key) || lane.state === 'closed')) seat.settle(assignment)
  }

  /**
   * Runs one step of every lane. Each turn starts with a different lane, so that every lane gets its share of scarce
   * resources, such as delivery slots.
   */
  function stepAll(): void {
    const at = runtime.monotonic()
    const all = [...lanes.values()]
    turn = (turn + 1) % Math.max(1, all.length)
    for (let i = 0; i < all.length; i++) all[(turn + i) % all.length].step(at)
  }

  function earliest(at: number): number {
    // The wait ends at a multiple of `LONGEST_WAIT_MS`, like the waits of the other loops, so that the process wakes up
    // once for all of them.
    let due = at + LONGEST_WAIT_MS - (at % LONGEST_WAIT_MS)
    for (const lane of lanes.values()) due = Math.min(due, lane.dueAt(at))
    return due
  }

  async function finish(fetching: Fetcher): Promise<void> {
    const deadline = runtime.monotonic() + stopGraceMs
    for (const lane of lanes.values()) lane.close()
    while ([...lanes.values()].some((lane) => lane.state !== 'closed') && runtime.monotonic() < deadline) {
      await fetching.poll(LONGEST_WAIT_MS)
      stepAll()
      // The assignment may still change while the sink stops. If this process keeps the partitions that are being
      // written, the sink settles the new assignment at once, so that the other sinks of the group do not wait for
      // these writes.
      assignment = seat.assigned()
      settle()
      await runtime.nextTurn()
    }
    await commits?.commit(lanes.values())
  }

  async function close(deadLetters: SinkDeadLetters | undefined): Promise<void> {
    await commits?.ended()
    await fetcher?.close()
    await offsets?.close()
    await seat.leave()
    await kind.close()
    await deadLetters?.close()
  }

  async function stop(): Promise<void> {
    stopping = true
    fetcher?.wake()
    const ended = running?.catch(() => {})
    const waitMs = goodbyeMs + (assignment === undefined ? 0 : stopGraceMs)
    if (ended !== undefined && !(await endsWithin(runtime, waitMs, ended))) {
      log.warn({ sink: name }, 'sink_stop_waits_no_longer')
      // Closing the connections ends all requests that are still being retried.
      await Promise.allSettled([fetcher?.close(), offsets?.close(), seat.leave()])
    }
  }

  return {
    name,
    topics: kind.topics.map((topic) => topic.name),
    run() {
      running ??= loop()
      return running
    },
    stop,
    get isReady() {
      if (assignment === undefined || assignment.isFenced) return false
      return [...assignment.partitions.keys()].map((key) => lanes.get(key)).every((lane) => lane?.caughtUp || lane?.isOwnedElsewhere)
    },
    metrics,
    get deliveries() {
      return delivering?.status()
    },
    lanes: () =>
      [...lanes.values()].map(({ partition, state, applied, lag, queuedBytes, caughtUp }) => ({
        ...partition,
        state,
        position: applied,
        lag,
        queuedBytes,
        caughtUp,
      })),
  }
}
