import { chanceOf, seedFor } from '../chance.ts'
import type { ClientRequest, Network } from '../network.ts'
import { simulatedId, wallTime } from '../process.ts'
import { type Actor, actor, type Scheduler } from '../scheduler.ts'
import type { CoordinatorKind, SimulatedBroker } from './broker.ts'
import { Refused } from './errors.ts'
import { Group, keyOf } from './groups.ts'
import { PartitionLog, type ReadableLog } from './partition-log.ts'
import { Transactions } from './transactions.ts'
import { type Knowledge, type Leadership, type Trouble, troubledBrokers } from './troubled-brokers.ts'

/** Range of the times that the controller takes to choose another leader for a partition of a crashed broker, ms. */
const ELECTION_MS = [20, 400] as const
/** Range of the times that a new coordinator takes to read its log, ms. */
const LOADING_MS = [0, 150] as const
/** Range of the times that the replicas take to copy a batch, ms. */
const REPLICATION_MS = [0.1, 4] as const
/**
 * Range of the brokers' clock errors, ms; positive if a clock is ahead. Some topics get their timestamps from these
 * clocks.
 */
const CLOCK_MS = [-400, 400] as const
const PORT = 9_092
export const NO_LEADER = -1

export interface TopicState {
  readonly name: string
  readonly id: string
  readonly config: ReadonlyMap<string, string>
  readonly logs: PartitionLog[]
}

/** The current state of the cluster. All request handlers share it. */
export interface Cluster {
  readonly scheduler: Scheduler
  readonly brokers: readonly SimulatedBroker[]
  readonly topics: ReadonlyMap<string, TopicState>
  readonly transactions: Transactions
  readonly groups: ReadonlyMap<string, Group>
  topicById(id: string): TopicState | undefined
  createTopic(name: string, partitions: number, config: ReadonlyMap<string, string>): TopicState
  log(topic: string, partition: number): PartitionLog | undefined
  group(id: string): Group
  coordinator(kind: CoordinatorKind, key: string): SimulatedBroker | undefined
  /**
   * Throws unless the broker is the coordinator, is not cut off from other brokers, and has finished reading the log of
   * the coordinator.
   */
  checkCoordinator(kind: CoordinatorKind, key: string, broker: SimulatedBroker): void
  /** Makes the replicas copy all batches that the leader currently has. */
  replicate(log: PartitionLog): void
  /**
   * Returns the leaders and coordinators that a broker reports to clients. If the broker is in trouble, this
   * information may be outdated.
   */
  knowledgeOf(broker: SimulatedBroker): Knowledge
  /**
   * Returns the log that a broker shows to readers. A former leader that does not know about an election still shows
   * its old log.
   */
  logAt(broker: SimulatedBroker, topic: string, partition: number): ReadableLog | undefined
  /**
   * Returns true if a broker is isolated or the controller has fenced it. In either case, the broker cannot change the
   * state of a coordinator.
   */
  isCutOff(broker: SimulatedBroker): boolean
  /**
   * Runs the action as soon as the broker knows the current leaders, or immediately if it already knows them. If the
   * broker dies first, the action never runs.
   */
  whenInformed(broker: SimulatedBroker, action: () => void): void
}

/** Faults that a simulation causes. */
export interface ClusterFaults {
  crash(broker: SimulatedBroker): void
  restart(broker: SimulatedBroker): void
  /**
   * Elects a leader for a partition again, as when an administrator balances the leaders. The same broker may be
   * elected.
   */
  moveLeader(log: PartitionLog): void
  /** Assigns groups and transactions to coordinators again, so that many of them move if there are several brokers. */
  moveCoordinators(): void
  /** Compacts each log of a compacted topic up to a random offset, as if its active segment began there. */
  compact(topic: TopicState): void
  /**
   * Deletes records from the beginning of each log, as retention does, but only records that all groups with committed
   * offsets have read.
   */
  deleteRead(topic: TopicState): void
  addPartition(topic: TopicState): void
  /**
   * For some time, makes a broker hang, isolates it, or withholds the controller's decisions from it. Has no effect on
   * a broker that is down or already in trouble.
   * @param fencedAfterMs how long the controller waits before it elects other leaders; infinite for a broker that is
   * only outdated
   */
  trouble(broker: SimulatedBroker, kind: Trouble, forMs: number, fencedAfterMs: number): void
}

export type Handle = (request: ClientRequest, broker: SimulatedBroker, cluster: Cluster) => void

export function simulatedCluster(
  scheduler: Scheduler,
  brokerCount: number,
  handle: Handle,
  connections: () => Network,
): { readonly cluster: Cluster; readonly faults: ClusterFaults; find(host: string): SimulatedBroker | undefined } {
  const controller = actor('controller')
  const clocks = Array.from({ length: brokerCount }, () => scheduler.chance('clocks of brokers').between(...CLOCK_MS))
  const topics = new Map<string, TopicState>()
  const groups = new Map<string, Group>()
  const up = new Set<number>()
  let generation = 0
  /** Part of the text whose hash assigns a key to a coordinator. A new value moves keys to other coordinators. */
  let salt = 0
  let loadedAt = 0

  const brokers = Array.from({ length: brokerCount }, (_, at) => broker(at + 1))
  for (const { nodeId } of brokers) up.add(nodeId)

  function broker(nodeId: number): SimulatedBroker {
    const own: Actor = actor(`broker-${nodeId}`)
    let born = 0
    const self: SimulatedBroker & { renew(): void } = {
      nodeId,
      host: own.name,
      port: PORT,
      actor: own,
      isUp: () => up.has(nodeId),
      get generation() {
        return born
      },
      renew: () => {
        born = ++generation
      },
      handle: (request) => handle(request, self, cluster),
    }
    return self
  }

  const troubled = troubledBrokers({ scheduler, controller, know, fenced, recovered })

  const transactions = new Transactions(scheduler, controller, {
    partition(topic, partition, producer, marker) {
      const log = cluster.log(topic, partition)
      if (log !== undefined && troubled.blocks(log)) return false
      log?.mark(producer, marker)
      return true
    },
    group: (groupId, producer, marker) => cluster.group(groupId).endPending(producer, marker),
  })

  function createTopic(name: string, partitions: number, config: ReadonlyMap<string, string>): TopicState {
    const logs = Array.from({ length: partitions }, (_, partition) => newLog(name, partition, config))
    const topic = { name, id: simulatedId(scheduler.random), config, logs }
    topics.set(name, topic)
    return topic
  }

  function newLog(name: string, partition: number, config: ReadonlyMap<string, string>): PartitionLog {
    const stamps = config.get('message.timestamp.type') === 'LogAppendTime'
    const log: PartitionLog = new PartitionLog(name, partition, stamps ? () => wallTime(scheduler.now() + clockOf(log.leader)) : undefined)
    log.leader = (electable() ?? living()[0] ?? brokers[0]).nodeId
    return log
  }

  /** Returns how far a broker's clock is ahead, ms. */
  function clockOf(nodeId: number): number {
    return clocks[nodeId - 1] ?? 0
  }

  /** Returns the brokers that the controller considers alive. */
  function living(): SimulatedBroker[] {
    return brokers.filter((each) => up.has(each.nodeId) && !troubled.isFenced(each))
  }

  function electable(): SimulatedBroker | undefined {
    const candidates = living().filter((each) => !troubled.has(each))
    return candidates[Math.floor(scheduler.random() * candidates.length)]
  }

  function group(id: string): Group {
    const known = groups.get(id) ?? new Group(id, scheduler, (topic) => topics.get(topic)?.logs.length ?? 0)
    groups.set(id, known)
    return known
  }

  function know(): Knowledge {
    const [alive, salted] = [living(), salt]
    return {
      topics: new Map([...topics].map(([name, { id, logs: all }]) => [name, { id, logs: all.map(leadershipOf) }])),
      brokers: alive,
      coordinator: (kind, key) => coordinatorAmong(alive, `${kind} ${key} ${salted}`),
    }
  }

  function coordinator(kind: CoordinatorKind, key: string): SimulatedBroker | undefined {
    return coordinatorAmong(living(), `${kind} ${key} ${salt}`)
  }

  function checkCoordinator(kind: CoordinatorKind, key: string, asked: SimulatedBroker): void {
    if (coordinator(kind, key) !== asked) throw new Refused('NOT_COORDINATOR')
    if (troubled.isCutOff(asked)) throw new Refused('COORDINATOR_NOT_AVAILABLE')
    if (scheduler.now() < loadedAt) throw new Refused('COORDINATOR_LOAD_IN_PROGRESS')
  }

  function reload(): void {
    loadedAt = scheduler.now() + scheduler.between(...LOADING_MS)
    for (const each of groups.values()) each.loaded(loadedAt)
  }

  function replicate(log: PartitionLog): void {
    const { end, leaderEpoch } = log
    if (brokerCount === 1) {
      log.replicated(end)
      return
    }
    scheduler.after(scheduler.between(...REPLICATION_MS), controller, `replicates ${log.topic}-${log.partition} up to ${end}`, () => {
      if (log.leaderEpoch === leaderEpoch && !troubled.blocks(log)) log.replicated(end)
    })
  }

  /** Makes the replicas copy the batches that they could not copy while a broker was in trouble. */
  function replicateRest(): void {
    for (const log of logs()) if (log.highWatermark < log.end) replicate(log)
  }

  function logs(): PartitionLog[] {
    return [...topics.values()].flatMap((topic) => topic.logs)
  }

  function elect(log: PartitionLog, leader: number): void {
    const keep = log.highWatermark + Math.floor(scheduler.random() * (log.end - log.highWatermark + 1))
    scheduler.note(`leader of ${log.topic}-${log.partition} is ${leader}, its log ends at ${Math.min(keep, log.end)} of ${log.end}`)
    const former = brokers[log.leader - 1]
    if (former !== undefined) troubled.loses(former, log)
    log.moveTo(leader, keep)
  }

  /** Called when the controller has received no heartbeat from a broker for a whole session timeout. */
  function fenced(broker: SimulatedBroker): void {
    reload()
    for (const log of logs()) if (log.leader === broker.nodeId) elect(log, electable()?.nodeId ?? NO_LEADER)
    replicateRest()
  }

  function recovered(wasFenced: boolean): void {
    if (wasFenced) reload()
    electMissing()
    replicateRest()
  }

  function electMissing(): void {
    for (const log of logs()) {
      const next = log.leader === NO_LEADER ? electable() : undefined
      if (next !== undefined) elect(log, next.nodeId)
    }
  }

  const faults: ClusterFaults = {
    crash(crashed) {
      up.delete(crashed.nodeId)
      troubled.forget(crashed)
      connections().cut((_, endpoint) => endpoint === crashed)
      reload()
      for (const log of logs()) {
        if (log.leader !== crashed.nodeId) continue
        elect(log, NO_LEADER)
        if (up.size === 0) continue
        scheduler.after(scheduler.between(...ELECTION_MS), controller, `elects for ${log.topic}-${log.partition}`, () => {
          const next = electable()
          if (log.leader === NO_LEADER && next !== undefined) elect(log, next.nodeId)
        })
      }
      replicateRest()
    },
    restart(crashed) {
      up.add(crashed.nodeId)
      ;(crashed as SimulatedBroker & { renew(): void }).renew()
      reload()
      for (const log of logs()) if (log.leader === NO_LEADER) elect(log, crashed.nodeId)
    },
    moveLeader(log) {
      const next = electable()
      if (next !== undefined && log.leader !== NO_LEADER) elect(log, next.nodeId)
    },
    moveCoordinators() {
      salt++
      reload()
    },
    compact({ logs: all }) {
      for (const log of all) log.compact(Math.floor(scheduler.random() * (Math.min(log.lastStable, log.end - 1) + 1)))
    },
    deleteRead({ name, logs: all }) {
      for (const log of all) {
        const read = [...groups.values()].flatMap(({ offsets }) => offsets.get(keyOf(name, log.partition))?.offset ?? [])
        if (read.length > 0) log.deleteBelow(Math.min(...read, log.highWatermark))
      }
    },
    addPartition(topic) {
      topic.logs.push(newLog(topic.name, topic.logs.length, topic.config))
      for (const each of groups.values()) each.topicsChanged()
    },
    trouble(broker, kind, forMs, fencedAfterMs) {
      if (up.has(broker.nodeId)) troubled.begin(broker, kind, forMs, fencedAfterMs)
    },
  }

  const cluster: Cluster = {
    scheduler,
    brokers,
    topics,
    transactions,
    groups,
    topicById: (id) => [...topics.values()].find((topic) => topic.id === id),
    createTopic,
    log: (topic, partition) => topics.get(topic)?.logs[partition],
    group,
    coordinator,
    checkCoordinator,
    replicate,
    knowledgeOf: (of) => troubled.knowledgeOf(of) ?? know(),
    logAt: (at, topic, partition) => troubled.logAt(at, topic, partition, topics.get(topic)?.logs[partition]),
    isCutOff: troubled.isCutOff,
    whenInformed: troubled.whenInformed,
  }
  return { cluster, faults, find: (host) => brokers.find((each) => each.host === host) }
}

function leadershipOf({ partition, leader, leaderEpoch }: PartitionLog): Leadership {
  return { partition, leader, leaderEpoch }
}

/** Chooses the broker with the highest hash, so that when a broker fails, only its own keys move to others. */
function coordinatorAmong(brokers: readonly SimulatedBroker[], key: string): SimulatedBroker | undefined {
  const hashes = brokers.map(({ nodeId }) => chanceOf(seedFor(nodeId, key)).random())
  return brokers[hashes.indexOf(Math.max(...hashes))]
}
