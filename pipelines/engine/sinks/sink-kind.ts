import type { Fetcher, TopicPartition } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import type { SinkDeadLetters } from './dead-letters.ts'
import type { Lane } from './lane.ts'
import type { LaneToolsDeps } from './lane-tools.ts'
import type { SinkMetrics } from './metrics.ts'

/** The parts of a running sink that its lanes share. */
export interface SinkParts extends LaneToolsDeps {
  readonly fetcher: Fetcher
  readonly metrics: SinkMetrics
  readonly runtime: Runtime
  /** Stores records that cannot be decoded or that the target refuses; undefined if they are only counted. */
  readonly deadLetters: SinkDeadLetters | undefined
}

/**
 * The properties and functions that depend on the kind of sink. There are two kinds: one copies topics into an external
 * database, and the other delivers records one by one.
 */
export interface SinkKind {
  /** The topics that the sink reads, including topics that only this sink uses, such as its retry topic. */
  readonly topics: readonly AnyTopic[]
  /**
   * True if the membership must be confirmed before a commit, because the target does not refuse writes from former
   * owners.
   */
  readonly confirmsOwnership: boolean
  /**
   * How long the next fetch is delayed, in ms, if the last one returned few records. Meanwhile more records collect.
   */
  readonly collectMs: number
  /** Shortest time between two commits, except when a partition is given up. */
  readonly commitEveryMs: number
  prepareTopics(): Promise<void>
  /** Returns a function that opens the lane of a partition. */
  lanes(parts: SinkParts): (partition: TopicPartition) => Lane
  /** Called when all lanes are closed or abandoned. */
  close(): Promise<void>
}
