import type { Cluster, ClusterFaults, SimulatedBroker } from './cluster/cluster.ts'
import type { Network } from './network.ts'
import { actor, type Scheduler } from './scheduler.ts'
import type { Slot } from './slot.ts'
import type { SimulatedSinks } from './stores/counter-sinks.ts'

/** Kinds of faults. A run draws which of them happen. */
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
  'leader',
  'coordinator',
  'store',
  'empty',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** Some stalls and partitions outlive sessions and transactions, and most do not. */
const SHORT_MS = [5, 800] as const
const LONG_MS = [6_000, 14_000] as const
const SHARE_LONG = 0.2
const BROKER_DOWN_MS = [100, 3_000] as const
const MOST_BAD_WRITES = 2
const LARGEST_JUMP_MS = 3_600_000

export interface FaultDeps {
  readonly scheduler: Scheduler
  readonly network: Network
  readonly cluster: Cluster
  readonly clusterFaults: ClusterFaults
  readonly slots: readonly Slot[]
  readonly sinks: SimulatedSinks | undefined
}

/** What a fault hits. */
interface Target extends FaultDeps {
  readonly slot: Slot
  readonly broker: SimulatedBroker
  readonly lengthMs: number
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
  expire({ cluster, scheduler }) {
    const groups = [...cluster.groups.values()].filter(({ members }) => members.size > 0)
    if (groups.length === 0) return
    const group = one(scheduler, groups)
    group.remove(one(scheduler, [...group.members.keys()]))
  },
  clock({ slot: { process }, scheduler }) {
    if (process !== undefined) process.clockOffsetMs = scheduler.between(-LARGEST_JUMP_MS, LARGEST_JUMP_MS)
  },
  disk: ({ slot, scheduler }) => slot.failWrites(1 + Math.floor(scheduler.random() * MOST_BAD_WRITES)),
  broker: crash,
  leader({ cluster, clusterFaults, scheduler }) {
    const topics = [...cluster.topics.values()]
    if (topics.length > 0) clusterFaults.moveLeader(one(scheduler, one(scheduler, topics).logs))
  },
  coordinator: ({ clusterFaults }) => clusterFaults.moveCoordinators(),
  store({ sinks, scheduler, lengthMs }) {
    if (sinks !== undefined) one(scheduler, sinks.servers).goDown(lengthMs)
  },
  empty: ({ sinks }) => sinks?.empty(),
}

function one<T>({ random }: Scheduler, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]
}

/** Causes one fault of a kind. */
export function cause(kind: FaultKind, deps: FaultDeps): void {
  const { scheduler } = deps
  const slot = one(scheduler, deps.slots)
  const broker = one(scheduler, deps.cluster.brokers)
  const lengthMs = scheduler.random() < SHARE_LONG ? scheduler.between(...LONG_MS) : scheduler.between(...SHORT_MS)
  scheduler.note(`fault ${kind} of ${slot.name}, ${broker.actor.name}, ${lengthMs.toFixed(0)} ms`)
  CAUSES[kind]({ ...deps, slot, broker, lengthMs })
}

const operator = actor('operator')

function crash({ broker, scheduler, clusterFaults }: Target): void {
  if (!broker.isUp()) return
  clusterFaults.crash(broker)
  scheduler.after(scheduler.between(...BROKER_DOWN_MS), operator, `restarts ${broker.actor.name}`, () => clusterFaults.restart(broker))
}

/** Ends all lasting faults, so that the output can be completed. */
export function mend({ slots, sinks }: FaultDeps): void {
  for (const server of sinks?.servers ?? []) server.mend()
  for (const { process, failWrites } of slots) {
    failWrites(0)
    if (process === undefined) continue
    process.actor.stalledUntil = 0
    process.clockOffsetMs = 0
  }
}
