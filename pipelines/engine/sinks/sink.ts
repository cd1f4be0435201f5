import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import { type AnyValueTopic, openSerdes } from '../../../kafka/serdes.ts'
import {
  type Fetcher,
  type GroupEvent,
  type GroupMember,
  type OffsetToCommit,
  partitionKey,
  type TopicPartition,
  type Transport,
} from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import { kafkaDeadLetters, type SinkDeadLetters } from './dead-letters.ts'
import { type Lane, type LaneState, openLane } from './lane.ts'
import { type SinkMetrics, sinkMetrics } from './metrics.ts'
import { partitionQueue } from './queue.ts'
import type { PartitionFacts, SinkTarget } from './target.ts'
import { prepareSinkTopics } from './topics.ts'

export interface SinkOptions {
  /** Stable: names the consumer group and the dead-letter topic. */
  readonly name: string
  readonly topics: readonly AnyTopic[]
  /** UUID kept by the worker slot: a restarted sink gets its partitions back at once. */
  readonly memberId: string
  /** Keeps another member id in place of one that the brokers refuse. */
  readonly keepMemberId?: (memberId: string) => void
  /** Where records that cannot be decoded go. Default true: topic `<name>-dead-letters`. False: they are only counted. */
  readonly deadLetters?: boolean
  /** How long a sink that stops waits for writes under way. Default 15 s. */
  readonly stopGraceMs?: number
}

export interface SinkDeps {
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly target: SinkTarget
  readonly runtime: Runtime
}

export interface LaneStatus extends TopicPartition {
  readonly state: LaneState
  /** Next offset that the target lacks. */
  readonly position: number | undefined
  readonly lag: number
  readonly queuedBytes: number
  readonly caughtUp: boolean
}

/**
 * Copies topics into a target, exactly as often as needed: the target keeps its own offsets, so replays change nothing and a wiped target
 * is filled again from the log. Several sinks of one name share the partitions.
 */
export interface Sink {
  readonly name: string
  readonly topics: readonly string[]
  /** Resolves after `stop`; rejects when something is wrong that trying again does not cure. */
  run(): Promise<void>
  /** Lets writes under way finish, commits and leaves the group. */
  stop(): Promise<void>
  /** True when the group has said what this instance owns and all of it is caught up. */
  readonly isReady: boolean
  readonly metrics: Readonly<SinkMetrics>
  lanes(): LaneStatus[]
}

/** Offsets in Kafka are for lag monitors only: the target knows better. */
const COMMIT_EVERY_MS = 1_000
/** The longest the loop sleeps when nothing is due. */
const LONGEST_WAIT_MS = 1_000
/** A write that a stopping sink waits for; what it leaves behind is read again. */
const DEFAULT_STOP_GRACE_MS = 15_000
/** What may follow it (last commit, goodbye) while the brokers answer: less in all than the 30 s after which Kubernetes kills. */
const GOODBYE_GRACE_MS = 3_000

export function createSink(options: SinkOptions, deps: SinkDeps): Sink {
  const { name, topics } = options
  const { transport, target, runtime } = deps
  const { log } = runtime
  const stopGraceMs = options.stopGraceMs ?? DEFAULT_STOP_GRACE_MS
  const goodbyeMs = Math.min(stopGraceMs, GOODBYE_GRACE_MS)
  const metrics = sinkMetrics()
  const lanes = new Map<string, Lane>()
  /** Owned or about to be; undefined until the group has said so. */
  let wanted: Map<string, TopicPartition> | undefined
  let mustAcknowledge = false
  let mustRejoin = false
  let lastCommitAt = 0
  let committing: Promise<void> | undefined
  let stopping = false
  let fetcher: Fetcher | undefined
  let membership: GroupMember | undefined
  let running: Promise<void> | undefined

  async function loop(): Promise<void> {
    await prepareSinkTopics(transport, name, topics, target)
    const serdes = await openSerdes(deps.registry, topics as readonly AnyValueTopic[], { runtime })
    const deadLetters = options.deadLetters === false ? undefined : kafkaDeadLetters(transport, name, runtime)
    const fetching = transport.fetcher()
    const member = transport.groupMember({
      groupId: name,
      memberId: options.memberId,
      onMemberId: options.keepMemberId,
      onEvent: fetching.wake,
      topics: topics.map((topic) => topic.name),
    })
    membership = member
    fetcher = fetching
    const byName = new Map(topics.map((topic) => [topic.name, topic]))

    async function factsOf(partition: TopicPartition): Promise<PartitionFacts> {
      const key = partitionKey(partition.topic, partition.partition)
      const [starts, ends, committed] = await Promise.all([
        transport.offsets([partition], 'earliest'),
        transport.offsets([partition], 'end'),
        member.committed([partition]),
      ])
      return { start: starts.get(key) ?? 0, end: ends.get(key) ?? 0, committed: committed.get(key) }
    }

    function newLane(partition: TopicPartition): Lane {
      const topic = byName.get(partition.topic) as AnyTopic
      const value = serdes.codecFor(topic)
      return openLane(partition, {
        target,
        fetcher: fetching,
        metrics,
        runtime,
        factsOf,
        confirmOwnership: member.heartbeat,
        newQueue: (isMissing) => partitionQueue({ key: topic.key, value, isMissing }),
        loadSchema: serdes.schemas.load,
        deadLetters: deadLetters?.send,
      })
    }

    try {
      await member.join()
      while (!stopping) {
        for (let event = member.takeEvent(); event; event = member.takeEvent()) takeEvent(event)
        await reconcile(member, newLane)
        const waitMs = Math.max(0, earliest(runtime.monotonic()) - runtime.monotonic())
        for (const data of await fetching.poll(waitMs)) lanes.get(partitionKey(data.topic, data.partition))?.push(data)
        stepAll()
        await runtime.nextTurn()
        if (!committing && runtime.monotonic() - lastCommitAt >= COMMIT_EVERY_MS) void commit(member)
      }
      await finish(member)
    } finally {
      await close(member, fetching, deadLetters)
    }
  }

  function takeEvent(event: GroupEvent): void {
    switch (event.type) {
      case 'assignment':
        wanted = new Map(event.partitions.map((each) => [partitionKey(each.topic, each.partition), each]))
        mustAcknowledge = true
        return
      case 'fenced':
        log.warn({ sink: name, reason: event.reason }, 'sink_fenced')
        wanted = new Map()
        mustRejoin = true
        return
      case 'failed':
        throw event.error
    }
  }

  /** Brings the lanes in line with what the group wants. A partition is given up only when its last write has ended. */
  async function reconcile(member: GroupMember, newLane: (partition: TopicPartition) => Lane): Promise<void> {
    if (wanted === undefined) return
    for (const [key, lane] of lanes) if (!wanted.has(key)) lane.close()
    const closed = [...lanes].filter(([, lane]) => lane.state === 'closed')
    if (closed.length > 0 && !mustRejoin) await commit(member)
    for (const [key] of closed) lanes.delete(key)
    for (const [key, partition] of wanted) if (!lanes.has(key)) lanes.set(key, newLane(partition))
    const isSettled = [...lanes.values()].every((lane) => lane.state !== 'closing')
    if (!isSettled) return
    if (mustRejoin) {
      mustRejoin = false
      mustAcknowledge = false
      wanted = undefined
      await member.rejoin()
    } else if (mustAcknowledge) {
      mustAcknowledge = false
      member.acknowledge([...wanted.values()])
    }
  }

  function stepAll(): void {
    const at = runtime.monotonic()
    for (const lane of lanes.values()) lane.step(at)
  }

  function earliest(at: number): number {
    // At the same moments as the other loops of the process, so that it wakes up once for all of them.
    let due = at + LONGEST_WAIT_MS - (at % LONGEST_WAIT_MS)
    for (const lane of lanes.values()) due = Math.min(due, lane.dueAt(at))
    return due
  }

  async function commit(member: GroupMember): Promise<void> {
    await committing
    lastCommitAt = runtime.monotonic()
    const offsets = new Map<string, OffsetToCommit>()
    for (const [key, lane] of lanes) {
      const offset = lane.takeCommit()
      if (offset) offsets.set(key, offset)
    }
    if (offsets.size === 0) return
    // Nothing depends on it: the target holds its own position.
    committing = member
      .commit(offsets)
      .catch((error: Error) => log.warn({ sink: name, reason: error.message }, 'sink_commit_failed'))
      .finally(() => {
        committing = undefined
      })
    await committing
  }

  async function finish(member: GroupMember): Promise<void> {
    const deadline = runtime.monotonic() + stopGraceMs
    for (const lane of lanes.values()) lane.close()
    while ([...lanes.values()].some((lane) => lane.state !== 'closed') && runtime.monotonic() < deadline) {
      await fetcher?.poll(LONGEST_WAIT_MS)
      stepAll()
      await runtime.nextTurn()
    }
    await commit(member)
  }

  async function close(member: GroupMember, fetching: Fetcher, deadLetters: SinkDeadLetters | undefined): Promise<void> {
    await committing
    await fetching.close()
    await member.leave()
    await deadLetters?.close()
  }

  async function stop(): Promise<void> {
    stopping = true
    fetcher?.wake()
    // A broker that is away would hold up the join, and with it the end of the process.
    if (wanted === undefined) await membership?.leave()
    const ended = running?.catch(() => {})
    if (await isLonger(ended, goodbyeMs + (wanted === undefined ? 0 : stopGraceMs))) {
      log.warn({ sink: name }, 'sink_stop_waits_no_longer')
      // Ends every request that is still repeated.
      await Promise.allSettled([fetcher?.close(), membership?.leave()])
    }
  }

  async function isLonger(work: Promise<void> | undefined, ms: number): Promise<boolean> {
    const patience = new AbortController()
    const longEnough = runtime.sleep(ms, patience.signal).then(() => true)
    const longer = await Promise.race([work?.then(() => false), longEnough])
    patience.abort()
    return longer === true
  }

  return {
    name,
    topics: topics.map((topic) => topic.name),
    run() {
      running ??= loop()
      return running
    },
    stop,
    get isReady() {
      return wanted !== undefined && !mustRejoin && [...wanted.keys()].every((key) => lanes.get(key)?.caughtUp === true)
    },
    metrics,
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
