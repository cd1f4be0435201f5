import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import type { Compression, Transport } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateBackend } from '../../../state/stores/store.ts'
import type { Topology } from '../topology/topology.ts'
import type { CommitFault } from './commit.ts'

/** exactly-once: transactions. at-least-once: no transactions, what was processed since the last commit is processed again after a crash. */
export type Guarantee = 'exactly-once' | 'at-least-once'

export interface WorkerConfig {
  readonly topology: Topology
  /** Default exactly-once. */
  readonly guarantee?: Guarantee
  /** Default 100 ms; the topology's own option comes first. */
  readonly commitIntervalMs?: number
  /** Decoded objects that each store instance keeps. Default 10,000. */
  readonly cachedObjects?: number
  /** How long a worker that stops waits for brokers that do not answer. Default 15 s. */
  readonly stopGraceMs?: number
  /** A worker that stops in order keeps its partitions for its next start, until the session times out: a rolling restart moves nothing. Default false: it gives them to others at once. */
  readonly keepPlaceOnStop?: boolean
  /** How long the state of partitions that moved away is kept on disk, for when they come back. Default 1 h. */
  readonly keepStateMs?: number
  /** Of the records written. Default none. */
  readonly compression?: Compression
}

/** A worker's place in its group: made together, kept together. */
export interface MemberIdentity {
  /** UUID: rejoining with it gets the same partitions back at once. */
  readonly memberId: string
  /** Fences this worker's earlier lives. */
  readonly transactionalId: string
  /** Keeps another member id in place of one that the brokers refuse. */
  readonly keepMemberId?: (memberId: string) => void
}

export interface WorkerDeps {
  /** Connected, shared by the workers of a process. */
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly backend: StateBackend
  readonly identity: MemberIdentity
  /** `runtime.now` must be the clock by which the transport stamps fetches. */
  readonly runtime: Runtime
  /** Where this process answers queries (http://host:port), told to the other workers. */
  readonly address?: string
  /** Told of every commit. */
  readonly onCommit?: (seconds: number) => void
  /** Crash tests only. */
  readonly fault?: CommitFault
}
