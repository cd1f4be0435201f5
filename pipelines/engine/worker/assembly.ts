import { groupView } from '../../../kafka/group-view.ts'
import { openSerdes } from '../../../kafka/serdes.ts'
import type { Fetcher, GroupMember, OffsetReset, TopicPartition, WorkerProducer } from '../../../kafka/transport.ts'
import type { StateCorrupted } from '../../../state/stores/errors.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import { type StateQueries, stateQueries } from '../queries/queries.ts'
import { type InactiveState, inactiveState } from '../state/inactive-state.ts'
import { type FailedRecords, failedRecords } from '../task/failed-records.ts'
import type { TaskMetrics } from '../task/metrics.ts'
import { type StreamTask, streamTask } from '../task/task.ts'
import { topologyCodecs, valueTopicsOf } from '../topology/codecs.ts'
import type { Declaration } from '../topology/declaration.ts'
import type { SubTopology } from '../topology/sub-topology.ts'
import { type Committer, committer } from './committer.ts'
import { type Membership, membership } from './membership.ts'
import { type PartitionCounts, partitionCounts } from './partition-counts.ts'
import { type SchemaWaits, schemaWaits } from './schema-waits.ts'
import { type TaskSet, taskSet } from './task-set.ts'
import { type TaskStarts, taskStarts } from './task-starts.ts'
import { type WarmUp, warmUp } from './warm-up.ts'
import type { WorkerConfig, WorkerDeps } from './worker-config.ts'
import { changelogNames, prepareTopics } from './worker-topics.ts'

/**
 * The default commit interval, the same as in Kafka Streams with exactly-once processing. It delays the output by at
 * most this time, in addition to the time that processing and the commit itself take.
 */
const DEFAULT_COMMIT_INTERVAL_MS = 100
/**
 * Share of the commit interval during which records collect before the next fetch. This does not delay the output,
 * because the records would have to wait for the commit anyway.
 */
const COLLECTING_SHARE = 0.2
const LONGEST_COLLECTING_MS = 50
/**
 * How long, at most, the broker may hold a fetch request while there is no data. This time also limits the age that
 * queries report for their answers: while nothing is appended, the age is the time since the last fetch.
 */
const OLDEST_NEWS_MS = 5_000
/**
 * Default cache size for the decoded objects of all stores in all tasks of a topology. The stores share the cache
 * equally, so a topology with few stores keeps more objects per store.
 */
const DEFAULT_SHARED_CACHE_BYTES = 32 * 1024 * 1024
/**
 * Lower limit of the default cache size of one store in one task. It is enough for about 12,000 objects of 150 encoded
 * bytes.
 */
const LEAST_DEFAULT_CACHE_BYTES = 4 * 1024 * 1024
/**
 * How long unused state is kept. An hour is enough to upgrade a host. Older state is of little use, because most of its
 * changelog must be read again.
 */
export const DEFAULT_KEEP_STATE_MS = 3_600_000
/** Default of `warmUpMaxMs`. It can be long, because processing does not wait for a warm-up. */
const DEFAULT_WARM_UP_MAX_MS = 1_800_000
/**
 * By default, a worker that lacks fewer changelog records than this skips the warm-up. Restoring this many records
 * takes about 0.2 s. A warm-up needs more time just to check the group.
 */
const DEFAULT_WARM_UP_LEAST_RECORDS = 100_000

/**
 * How long a worker may take to give up revoked partitions before the broker removes it from the group. It bounds every
 * wait in a rebalance, such as a commit that waits for a broker. The time is shorter than Kafka's default of five
 * minutes, because no worker processes a revoked partition until its former owner has given it up.
 */
const REBALANCE_TIMEOUT_MS = 60_000

/** The properties of a worker that are passed to its parts. */
export interface WorkerContext {
  readonly declaration: Declaration
  readonly metrics: TaskMetrics
  /** Fires when the worker stops. */
  readonly stopping: AbortSignal
  /** Fires when the grace period of a stopping worker is over. */
  readonly givenUp: AbortSignal
  /** Called with the error when a query finds corrupted state. */
  readonly onDamage: (error: StateCorrupted) => void
}

/** The parts of a running worker. */
export interface Assembly {
  readonly schemas: SchemaWaits
  readonly session: StateSession
  readonly copySession: StateSession
  readonly producer: WorkerProducer
  readonly fetcher: Fetcher
  readonly group: GroupMember
  readonly tasks: TaskSet
  readonly starts: TaskStarts
  readonly committer: Committer
  readonly membership: Membership
  readonly warmUp: WarmUp
  readonly counts: PartitionCounts
  readonly queries: StateQueries
  readonly inactiveState: InactiveState
  readonly failed: FailedRecords
}

/**
 * Creates missing topics, registers the schemas, and creates and connects the parts of a worker. The producer is not
 * initialised and the member has not joined yet.
 * @throws TopologyError when the topology cannot run on these brokers
 */
export async function assemble(config: WorkerConfig, deps: WorkerDeps, worker: WorkerContext): Promise<Assembly> {
  const { topology } = config
  const { transport, runtime, identity } = deps
  const { declaration, metrics, stopping, givenUp } = worker
  const serdes = await openSerdes(deps.registry, valueTopicsOf(declaration), { runtime })
  const codecs = topologyCodecs(topology.name, (topic) => serdes.codecFor(topic))
  const counts = partitionCounts(topology.name, topology.subTopologies, await prepareTopics(transport, topology, declaration))
  const session = deps.backend.session(topology.name)
  const copySession = deps.backend.copySession(topology.name)
  const exactlyOnce = config.guarantee !== 'at-least-once'
  const transactionalId = exactlyOnce ? identity.transactionalId : undefined
  const copies = topology.options.standby ?? 0
  const changelogs = changelogNames(topology, declaration)
  const maxBatchBytes = await transport.maxBatchBytes([...counts.topics.keys(), ...changelogs])
  const producer = transport.producer({ transactionalId, compression: config.compression, maxBatchBytes, onCommitStep: deps.fault })
  const commitIntervalMs = topology.options.commitIntervalMs ?? config.commitIntervalMs ?? DEFAULT_COMMIT_INTERVAL_MS
  const commitWhenIdle = topology.options.commitWhenIdle ?? true
  const usualCollectMs = commitWhenIdle ? 0 : Math.min(LONGEST_COLLECTING_MS, Math.floor(commitIntervalMs * COLLECTING_SHARE))
  const collectMs = topology.options.collectMs ?? usualCollectMs
  const fetcher = transport.fetcher({
    unreadableBatches: 'stand-in',
    collectMs: collectMs === 'until-commit' ? () => commits.collectMs(runtime.now()) : collectMs,
    idleWaitMs: () => Math.min(OLDEST_NEWS_MS, Math.min(...tasks.running().map((task) => task.asksFrom)) - runtime.now()),
  })
  const topics = declaration.streams.map((stream) => stream.topic.name)
  const group = transport.groupMember({
    groupId: topology.name,
    memberId: identity.memberId,
    onMemberId: identity.keepMemberId,
    onEvent: fetcher.wake,
    address: deps.address,
    // An ended process is not removed from the group if the topology has changelogs but no standby copies. Another
    // worker would have to restore the state from the changelogs, and this usually takes longer than restarting the
    // ended process. Workers that keep their place are not removed either, because they are expected to return.
    hasEnded: (copies > 0 || changelogs.length === 0) && !config.keepPlaceOnStop ? deps.hasEnded : undefined,
    rebalanceTimeoutMs: REBALANCE_TIMEOUT_MS,
    topics,
  })

  const resets = new Map(declaration.streams.map((stream) => [stream.topic.name, stream.options.offsetReset ?? 'earliest']))
  // A partition that was added while this worker was running is read from its beginning, whatever the reset policy.
  // With `latest`, the worker would skip the records that arrived before it noticed the partition.
  const resetOf = (source: TopicPartition): OffsetReset => (counts.isNew(source) ? 'earliest' : (resets.get(source.topic) ?? 'earliest'))
  const { assign, unassign, pause, resume, wake } = fetcher
  const starts = taskStarts({
    topology: topology.name,
    session: copySession,
    assign,
    unassign,
    pause,
    resume,
    resetOf,
    exactlyOnce,
    reopen: (task) => member.reopen([task]),
    runtime,
  })
  const schemas = schemaWaits({ schemas: serdes.schemas, runtime, stopping, wake })
  const tasks = taskSet({ fetcher, schemas, runtime, onClose: starts.drop, givenUp })
  const { isMissing } = schemas
  const cacheBytes = config.cacheBytes ?? defaultCacheBytes(topology.subTopologies, counts)
  const failed = failedRecords({ topology: topology.name, metrics, runtime })
  const taskDeps = { topology, partitionCounts: counts.topics, codecs, session, producer, metrics, runtime, isMissing, failed, cacheBytes }
  const memberId = () => group.memberId
  const keepStateMs = config.keepStateMs ?? DEFAULT_KEEP_STATE_MS
  const warmUpMaxMs = config.warmUpMaxMs ?? DEFAULT_WARM_UP_MAX_MS
  const ofInactiveState = { topology, declaration, tasksOf: counts.tasksOf, transport, session: copySession, keepStateMs, exactlyOnce }
  const inactive = inactiveState({
    ...ofInactiveState,
    group: groupView(group, runtime),
    sources: new Set(topics),
    warmUps: warmUpMaxMs > 0,
    announce: group.announce,
    epoch: () => group.epoch,
    memberId,
    runsHere: tasks.hasId,
    isBusy: () => tasks.running().length > 0,
    isRestoring: () => starts.restoring,
    runtime,
  })
  function createTask(part: number, partition: number): StreamTask {
    const task = streamTask({ ...taskDeps, part: topology.subTopologies[part], partition })
    inactive.release(task.id)
    return task
  }

  const member: Membership = membership({
    topology,
    counts,
    transport,
    group,
    producer,
    session,
    repartitions: new Set(Array.from(declaration.repartitions.values(), ({ name }) => name)),
    tasks,
    starts,
    createTask,
    committer: () => commits,
    exactlyOnce,
    runtime,
    stopping,
    wake,
  })
  const commits: Committer = committer({
    topology: topology.name,
    tasks,
    failed,
    session,
    producer,
    group,
    leaderEpoch: transport.leaderEpoch,
    commitIntervalMs,
    commitSoonMs: Math.min(commitIntervalMs, topology.options.commitSoonMs ?? commitIntervalMs),
    commitWhenIdle,
    runtime,
    fault: deps.fault,
    onCommit: deps.onCommit,
    wake,
    reopen: member.reopen,
  })
  const warming = warmUp({
    topology: topology.name,
    settings: { maxMs: warmUpMaxMs, leastRecords: config.warmUpLeastRecords ?? DEFAULT_WARM_UP_LEAST_RECORDS },
    group,
    transport,
    session: copySession,
    sources: topics,
    places: inactive.places,
    partitionsOf: ({ part }) => counts.tasksOf(part),
    assigned: () => member.partitions,
    inactive,
    exactlyOnce,
    runtime,
    stopping,
  })
  const queries = stateQueries({
    topology,
    tasksOf: counts.tasksOf,
    codecs,
    session,
    tasks: tasks.all,
    standby: inactive.copy,
    copies,
    // Queries use a separate view of the group. The members in the view of the standby copies may have been fetched
    // while the group was changing, so that view may show outdated owners.
    group: groupView(group, runtime),
    sources: new Set(topics),
    memberId,
    loadSchema: serdes.schemas.load,
    onDamage(error) {
      worker.onDamage(error)
      wake()
    },
  })
  return {
    schemas,
    session,
    copySession,
    producer,
    fetcher,
    group,
    tasks,
    starts,
    committer: commits,
    membership: member,
    warmUp: warming,
    counts,
    queries,
    inactiveState: inactive,
    failed,
  }
}

/**
 * Returns the default cache size of one store in one task: an equal share for each store in each task of the topology,
 * including tasks of other workers, but at least `LEAST_DEFAULT_CACHE_BYTES`.
 */
function defaultCacheBytes(parts: readonly SubTopology[], { tasksOf }: PartitionCounts): number {
  const stores = parts.reduce((sum, part) => sum + part.stores.length * tasksOf(part), 0)
  return Math.max(LEAST_DEFAULT_CACHE_BYTES, DEFAULT_SHARED_CACHE_BYTES / Math.max(1, stores))
}
