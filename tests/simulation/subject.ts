import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import type { TopicSpec } from '../../kafka/transport.ts'
import type { Topology } from '../../pipelines/engine/index.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Cluster } from './cluster/cluster.ts'
import type { SimulatedSinks } from './stores/counter-sinks.ts'

export interface InputRecord {
  readonly topic: string
  readonly partition: number
  readonly key: string
  readonly value: string | Buffer
  /** Timestamp of the record, epoch ms. */
  readonly timestamp: number
}

/** The facts about a run that the check of its output needs. Times are epoch ms of a correct clock. */
export interface InputTimes {
  /** Time at which the brokers acknowledged each input, keyed by the number of the input. */
  readonly acknowledgedAt: ReadonlyMap<number, number>
  readonly now: number
  /** True if a worker's clock was wrong at any time in the run. */
  readonly clocksWereWrong: boolean
  /** True if requests may have arrived long after they were sent. */
  readonly requestsWereLate: boolean
}

/** A topology with its input and an offline computation of its output. */
export interface Subject {
  readonly topology: Topology
  /** The topics that must exist before the workers start. */
  readonly inputs: readonly TopicSpec[]
  /** Sinks that copy the output into models of Redis and ClickHouse; undefined when there are none. */
  readonly sinks?: SimulatedSinks | undefined
  /** The topic whose number of partitions may grow; undefined when there is none. */
  readonly growing?: string
  /**
   * Opens the codecs with which the subject writes its input and reads its output. If a subject has this method, it
   * must be called once before the first input is sent.
   */
  prepare?(registry: SchemaRegistry, runtime: Runtime): Promise<void>
  /** Returns the records of one input. Inputs are numbered from 0 in the order of their times. */
  input(number: number, random: () => number, now: number, partitionsOf: (topic: string) => number): readonly InputRecord[]
  /** Returns the last records of the input. */
  end(now: number): readonly InputRecord[]
  /** Returns true if the output contains all records that the input requires. */
  isComplete(cluster: Cluster, times: InputTimes): boolean
  /**
   * Returns deviations of the output from an offline computation; empty if there are none.
   * @param sent the numbers of the inputs that were sent, in order
   */
  deviations(cluster: Cluster, sent: readonly number[], times: InputTimes): string[]
}
