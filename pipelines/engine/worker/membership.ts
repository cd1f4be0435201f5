import {
  FencedError,
  type GroupEvent,
  type GroupMember,
  partitionKey,
  type TopicPartition,
  type Transport,
  TransportError,
  type WorkerProducer,
} from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import type { StreamTask } from '../task/task.ts'
import type { Topology } from '../topology/topology.ts'
import type { Committer } from './committer.ts'
import { idsWithoutMember, transactionalIdPrefix } from './member-identity.ts'
import type { PartitionCounts } from './partition-counts.ts'
import type { TaskSet } from './task-set.ts'
import { fetchStartOffsets, type TaskOffsets, type TaskStarts } from './task-starts.ts'

/**
 * Maximum number of times that the worker may be fenced within the window. After more fences, the worker stops, because
 * the machine or its connection to the brokers is unlikely to recover.
 */
const MAX_FENCES = 5
const FENCE_WINDOW_MS = 60_000
const RETRY_MS = 500
/**
 * How long a rebalance waits for running time handlers. After this time, the worker drops the work since its last
 * commit and gives up its partitions, so that a handler that never ends does not keep them from other workers. The wait
 * is as long as the default of `stallToleranceMs`, the limit for code that blocks the event loop.
 */
const LONGEST_REBALANCE_WAIT_MS = 30_000
/**
 * Pause between checks for abandoned transactions. The first check finds most of them; later checks are for
 * coordinators that did not respond.
 */
const OPEN_TRANSACTIONS_LOOK_MS = 1_000

/**
 * Handles the worker's membership in its group, and starts and closes tasks accordingly. All of this runs in the
 * worker's loop.
 */
export interface Membership {
  /** Handles the next group event, and the results of background requests that have arrived since the last call. */
  handleEvents(): Promise<void>
  /** True when results of background requests are waiting to be handled. */
  readonly hasNews: boolean
  /**
   * Restarts from the last commit with a newly initialised producer and a new membership.
   * @throws FencedError after too many fences
   */
  startOver(reason: Error): Promise<void>
  /** Closes tasks and creates new ones for the same partitions. */
  reopen(tasks: readonly StreamTask[]): void
  /** The keys of the assigned partitions. */
  readonly partitions: ReadonlySet<string>
  /** True when an assignment has arrived since the worker last started or started over. */
  readonly assigned: boolean
  readonly fences: number
  readonly restarts: number
}

export interface MembershipDeps {
  readonly topology: Topology
  readonly counts: PartitionCounts
  readonly transport: Transport
  readonly group: GroupMember
  readonly producer: WorkerProducer
  readonly session: StateSession
  /** Names of the topology's repartition topics. */
  readonly repartitions: ReadonlySet<string>
  readonly tasks: TaskSet
  readonly starts: TaskStarts
  readonly createTask: (part: number, partition: number) => StreamTask
  readonly committer: () => Committer
  readonly exactlyOnce: boolean
  readonly runtime: Runtime
  /** Fires when the worker stops. */
  readonly stopping: AbortSignal
  readonly wake: () => void
}

/**
 * Pause between two checks of the partition counts. A worker that is assigned new partitions of a source learns about
 * them at once, from the group. This check is needed for partitions that are assigned to other workers, and for the
 * partitions of outputs.
 */
const COUNTS_LOOK_MS = 30_000

/** Results of requests that ran outside the loop and that the loop has not handled yet. */
type News =
  | { readonly counts: ReadonlyMap<string, number> }
  | { readonly tasks: readonly StreamTask[]; readonly offsets: TaskOffsets }
  | { readonly error: unknown }

/** Returns true for transient failures of the cluster. A retry may succeed. */
export function isPassing(error: unknown): boolean {
  return error instanceof TransportError && !error.fatal
}

/** Returns true if the transport was closed. It stays closed, so no further request can succeed. */
function isClosed(error: unknown): boolean {
  return error instanceof TransportError && error.code === 'CLOSED'
}

export function membership(deps: MembershipDeps): Membership {
  const { topology, group, counts, producer, session, tasks, starts, runtime, stopping } = deps
  const { log } = runtime
  /**
   * The number of the current generation. It increases at every restart, so that the loop drops results from earlier
   * generations.
   */
  let generation = 0
  let inbox: { readonly generation: number; readonly news: News }[] = []
  let assigned = false
  /** The assigned partitions, and their keys. */
  let assignment: readonly TopicPartition[] = []
  let wanted: ReadonlySet<string> = new Set()
  let looking = false
  let nextLook = runtime.monotonic() + COUNTS_LOOK_MS
  let fences = 0
  let restarts = 0
  let fenceTimes: number[] = []

  async function takeNews(): Promise<void> {
    const arrived = inbox
    inbox = []
    for (const { generation: of, news } of arrived) {
      // A stopping worker abandons its requests and starts no tasks.
      if (of !== generation || stopping.aborted) continue
      if ('error' in news) throw news.error
      if ('counts' in news) await takeCounts(news.counts)
      else starts.begin(news.tasks.filter(tasks.has), news.offsets)
    }
  }

  async function takeEvent(): Promise<void> {
    const event: GroupEvent | undefined = group.takeEvent()
    switch (event?.type) {
      case undefined:
        return
      case 'assignment':
        return onAssignment(event.partitions)
      case 'fenced':
        return startOver(new FencedError(event.reason))
      case 'failed':
        throw event.error
    }
  }

  /** Returns true if an assigned partition is beyond the known partition count of its topic. */
  function lacksCounts(): boolean {
    return assignment.some(({ topic, partition }) => partition >= (counts.topics.get(topic) ?? Infinity))
  }

  function lookAtCounts(): void {
    if (looking) return
    looking = true
    const of = generation
    deps.transport
      .partitionCounts([...counts.topics.keys()])
      .then((found) => {
        const deleted = counts.noteMissing(found)
        if (deleted.length > 0) log.error({ topology: topology.name, topics: deleted }, 'topics_deleted')
        // The answer may come from a broker whose metadata does not include the new partitions or a new topic yet.
        nextLook = runtime.monotonic() + (lacksCounts() || counts.mayBeMissing ? RETRY_MS : COUNTS_LOOK_MS)
        if (counts.grownIn(found).length === 0) return
        inbox.push({ generation: of, news: { counts: found } })
        deps.wake()
      })
      .catch((error) => {
        nextLook = runtime.monotonic() + RETRY_MS
        log.debug({ err: error, topology: topology.name }, 'partition_counts_not_known')
      })
      .finally(() => {
        looking = false
      })
  }

  /** Restarts all tasks when topics have gained partitions, because tasks keep the counts with which they started. */
  async function takeCounts(found: ReadonlyMap<string, number>): Promise<void> {
    const grown = counts.grownIn(found)
    if (grown.length === 0) return
    if (!tasks.atRest) {
      // The counts go back to the inbox until the running time handlers finish, because waiting here would delay group
      // events.
      inbox.push({ generation, news: { counts: found } })
      return
    }
    await deps.committer().commitOrRollBack()
    counts.update(found)
    for (const task of tasks.all()) tasks.close(task)
    const fresh = missing()
    for (const task of fresh) tasks.add(task)
    const { withoutTask } = counts
    const sizes = Object.fromEntries(grown.map((topic) => [topic, found.get(topic)]))
    log.info({ topology: topology.name, partitions: sizes, tasks: fresh.map(({ id }) => id) }, 'topics_grew')
    for (const reason of withoutTask) log.error({ topology: topology.name, reason }, 'partitions_without_task')
    askFor(fresh)
  }

  /**
   * Handles a new assignment. Commits the results for revoked partitions before it gives these partitions up.
   * @throws TransportError, not fatal, if time handlers delay the commit for too long; the worker must then start over
   */
  async function onAssignment(partitions: readonly TopicPartition[]): Promise<void> {
    assignment = partitions
    wanted = new Set(partitions.map(({ topic, partition }) => partitionKey(topic, partition)))
    const isRevoked = (task: StreamTask) => !task.sources.every(({ topic, partition }) => wanted.has(partitionKey(topic, partition)))
    if (tasks.running().some(isRevoked)) {
      await tasks.comeToRest(LONGEST_REBALANCE_WAIT_MS)
      await deps.committer().commitOrRollBack()
    }
    const revoked = tasks.all().filter(isRevoked)
    for (const task of revoked) tasks.close(task)
    group.acknowledge(partitions)
    assigned = true
    if (lacksCounts()) lookAtCounts()
    const fresh = missing()
    for (const task of fresh) tasks.add(task)
    log.info(
      { topology: topology.name, partitions: partitions.length, revoked: revoked.map(({ id }) => id), added: fresh.map(({ id }) => id) },
      'partitions_assigned',
    )
    askFor(fresh)
  }

  /** Creates and returns the tasks whose partitions are all assigned and that do not exist yet. */
  function missing(): StreamTask[] {
    return topology.subTopologies.flatMap((part) => {
      return Array.from({ length: counts.tasksOf(part) }, (_, partition) => partition)
        .filter((partition) => part.sources.every((topic) => wanted.has(partitionKey(topic, partition))))
        .filter((partition) => !tasks.hasId(`${part.index}_${partition}`))
        .map((partition) => deps.createTask(part.index, partition))
    })
  }

  /** Fetches the start offsets of tasks outside the loop, so that running tasks continue. */
  function askFor(fresh: readonly StreamTask[]): void {
    if (fresh.length === 0) return
    const of = generation
    startOffsetsOf(fresh)
      .then((offsets): News => ({ tasks: fresh, offsets }))
      .catch((error): News => ({ error }))
      .then((news) => {
        inbox.push({ generation: of, news })
        deps.wake()
      })
  }

  async function startOffsetsOf(fresh: readonly StreamTask[]): Promise<TaskOffsets> {
    const known = new AbortController()
    if (deps.exactlyOnce) void abortAbandonedTransactions(known.signal)
    try {
      return await fetchOffsetsUntilAnswered(fresh)
    } finally {
      known.abort()
    }
  }

  /**
   * Aborts transactions of producers whose workers are gone. Only a worker that was a group member can have opened a
   * transaction, and a worker that has left the group initialises its producer again before it rejoins. Therefore, if a
   * worker is missing from the group after its open transaction was listed, the worker is dead or a zombie, and its
   * transaction can be aborted.
   */
  async function abortAbandonedTransactions(known: AbortSignal): Promise<void> {
    const isGone = async (ids: readonly string[]) => {
      const members = await group.members()
      return idsWithoutMember(
        topology.name,
        ids,
        members.map(({ memberId }) => memberId),
      )
    }
    while (!known.aborted && !stopping.aborted) {
      try {
        const ended = await deps.transport.endTransactions(transactionalIdPrefix(topology.name), isGone)
        if (ended.length > 0) log.warn({ topology: topology.name, transactional_ids: ended }, 'transactions_of_the_dead_ended')
      } catch (error) {
        log.debug({ err: error, topology: topology.name }, 'open_transactions_not_known')
      }
      await runtime.sleep(OPEN_TRANSACTIONS_LOOK_MS, stopping)
    }
  }

  function inputs(): TopicPartition[] {
    const topics = topology.subTopologies.flatMap(({ sources }) => sources).filter((topic) => !deps.repartitions.has(topic))
    return topics.flatMap((topic) => Array.from({ length: counts.topics.get(topic) ?? 0 }, (_, partition) => ({ topic, partition })))
  }

  async function fetchOffsetsUntilAnswered(fresh: readonly StreamTask[]): Promise<TaskOffsets> {
    for (;;) {
      try {
        return await fetchStartOffsets(deps.transport, group, fresh, { ...deps, inputs })
      } catch (error) {
        if (!isPassing(error)) throw error
        log.warn({ err: error, topology: topology.name }, 'start_positions_not_known')
        await runtime.sleep(RETRY_MS, stopping)
        stopping.throwIfAborted()
      }
    }
  }

  /**
   * Counts a fence of the worker, and throws if there have been too many fences recently. There is no limit for other
   * failures, such as unavailable brokers, because they may last long but are temporary.
   */
  function countFence(reason: Error): void {
    fences++
    const now = runtime.monotonic()
    fenceTimes = [...fenceTimes.filter((time) => now - time < FENCE_WINDOW_MS), now]
    if (fenceTimes.length <= MAX_FENCES) return
    throw new FencedError(
      `${topology.name} was fenced ${fenceTimes.length} times within ${FENCE_WINDOW_MS / 1_000} s (${reason.message}): ` +
        'the process or its connection to the brokers pauses for longer than the session or transaction timeout',
      { cause: reason },
    )
  }

  async function startOver(reason: Error): Promise<void> {
    const fenced = reason instanceof FencedError
    restarts++
    log.warn({ topology: topology.name, reason: reason.message }, fenced ? 'worker_fenced' : 'worker_starts_over')
    if (fenced) countFence(reason)
    // Without the pause, a failure that recurs at once would keep the brokers busy.
    else if (isPassing(reason)) await runtime.sleep(RETRY_MS, stopping)
    await deps.committer().settle()
    generation++
    inbox = []
    assigned = false
    assignment = []
    wanted = new Set()
    for (const task of tasks.all()) tasks.close(task)
    session.dropBatch()
    await untilDone(producer.abort)
    await untilDone(producer.init)
    await untilDone(group.rejoin)
    deps.committer().reset()
  }

  async function untilDone(step: () => Promise<void>): Promise<void> {
    while (!stopping.aborted) {
      try {
        return await step()
      } catch (error) {
        if (!(error instanceof FencedError) && (!isPassing(error) || isClosed(error))) throw error
        log.warn({ err: error, topology: topology.name }, 'rejoin_retried')
        await runtime.sleep(RETRY_MS, stopping)
      }
    }
  }

  return {
    async handleEvents() {
      if (runtime.monotonic() >= nextLook) lookAtCounts()
      await takeEvent()
      await takeNews()
    },
    get hasNews() {
      return inbox.length > 0
    },
    startOver,
    reopen(old) {
      const fresh = old.map((task) => {
        tasks.close(task)
        return deps.createTask(task.part.index, task.partition)
      })
      for (const task of fresh) tasks.add(task)
      askFor(fresh)
    },
    get partitions() {
      return wanted
    },
    get assigned() {
      return assigned
    },
    get fences() {
      return fences
    },
    get restarts() {
      return restarts
    },
  }
}
