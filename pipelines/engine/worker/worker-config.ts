import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import type { Compression, Transport } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateBackend } from '../../../state/stores/store.ts'
import type { Topology } from '../topology/topology.ts'
import type { CommitFault } from './commit.ts'

/**
 * The processing guarantee. `exactly-once` uses transactions. `at-least-once` does not, so after a crash the records
 * since the last commit may affect the output and the state twice.
 */
export type Guarantee = 'exactly-once' | 'at-least-once'

export interface WorkerConfig {
  readonly topology: Topology
  /** Default exactly-once. */
  readonly guarantee?: Guarantee
  /** See `TopologyOptions`. Default 100 ms. The topology's own option takes precedence. */
  readonly commitIntervalMs?: number
  /**
   * Cache size for the decoded objects of a store in a task, in bytes. The size of an object is estimated from its
   * encoded size. Default: an equal share of 32 MiB for each store in each task of the topology, but at least 4 MiB.
   * The store's own option takes precedence.
   */
  readonly cacheBytes?: number
  /** How long a stopping worker waits for brokers that do not answer, and for running time handlers. Default 15 s. */
  readonly stopGraceMs?: number
  /**
   * Whether a worker that stops gracefully stays in the group until its session times out. A worker that stays keeps
   * its partitions for its next start, so a rolling restart moves no partitions. Default false: other workers get the
   * partitions at once.
   */
  readonly keepPlaceOnStop?: boolean
  /** How long the state of partitions that have moved away stays on disk in case they return. Default 1 h. */
  readonly keepStateMs?: number
  /**
   * How long a new worker may copy the state of its future partitions before it asks the group for these partitions.
   * The time is counted from the moment when no earlier new worker is still copying. The current owners process the
   * partitions in the meantime. Default 30 min; 0 turns warm-ups off.
   */
  readonly warmUpMaxMs?: number
  /**
   * A new worker that lacks fewer changelog records than this restores its state without a warm-up. Default 100,000.
   */
  readonly warmUpLeastRecords?: number
  /** Compression of written records. Default none. */
  readonly compression?: Compression
}

/** The identity of a worker in its group. Both ids are created and stored together. */
export interface MemberIdentity {
  /** A member that rejoins with this id before its session times out gets the same partitions back at once. */
  readonly memberId: string
  /** The transactional id. It fences earlier producers of this worker. */
  readonly transactionalId: string
  /**
   * Called with a new member id when the brokers have refused the previous one. It must store the new id for the next
   * start.
   */
  readonly keepMemberId?: (memberId: string) => void
}

export interface WorkerDeps {
  /** A connected transport. The workers of a process share it. */
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly backend: StateBackend
  readonly identity: MemberIdentity
  /** The runtime of the workers. Its `now` must be the clock with which the transport stamps fetches. */
  readonly runtime: Runtime
  /** The address at which this process answers queries (http://host:port). It is published to the other workers. */
  readonly address?: string
  /**
   * Returns whether the process at an address has certainly ended. The other workers then take over its tasks before
   * its session times out, provided that they have copies of the state or that the topology has no changelogs. Not used
   * with `keepPlaceOnStop`.
   */
  readonly hasEnded?: (address: string) => Promise<boolean>
  /** Called after every commit that the brokers took part in, with the duration of all its steps in seconds. */
  readonly onCommit?: (seconds: number) => void
  /** Called after each step of a commit. Only crash tests set it. */
  readonly fault?: CommitFault
}
