import type { Actor, Scheduler } from '../scheduler.ts'
import type { CoordinatorKind, SimulatedBroker } from './broker.ts'
import type { PartitionLog, ReadableLog } from './partition-log.ts'

/**
 * - `hung`: the broker accepts connections but does nothing, like a process that was stopped by a signal
 * - `isolated`: the broker reaches neither the controller nor other brokers, but clients can reach it
 * - `outdated`: the broker does not receive the controller's decisions
 */
export type Trouble = 'hung' | 'isolated' | 'outdated'

export interface Leadership {
  readonly partition: number
  readonly leader: number
  readonly leaderEpoch: number
}

/** The leaders and coordinators at a given time, as brokers report them to clients. */
export interface Knowledge {
  readonly topics: ReadonlyMap<string, { readonly id: string; readonly logs: readonly Leadership[] }>
  /** The brokers that are alive. */
  readonly brokers: readonly SimulatedBroker[]
  coordinator(kind: CoordinatorKind, key: string): SimulatedBroker | undefined
}

interface Troubled {
  readonly kind: Trouble
  /** The leaders and coordinators that the broker knew when the trouble began. */
  readonly knowledge: Knowledge
  /** The logs whose leadership the broker has lost without knowing it, each with its former content. */
  readonly former: Map<PartitionLog, ReadableLog>
  /** Actions to run when the broker learns the current leaders and coordinators. */
  readonly waiting: (() => void)[]
  isFenced: boolean
}

export interface TroubledBrokerDeps {
  readonly scheduler: Scheduler
  readonly controller: Actor
  /** Returns the current leaders and coordinators. All brokers without trouble know them. */
  know(): Knowledge
  /** Called when the controller fences a broker. Other brokers must then become leaders and coordinators. */
  fenced(broker: SimulatedBroker): void
  /** Called when a broker's trouble is over. */
  recovered(wasFenced: boolean): void
}

/** How long a broker that hung takes to learn the current leaders after it resumes: minimum and maximum, in ms. */
const LEARNING_MS = [1, 300] as const

/** Keeps track of the brokers that are running but hang, are isolated, or have outdated information. */
export function troubledBrokers({ scheduler, controller, know, fenced, recovered }: TroubledBrokerDeps) {
  const all = new Map<SimulatedBroker, Troubled>()

  function begin(broker: SimulatedBroker, kind: Trouble, forMs: number, fencedAfterMs: number): void {
    if (all.has(broker)) return
    const trouble: Troubled = { kind, knowledge: know(), former: new Map(), waiting: [], isFenced: false }
    all.set(broker, trouble)
    const { name } = broker.actor
    scheduler.note(`${name} is ${kind} for ${forMs.toFixed(0)} ms, fenced after ${fencedAfterMs.toFixed(0)} ms`)
    const learnsAfterMs = kind === 'hung' ? forMs + scheduler.between(...LEARNING_MS) : forMs
    if (kind === 'hung') broker.actor.stalledUntil = scheduler.now() + forMs
    if (fencedAfterMs < forMs) scheduler.after(fencedAfterMs, controller, `fences ${name}`, () => fence(broker, trouble))
    scheduler.after(learnsAfterMs, controller, `informs ${name}`, () => end(broker, trouble))
  }

  function fence(broker: SimulatedBroker, trouble: Troubled): void {
    if (all.get(broker) !== trouble) return
    trouble.isFenced = true
    fenced(broker)
  }

  function end(broker: SimulatedBroker, trouble: Troubled): void {
    if (all.get(broker) !== trouble) return
    all.delete(broker)
    recovered(trouble.isFenced)
    for (const action of trouble.waiting) action()
  }

  return {
    begin,
    /** Ends the trouble of a broker because it dies. Actions that were waiting for the end of the trouble never run. */
    forget(broker: SimulatedBroker): void {
      all.delete(broker)
      broker.actor.stalledUntil = 0
    },
    has: (broker: SimulatedBroker): boolean => all.has(broker),
    isFenced: (broker: SimulatedBroker): boolean => all.get(broker)?.isFenced === true,
    isCutOff(broker: SimulatedBroker): boolean {
      const trouble = all.get(broker)
      return trouble !== undefined && (trouble.isFenced || trouble.kind === 'isolated')
    },
    knowledgeOf: (broker: SimulatedBroker): Knowledge | undefined => all.get(broker)?.knowledge,
    logAt(broker: SimulatedBroker, topic: string, partition: number, log: PartitionLog | undefined): ReadableLog | undefined {
      const trouble = all.get(broker)
      if (trouble === undefined || log === undefined) return log
      return trouble.knowledge.topics.get(topic)?.logs[partition] && (trouble.former.get(log) ?? log)
    },
    whenInformed(broker: SimulatedBroker, action: () => void): void {
      const trouble = all.get(broker)
      if (trouble === undefined) action()
      else trouble.waiting.push(action)
    },
    /** Must be called before another broker becomes the leader of a log. `broker` is the current leader. */
    loses(broker: SimulatedBroker, log: PartitionLog): void {
      const trouble = all.get(broker)
      if (trouble !== undefined && !trouble.former.has(log)) trouble.former.set(log, log.formerLog())
    },
    /**
     * Returns true if a replica that counts as in sync does not copy the log. The log's high watermark then cannot
     * advance.
     */
    blocks(log: PartitionLog): boolean {
      return [...all.values()].some(({ kind, isFenced, former }) => !isFenced && (kind !== 'outdated' || former.has(log)))
    },
  }
}
