import type { ClientRequest, Endpoint, Network } from '../network.ts'
import { simulatedId, wallTime } from '../process.ts'
import { type Actor, actor, type Scheduler } from '../scheduler.ts'
import { Refused } from './errors.ts'
import { Group, keyOf } from './groups.ts'
import { PartitionLog } from './partition-log.ts'
import { Transactions } from './transactions.ts'

/** How long the controller takes to choose another leader for a partition of a crashed broker, ms. */
const ELECTION_MS = [20, 400] as const
/** How long a new coordinator reads its log, ms. */
const LOADING_MS = [0, 150] as const
/** How long the replicas take to copy a batch, ms. */
const REPLICATION_MS = [0.1, 4] as const
/**
 * Range of the errors of the brokers' clocks, ms; positive if a clock is ahead. Some topics get their timestamps from
 * these clocks.
 */
const CLOCK_MS = [-400, 400] as const
const PORT = 9_092
export const NO_LEADER = -1

export interface SimulatedBroker extends Endpoint {
  readonly nodeId: number
  readonly host: string
  readonly port: number
}

export interface TopicState {
  readonly name: string
  readonly id: string
  readonly config: ReadonlyMap<string, string>
  readonly logs: PartitionLog[]
}

export type CoordinatorKind = 'group' | 'transaction'

/** The state that all request handlers share: the cluster as its brokers know it. */
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
  /** Throws unless the broker is the coordinator and has finished reading the coordinator's log. */
  checkCoordinator(kind: CoordinatorKind, key: string, broker: SimulatedBroker): void
  /** Makes the replicas copy all batches that the leader has at the moment. */
  replicate(log: PartitionLog): void
}

/** Faults that a simulation causes. */
export interface ClusterFaults {
  crash(broker: SimulatedBroker): void
  restart(broker: SimulatedBroker): void
  /** Chooses another leader for a partition, as when an administrator balances the leaders. */
  moveLeader(log: PartitionLog): void
  /** Gives groups and transactions other coordinators. */
  moveCoordinators(): void
  /** Compacts each log of a compacted topic up to some offset, as if its active segment began there. */
  compact(topic: TopicState): void
  /** Deletes what all groups have read. */
  deleteRead(topic: TopicState): void
  addPartition(topic: TopicState): void
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
  /** Changes the coordinators of all keys. */
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

  const transactions = new Transactions(scheduler, controller, {
    partition: (topic, partition, producer, marker) => cluster.log(topic, partition)?.mark(producer, marker),
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
    log.leader = (anyUp() ?? brokers[0]).nodeId
    return log
  }

  /** Returns how far the clock of a broker is ahead, ms. */
  function clockOf(nodeId: number): number {
    return clocks[nodeId - 1] ?? 0
  }

  function anyUp(): SimulatedBroker | undefined {
    const living = brokers.filter(({ nodeId }) => up.has(nodeId))
    return living[Math.floor(scheduler.random() * living.length)]
  }

  function group(id: string): Group {
    const known = groups.get(id) ?? new Group(id, scheduler, (topic) => topics.get(topic)?.logs.length ?? 0)
    groups.set(id, known)
    return known
  }

  function coordinator(kind: CoordinatorKind, key: string): SimulatedBroker | undefined {
    const living = brokers.filter(({ nodeId }) => up.has(nodeId))
    return living[(hashOf(`${kind} ${key}`) + salt) % living.length]
  }

  function checkCoordinator(kind: CoordinatorKind, key: string, asked: SimulatedBroker): void {
    if (coordinator(kind, key) !== asked) throw new Refused('NOT_COORDINATOR')
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
      if (log.leaderEpoch === leaderEpoch) log.replicated(end)
    })
  }

  function logs(): PartitionLog[] {
    return [...topics.values()].flatMap((topic) => topic.logs)
  }

  function elect(log: PartitionLog, leader: number): void {
    const keep = log.highWatermark + Math.floor(scheduler.random() * (log.end - log.highWatermark + 1))
    scheduler.note(`leader of ${log.topic}-${log.partition} is ${leader}, its log ends at ${Math.min(keep, log.end)} of ${log.end}`)
    log.moveTo(leader, keep)
  }

  const faults: ClusterFaults = {
    crash(crashed) {
      up.delete(crashed.nodeId)
      connections().cut((_, endpoint) => endpoint === crashed)
      reload()
      for (const log of logs()) {
        if (log.leader !== crashed.nodeId) continue
        elect(log, NO_LEADER)
        if (up.size === 0) continue
        scheduler.after(scheduler.between(...ELECTION_MS), controller, `elects for ${log.topic}-${log.partition}`, () => {
          const next = anyUp()
          if (log.leader === NO_LEADER && next !== undefined) elect(log, next.nodeId)
        })
      }
    },
    restart(crashed) {
      up.add(crashed.nodeId)
      ;(crashed as SimulatedBroker & { renew(): void }).renew()
      reload()
      for (const log of logs()) if (log.leader === NO_LEADER) elect(log, crashed.nodeId)
    },
    moveLeader(log) {
      const next = anyUp()
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
  }
  return { cluster, faults, find: (host) => brokers.find((each) => each.host === host) }
}

const HASH_FACTOR = 31

function hashOf(text: string): number {
  let hash = 0
  for (const letter of text) hash = (hash * HASH_FACTOR + letter.charCodeAt(0)) >>> 0
  return hash
}
