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
  /** The topic that the index is filled from. */
  readonly topic: Topic<K, V>
  readonly client: SearchClient
  /** Of new indexes. Default: one server. */
  readonly layout?: IndexLayout
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly runtime: Runtime
  /** Publishes how far a build is. */
  readonly report: (turn: JobTurn<unknown, unknown>, progress: BuildProgress) => Promise<void>
  /**
   * How often the keeper checks whether there is an index. Default 2 s, so a deleted index is noticed within that time.
   */
  readonly lookEveryMs?: number
  /** How long an index remains after it was replaced, for searches that are still running. Default 2 s. */
  readonly formerKeptMs?: number
  /** Returns the id of a request. */
  readonly requestId: (value: unknown) => string
}
