import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import type { Transport } from '../../kafka/transport.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Topic } from '../../schemas/topic.ts'
import type { SearchClient } from '../../state/indexes/client.ts'
import type { IndexLayout } from '../../state/indexes/family.ts'
import type { Index } from '../../state/indexes/search-index.ts'
import type { JobTurn } from '../engine/index.ts'
import type { BuildProgress } from './progress.ts'

export interface KeeperDeps<K, V> {
  readonly index: Index<K, V>
  /** The topic from which the index is filled. */
  readonly topic: Topic<K, V>
  readonly client: SearchClient
  /** The layout of new indexes. The default is for a single server. */
  readonly layout?: IndexLayout
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly runtime: Runtime
  /** Publishes the progress of a build. */
  readonly report: (turn: JobTurn<unknown, unknown>, progress: BuildProgress) => Promise<void>
  /** Interval at which the keeper checks whether the index exists and has its data. Default 5 s. */
  readonly lookEveryMs?: number
  /**
   * Minimum time for which an index is kept after it was replaced, for searches that are still running. Default 2 s.
   */
  readonly formerKeptMs?: number
  /** Returns the id of a request. */
  readonly requestId: (value: unknown) => string
  /** Returns the ids of the requests that earlier turns have completed, according to their published progress. */
  readonly completedIds: (turn: JobTurn<unknown, unknown>) => Promise<readonly string[]>
}
