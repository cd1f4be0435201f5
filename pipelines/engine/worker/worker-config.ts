import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import type { Compression, Transport } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateBackend } from '../../../state/stores/store.ts'
import type { Topology } from '../topology/topology.ts'
import type { CommitFault } from './commit.ts'

/**
 * `exactly-once` uses transactions. `at-least-once` uses none; after a crash it processes again what was processed
 * since the last commit.
 */
export type Guarantee = 'exactly-once' | 'at-least-once'

export interface WorkerConfig {
  readonly topology: Topology
  /** Default exactly-once. */
  readonly guarantee?: Guarantee
  /** Default 100 ms. The topology's own option takes precedence. */
  readonly commitIntervalMs?: number
  /**
   * Memory for the decoded objects of a store in a task, estimated from their encoded sizes. Default 4 MiB. The store's
   * own option takes precedence.
   */
  readonly cacheBytes?: number
  /** How long a stopping worker waits for brokers that do not answer. Default 15 s. */
  readonly stopGraceMs?: number
  /**
   * Whether a worker that stops gracefully stays in the group until its session times out, so that it keeps its
   * partitions for its next start and a rolling restart moves nothing. Default false: other workers get them at once.
   */
  readonly keepPlaceOnStop?: boolean
  /** How long the state of partitions that have moved away stays on disk in case they return. Default 1 h. */
  readonly keepStateMs?: number
  /**
   * How long a new worker copies the state of its future partitions at most, while their owners continue, before it
   * asks for them. Default 30 min; 0 turns warm-ups off.
   */
  readonly warmUpMaxMs?: number
  /** A new worker restores up to this many changelog records without a warm-up. Default 100,000. */
  readonly warmUpLeastRecords?: number
  /** Compression of written records. Default none. */
  readonly compression?: Compression
}

/** The identity of a worker in its group. Both ids are created and stored together. */
export interface MemberIdentity {
  /** A UUID. A member that rejoins with it gets the same partitions back at once. */
  readonly memberId: string
  /** Fences earlier producers of this worker. */
  readonly transactionalId: string
  /** Stores a new member id in place of one that the brokers refuse. */
  readonly keepMemberId?: (memberId: string) => void
}

export interface WorkerDeps {
  /** A connected transport, which the workers of a process share. */
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly backend: StateBackend
  readonly identity: MemberIdentity
  /** `runtime.now` must be the clock with which the transport stamps fetches. */
  readonly runtime: Runtime
  /** The address at which this process answers queries (http://host:port). The other workers can see it. */
  readonly address?: string
  /** Called after every commit. */
  readonly onCommit?: (seconds: number) => void
  /** For crash tests only. */
  readonly fault?: CommitFault
}
