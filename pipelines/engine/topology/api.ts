import type { OffsetReset, RecordHeader } from '../../../kafka/transport.ts'
import type { AnyTopic, Topic } from '../../../schemas/topic.ts'
import type { ByteSpan } from '../../../state/stores/packed-rows.ts'
import type { EngineStore } from '../../../state/stores/store.ts'

/**
 * The API for authors of topologies. A build function declares the topology. The engine runs it when the topology is
 * declared, to find mistakes, and again for every task, so that the closures and stores of one run belong to a single
 * task.
 */
export interface TopologyBuilder {
  /** Reads a topic: a declared one (`schemas/<service>/topics.ts`) or a repartition topic of this topology. */
  source<K, V>(topic: Topic<K, V>, options: SourceOptions<K, V> & Keyless & WithTombstones): Stream<K | undefined, V | null>
  source<K, V>(topic: Topic<K, V>, options: SourceOptions<K, V> & WithTombstones): Stream<K, V | null>
  source<K, V>(topic: Topic<K, V>, options: SourceOptions<K, V> & Keyless): Stream<K | undefined, V>
  source<K, V>(topic: Topic<K, V>, options?: SourceOptions<K, V>): Stream<K, V>
  /**
   * Declares the internal topic `<topology>-<name>-repartition`. One sub-topology emits to this topic, and another
   * sub-topology uses it as its source. A topic that already exists keeps its partition count, so read the count from
   * `Context.partitions`.
   */
  repartition<K, V>(name: string, options: RepartitionOptions<K, V>): Topic<K, V>
}

/** If `config` and the engine's own configuration of the topic set the same property, `config` takes precedence. */
export type RepartitionOptions<K, V> = Omit<Topic<K, V>, 'name'>

interface Keyless {
  readonly keys: 'optional'
}

interface WithTombstones {
  readonly tombstones: 'deliver'
}

export interface SourceOptions<K, V> {
  /** Where to start if neither the group nor the state has an offset. Default earliest. */
  readonly offsetReset?: OffsetReset
  /** What happens to records that fail, for each stage in which a record can fail. */
  readonly onError?: OnError
  /**
   * How to treat records without a key. Such records can be in any partition, so state that processors derive from them
   * may be scattered over partitions. Default `required`: records without a key are bad records.
   */
  readonly keys?: 'required' | 'optional'
  /**
   * How to treat records without a value. `deliver` passes null to the processors (for compacted topics); `drop` counts
   * and ignores the records. Default: records without a value are bad records.
   */
  readonly tombstones?: 'deliver' | 'drop' | 'bad-record'
  /**
   * The output for records that a processor declares late. The keys and values of these records are copied unchanged.
   * Without this output, late records are only counted.
   */
  readonly lateOutput?: Topic<K, V>
}

/**
 * - `fail`: the worker stops, and continues with this record when it is started again
 * - `drop`: the record is skipped, counted and logged
 * - `dead-letter`: the record is skipped, and its original bytes go to the dead-letter topic with the reason
 *
 * A skipped record leaves nothing in stores or outputs, except for what a processor stored or emitted before it
 * returned `deadLetter()`.
 */
export type OnFailure = 'fail' | 'drop' | 'dead-letter'

export interface OnError {
  /** What happens to records that cannot be decoded. Default dead-letter. */
  readonly decode?: OnFailure
  /** What happens to records for which a processor returns `deadLetter()`. Default dead-letter. */
  readonly reject?: OnFailure
  /** What happens to records for which a processor, or its `reads`, throws. Default fail. */
  readonly process?: OnFailure
  /**
   * What happens to records with an output that cannot be encoded or is too large for its topic. The same happens to
   * records that change a row of a store, if the row then cannot be encoded or is too large for its changelog. Default
   * fail.
   */
  readonly produce?: OnFailure
}

export interface Stream<K, V> {
  /**
   * Adds a named processor. It runs once per record, synchronously, in offset order. Several processors of a stream run
   * in succession on the same record. If a processor returns an outcome (drop, dead letter, late), later processors do
   * not receive the record.
   * @param options.reads calls `store.prefetch(key)` for the state that a record needs, so that one multi-get reads the
   * state for many records
   * @param options.stores every store that the processor uses, including those in `reads`. Naming a store here declares
   * it; using any other store throws ProcessorError. Streams whose nodes name the same store form one sub-topology.
   * @param options.emits every topic that the processor emits to; emitting to any other topic throws ProcessorError
   */
  process(name: string, options: ProcessOptions<K, V>, processor: Processor<K, V>): Stream<K, V>
  /**
   * Runs a handler at every multiple of `everyMs` of a clock. If several multiples have passed since the last run, the
   * handler runs only for the last of them.
   */
  tick(name: string, options: TickOptions, handler: TickHandler): Stream<K, V>
  /**
   * Runs a hook in each commit for which this task has something to commit, before the stores are encoded. Use it to
   * emit what the task has aggregated since the last commit.
   */
  beforeCommit(
    name: string,
    options: { stores?: readonly EngineStore[]; emits?: readonly AnyTopic[] },
    handler: (ctx: Context) => void,
  ): Stream<K, V>
  /**
   * Passes the wall clock on to later stages. Sends time marker W (a multiple of `everyMs`) to every partition of `to`
   * once everything that was in this task's sources at W + delayMs is processed.
   */
  markTime(options: { everyMs: number; delayMs: number; to: AnyTopic }): Stream<K, V>
  /**
   * Runs a handler for a time as soon as markers for this time have arrived from all upstream partitions, or from
   * enough of them (`TimeOptions.closeWithout`). The handler's output and the forwarded marker are written in the same
   * transaction. A handler that is a generator may yield so that heartbeats can be sent. While it is suspended, no
   * other code of the task runs. The worker never commits the output of an unfinished handler.
   */
  onTime(name: string, options: TimeOptions, handler: TimeHandler): Stream<K, V>
}

export interface TimeOptions {
  readonly stores?: readonly EngineStore[]
  readonly emits?: readonly AnyTopic[]
  readonly forwardTo?: AnyTopic
  /**
   * The interval between times. Set it for handlers that may take longer than one interval. A stage that is more than
   * one interval behind the wall clock skips times, at first every other time (`isClosedBehind`). The next closed time
   * covers the content of the skipped times. By default, every time is closed, however late.
   */
  readonly thinBehindMs?: number
  /**
   * Conditions under which a time is closed although upstream partitions are missing. At most the given share of each
   * stage's partitions may be missing, and the other partitions must already be `afterMs` past the time. Records that
   * the missing partitions send later are included in later times. `TimeContext.missing` is the number of missing
   * partitions. By default, a time is closed only after all partitions have passed it.
   */
  readonly closeWithout?: { readonly share: number; readonly afterMs: number }
}

export interface ProcessOptions<K, V> {
  readonly reads?: (value: V, key: K, timestamp: number) => void
  readonly stores?: readonly EngineStore[]
  readonly emits?: readonly AnyTopic[]
}

export type Processor<K, V> = (value: V, ctx: RecordContext<K>) => Outcome
/** Undefined means that the record was processed. */
// biome-ignore lint/suspicious/noConfusingVoidType: a processor without a return statement is the common case
export type Outcome = void | Drop | DeadLetter | Late
/** The record was ignored deliberately. Such records are counted separately for each reason. */
export interface Drop {
  readonly outcome: 'drop'
  readonly reason: string
}
/**
 * The record is rejected. `OnError.reject` determines what happens to it; by default, it goes to the dead-letter topic
 * with its source, this code and the original bytes.
 */
export interface DeadLetter {
  readonly outcome: 'dead-letter'
  readonly code: string
  readonly message: string
}
/**
 * The record came after its window and the grace period had ended. It is counted, and sent to the late output if there
 * is one.
 */
export interface Late {
  readonly outcome: 'late'
}

export interface TickOptions {
  readonly everyMs: number
  /**
   * - `wall`: wall-clock time, even without input
   * - `event`: the task's event time
   * - `caught-up`: wall-clock time, once everything that was in the sources at that time is processed. Use this clock
   *   to close windows, because a backlog delays its ticks until the backlog is processed. After a restart the last
   *   time may occur again.
   */
  readonly clock: 'wall' | 'event' | 'caught-up'
  readonly stores?: readonly EngineStore[]
  readonly emits?: readonly AnyTopic[]
}
/** Called at a tick. @param now the time of the tick on the requested clock, epoch ms */
export type TickHandler = (now: number, ctx: Context) => void
export type TimeHandler = (time: number, ctx: TimeContext) => void | Generator<void, void, void>

/**
 * The object through which an author's code uses the engine. A task reuses the same object for every call, so do not
 * keep the object after a call.
 */
export interface Context {
  readonly partition: number
  /**
   * The partition count that all sources of the task share. To get each partition's share of a global limit, divide the
   * limit by this number.
   */
  readonly partitions: number
  /** Wall clock, epoch ms. */
  readonly now: number
  /** The highest event time that this task has reached, epoch ms; -1 before the first record. */
  readonly streamTime: number
  emit<K, V>(topic: Topic<K, V>, key: K, value: V | null, options?: EmitOptions): void
  /** Sends a record to every partition of the topic. */
  broadcast<K, V>(topic: Topic<K, V>, key: K, value: V, options?: EmitOptions): void
  /**
   * Returns the partition to which `emit` sends a record with this text as its `partitionBy`, or a record without
   * `partitionBy` with this text as its key. The text may also be given as bytes.
   */
  partitionBy(topic: AnyTopic, text: string | Readonly<ByteSpan>): number
  /** Increases a counter by `by`, or by 1. Throws if `by` is negative or not a finite number. */
  count(metric: string, by?: number): void
  /**
   * Shortens the time to the next commit to the topology's `commitSoonMs`. Use it when a caller waits for the output.
   */
  commitSoon(): void
}

export interface TimeContext extends Context {
  /** Number of upstream partitions that were missing when the time was closed; see `TimeOptions.closeWithout`. */
  readonly missing: number
}

export interface RecordContext<K> extends Context {
  readonly topic: string
  /** The key of the record; undefined only if the source declares keys as optional. */
  readonly key: K
  /** Record timestamp, epoch ms. */
  readonly timestamp: number
  readonly offset: number
  headers(): readonly RecordHeader[]
}

export interface EmitOptions {
  /**
   * Timestamp of the record, epoch ms; a fraction is cut off. `emit` throws for NaN and other impossible times. The
   * default is the timestamp of the current record, or the time of the tick or time handler. In a `beforeCommit` hook,
   * it is the event time, or the wall clock before the first record.
   */
  readonly timestamp?: number
  /** Partition of the record. By default, the murmur2 hash of the key's bytes determines it, as in the Java client. */
  readonly partition?: number
  /**
   * The murmur2 hash of this string determines the partition, instead of the hash of the key. Records with the same
   * string share a partition.
   */
  readonly partitionBy?: string
  readonly headers?: readonly RecordHeader[]
}
