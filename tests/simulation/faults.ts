import { type Chance, chanceOf } from './chance.ts'
import type { SimulatedBroker } from './cluster/broker.ts'
import type { Cluster, ClusterFaults } from './cluster/cluster.ts'
import type { Network } from './network.ts'
import { actor, type Scheduler } from './scheduler.ts'
import type { Slot } from './slot.ts'
import type { SimulatedSinks } from './stores/counter-sinks.ts'

/** Kinds of faults. Each run chooses some of them at random. */
export const FAULT_KINDS = [
  'kill',
  'lose',
  'stop',
  'stall',
  'cut',
  'partition',
  'expire',
  'clock',
  'disk',
  'broker',
  'hang',
  'isolate',
  'outdate',
  'leader',
  'coordinator',
  'store',
  'empty',
  'compact',
  'delete',
  'grow',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/**
 * Ranges of the durations of stalls, network partitions and outages, ms. Most of these faults are short, and a few last
 * longer than sessions and transactions.
 */
const SHORT_MS = [5, 800] as const
const LONG_MS = [6_000, 14_000] as const
const SHARE_LONG = 0.2
const BROKER_DOWN_MS = [100, 3_000] as const
/** Share of troubled brokers whose trouble lasts longer than the default request timeout of clients. */
const SHARE_VERY_LONG = 0.25
/** Range of the durations of trouble that lasts longer than the default request timeout. */
const VERY_LONG_MS = [32_000, 45_000] as const
/** Range of the times that the controller waits before it elects other leaders (broker.session.timeout.ms), ms. */
const BROKER_SESSION_MS = [100, 3_000] as const
const MOST_BAD_WRITES = 2
const LARGEST_JUMP_MS = 3_600_000

export interface FaultDeps {
  readonly scheduler: Scheduler
  readonly network: Network
  readonly cluster: Cluster
  readonly clusterFaults: ClusterFaults
  readonly slots: readonly Slot[]
  readonly sinks: SimulatedSinks | undefined
  /** The topics that the workers read. */
  readonly sources: ReadonlySet<string>
  /** The topic whose partition count may grow. */
  readonly growing: string | undefined
}

/** The components that a fault may affect, and the values that determine the details of the fault. */
interface Target extends FaultDeps {
  readonly slot: Slot
  readonly broker: SimulatedBroker
  readonly lengthMs: number
  readonly chance: Chance
}

const CAUSES: Readonly<Record<FaultKind, (target: Target) => void>> = {
  kill: ({ slot }) => slot.kill(),
  lose({ slot }) {
    slot.kill()
    slot.loseState()
  },
  stop: ({ slot }) => slot.stop(),
  stall({ slot: { process }, scheduler, lengthMs }) {
    if (process !== undefined) process.actor.stalledUntil = scheduler.now() + lengthMs
  },
  cut: ({ slot: { process }, broker, network }) => network.cut((client, endpoint) => client === process?.actor && endpoint === broker),
  partition({ slot: { process }, broker, network, scheduler, lengthMs }) {
    if (process !== undefined) network.partition(process.actor, broker, scheduler.now() + lengthMs)
  },
  expire({ cluster, chance }) {
    const groups = [...cluster.groups.values()].filter(({ members }) => members.size > 0)
    if (groups.length === 0) return
    const group = chance.one(groups)
    group.remove(chance.one([...group.members.keys()]))
  },
  clock({ slot: { process }, chance }) {
    if (process !== undefined) process.clockOffsetMs = chance.between(-LARGEST_JUMP_MS, LARGEST_JUMP_MS)
  },
  disk: ({ slot, chance }) => slot.failWrites(1 + chance.below(MOST_BAD_WRITES)),
  broker: crash,
  hang({ broker, clusterFaults, chance, lengthMs }) {
    clusterFaults.trouble(broker, 'hung', troubleMs(chance, lengthMs), chance.between(...BROKER_SESSION_MS))
  },
  isolate({ broker, clusterFaults, chance }) {
    // A short isolation of a broker hardly affects clients, so isolations always last long.
    clusterFaults.trouble(broker, 'isolated', troubleMs(chance, chance.between(...LONG_MS)), chance.between(...BROKER_SESSION_MS))
  },
  outdate({ broker, clusterFaults, chance }) {
    clusterFaults.trouble(broker, 'outdated', troubleMs(chance, chance.between(...LONG_MS)), Number.POSITIVE_INFINITY)
  },
  leader({ cluster, clusterFaults, chance }) {
    const topics = [...cluster.topics.values()]
    if (topics.length > 0) clusterFaults.moveLeader(chance.one(chance.one(topics).logs))
  },
  coordinator: ({ clusterFaults }) => clusterFaults.moveCoordinators(),
  store({ sinks, chance, lengthMs }) {
    if (sinks !== undefined) chance.one(sinks.servers).goDown(lengthMs)
  },
  empty: ({ sinks }) => sinks?.empty(),
  compact({ cluster, clusterFaults, chance }) {
    const compacted = [...cluster.topics.values()].filter(({ config }) => config.get('cleanup.policy')?.includes('compact'))
    if (compacted.length > 0) clusterFaults.compact(chance.one(compacted))
  },
  delete({ cluster, clusterFaults, sources }) {
    for (const topic of cluster.topics.values()) if (sources.has(topic.name)) clusterFaults.deleteRead(topic)
  },
  grow({ cluster, clusterFaults, growing }) {
    const topic = cluster.topics.get(growing ?? '')
    if (topic !== undefined) clusterFaults.addPartition(topic)
  },
}

/** Causes a planned fault. */
export function cause({ kind, chance: of }: { readonly kind: FaultKind; readonly chance: number }, deps: FaultDeps): void {
  const { scheduler } = deps
  const chance = chanceOf(of)
  const slot = chance.one(deps.slots)
  const broker = chance.one(deps.cluster.brokers)
  const lengthMs = chance.random() < SHARE_LONG ? chance.between(...LONG_MS) : chance.between(...SHORT_MS)
  scheduler.note(`fault ${kind} of ${slot.name}, ${broker.actor.name}, ${lengthMs.toFixed(0)} ms`)
  CAUSES[kind]({ ...deps, slot, broker, lengthMs, chance })
}

function troubleMs(chance: Chance, usualMs: number): number {
  return chance.random() < SHARE_VERY_LONG ? chance.between(...VERY_LONG_MS) : usualMs
}

const operator = actor('operator')

function crash({ broker, scheduler, clusterFaults, chance }: Target): void {
  if (!broker.isUp()) return
  clusterFaults.crash(broker)
  const downMs = chance.random() < SHARE_LONG ? chance.between(...LONG_MS) : chance.between(...BROKER_DOWN_MS)
  scheduler.after(downMs, operator, `restarts ${broker.actor.name}`, () => clusterFaults.restart(broker))
}

/**
 * Ends the lasting faults of workers and of the models of Redis and ClickHouse, so that the output can become complete.
 * Faults of brokers and of the network end by themselves.
 */
export function mend({ slots, sinks }: FaultDeps): void {
  for (const server of sinks?.servers ?? []) server.mend()
  for (const { process, failWrites } of slots) {
    failWrites(0)
    if (process === undefined) continue
    process.actor.stalledUntil = 0
    process.clockOffsetMs = 0
  }
}
