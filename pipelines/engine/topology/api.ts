import type { OffsetReset, RecordHeader } from '../../../kafka/transport.ts'
import type { AnyTopic, Topic } from '../../../schemas/topic.ts'
import type { ByteSpan } from '../../../state/stores/packed-rows.ts'
import type { EngineStore } from '../../../state/stores/store.ts'

/**
 * The API for authors of topologies. A build function declares the topology. The engine runs it once per task, so that
 * its closures and stores belong to a single task. `describe()` runs it once more without opening anything.
 */
export interface TopologyBuilder {
  /** Reads a topic of the catalogue or a repartition topic of this topology. */
  source<K, V>(topic: Topic<K, V>, options: SourceOptions<K, V> & Keyless & WithTombstones): Stream<K | undefined, V | null>
  source<K, V>(topic: Topic<K, V>, options: SourceOptions<K, V> & WithTombstones): Stream<K, V | null>
  source<K, V>(topic: Topic<K, V>, options: SourceOptions<K, V> & Keyless): Stream<K | undefined, V>
  source<K, V>(topic: Topic<K, V>, options?: SourceOptions<K, V>): Stream<K, V>
  /**
   * Declares the internal topic `<topology>-<name>-repartition`: one sub-topology emits to it, and another one uses it
   * as its source. An existing topic keeps its partition count, so use `Context.partitions`.
   */
  repartition<K, V>(name: string, options: RepartitionOptions<K, V>): Topic<K, V>
}

export type RepartitionOptions<K, V> = Pick<Topic<K, V>, 'key' | 'value' | 'partitions' | 'productionPartitions'>

interface Keyless {
  readonly keys: 'optional'
}

interface WithTombstones {
  readonly tombstones: 'deliver'
}

export interface SourceOptions<K, V> {
  /** Where to start if neither the group nor the state has an offset. Default earliest. */
  readonly offsetReset?: OffsetReset
  /** What happens to records that fail, by the stage in which they fail. */
  readonly onError?: OnError
  /**
   * How to treat records without a key. They can be in any partition, so state by key would be scattered. Default
   * `required`: they are bad records.
   */
  readonly keys?: 'required' | 'optional'
  /**
   * How to treat records without a value: `deliver` passes null to the processors (compacted topics), `drop` counts and
   * ignores them. Default: they are bad records.
   */
  readonly tombstones?: 'deliver' | 'drop' | 'bad-record'
  /**
   * The output for records that a processor declares late; key and value are copied unchanged. Without it late records
   * are only counted.
   */
  readonly lateOutput?: Topic<K, V>
}

/**
 * - `fail`: the worker stops, and continues with this record when it is started again
 * - `drop`: the record is skipped, counted and logged
 * - `dead-letter`: the record is skipped, and its original bytes go to the dead-letter topic with the reason
 *
 * A skipped record leaves nothing in stores or outputs, except what a processor did before it returned `deadLetter()`.
 */
export type OnFailure = 'fail' | 'drop' | 'dead-letter'

export interface OnError {
  /** Records that cannot be decoded. Default dead-letter. */
  readonly decode?: OnFailure
  /** Records for which a processor returns `deadLetter()`. Default dead-letter. */
  readonly reject?: OnFailure
  /** Records for which a processor, or its `reads`, throws. Default fail. */
  readonly process?: OnFailure
  /** Records with an output that cannot be encoded, or that is too large for its topic. Default fail. */
  readonly produce?: OnFailure
}

export interface Stream<K, V> {
  /**
   * Adds a named processor. It runs once per record, synchronously, in offset order. Several processors of a stream run
   * in succession on the same record. An outcome (drop, dead letter, late) ends the record, so that later processors do
   * not receive it.
   * @param options.reads calls `store.prefetch(key)` for the state that a record needs, so that one multi-get reads the
   *   state for a whole batch
   * @param options.stores every store that the processor uses, including those in `reads`. Naming a store here declares
   *   it; using another one throws ProcessorError. Streams whose nodes name the same store form one sub-topology.
   * @param options.emits every topic that the processor emits to; any other throws ProcessorError
   */
  process(name: string, options: ProcessOptions<K, V>, processor: Processor<K, V>): Stream<K, V>
  /**
   * Runs at every multiple of `everyMs` of a clock. If several multiples have passed since the last run, it runs only
   * for the last one.
   */
  tick(name: string, options: TickOptions, handler: TickHandler): Stream<K, V>
  /**
   * Runs before each commit that has work, before stores are encoded. Use it to emit what the task has aggregated since
   * the last commit.
   */
  beforeCommit(
    name: string,
    options: { stores?: readonly EngineStore[]; emits?: readonly AnyTopic[] },
    handler: (ctx: Context) => void,
  ): Stream<K, V>
  /**
   * Carries the wall clock to later stages: sends time marker W (a multiple of `everyMs`) to every partition of `to`
   * once everything that was in this task's source at W + delayMs is processed.
   */
  markTime(options: { everyMs: number; delayMs: number; to: AnyTopic }): Stream<K, V>
  /**
   * Runs when the markers W of all upstream partitions have arrived. The handler's output and the forwarded marker go
   * out in the same transaction. A generator may yield so that heartbeats can be sent. No other code of the task runs
   * in between, and an unfinished handler is never committed.
   */
  onTime(name: string, options: TimeOptions, handler: TimeHandler): Stream<K, V>
}

export interface TimeOptions {
  readonly stores?: readonly EngineStore[]
  readonly emits?: readonly AnyTopic[]
  readonly forwardTo?: AnyTopic
  /**
   * The period of the times, for handlers that may take longer than that. A stage that is further behind the wall clock
   * skips times, at first every second one (`isClosedBehind`); the next closed time covers their content. By default
   * every time is closed, however late.
   */
  readonly thinBehindMs?: number
  /**
   * Closes a time although upstream partitions are missing, if they are at most this share of each stage's partitions
   * and the others are already `afterMs` past the time. Records that the missing partitions send later count for later
   * times. `TimeContext.missing` is the number of missing partitions. By default a time waits for all partitions.
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
/** The record was ignored deliberately. Such records are counted by reason. */
export interface Drop {
  readonly outcome: 'drop'
  readonly reason: string
}
/** The record goes to the dead-letter topic with its source, this code and the original bytes. */
export interface DeadLetter {
  readonly outcome: 'dead-letter'
  readonly code: string
  readonly message: string
}
/**
 * The record is older than its window and the grace period. It is counted, and sent to the late output if there is one.
 */
export interface Late {
  readonly outcome: 'late'
}

export interface TickOptions {
  readonly everyMs: number
  /**
   * - `wall`: wall-clock time, even without input
   * - `event`: when the task's event time passes the multiple
   * - `caught-up`: wall-clock time, once everything that was in the sources at that time is processed. Use it to close
   *   windows, because it does not mistake a backlog for a lack of input. After a restart the last time may occur
   *   again.
   */
  readonly clock: 'wall' | 'event' | 'caught-up'
  readonly stores?: readonly EngineStore[]
  readonly emits?: readonly AnyTopic[]
}
/** @param now epoch ms of the requested clock */
export type TickHandler = (now: number, ctx: Context) => void
export type TimeHandler = (time: number, ctx: TimeContext) => void | Generator<void, void, void>

/** One object per task, reused for every call: do not keep it after the call. */
export interface Context {
  readonly partition: number
  /** The number of partitions. A global limit can be divided by it to get the share of each partition. */
  readonly partitions: number
  /** Wall clock, epoch ms. */
  readonly now: number
  /** The highest event time that this task has seen, epoch ms; -1 before the first record. */
  readonly streamTime: number
  emit<K, V>(topic: Topic<K, V>, key: K, value: V | null, options?: EmitOptions): void
  /** Sends to every partition of the topic. */
  broadcast<K, V>(topic: Topic<K, V>, key: K, value: V, options?: EmitOptions): void
  /**
   * Returns the partition to which `emit` sends a record whose `partitionBy`, or key as text, is `text`, which may also
   * be given as bytes.
   */
  partitionBy(topic: AnyTopic, text: string | Readonly<ByteSpan>): number
  count(metric: string, by?: number): void
  /** Shortens the time to the next commit to the topology's `commitSoonMs`, because a caller waits for the output. */
  commitSoon(): void
}

export interface TimeContext extends Context {
  /** How many upstream partitions were missing when the time was closed; see `TimeOptions.closeWithout`. */
  readonly missing: number
}

export interface RecordContext<K> extends Context {
  readonly topic: string
  /** Undefined only if the source declares keys as optional. */
  readonly key: K
  /** Record timestamp, epoch ms. */
  readonly timestamp: number
  readonly offset: number
  headers(): readonly RecordHeader[]
}

export interface EmitOptions {
  /** Default: the timestamp of the current record, or `now` in ticks. */
  readonly timestamp?: number
  /** Default: murmur2 of the key's bytes, as in the Java client. */
  readonly partition?: number
  /**
   * A text whose murmur2 determines the partition instead of the key's, so that keys with the same text share a
   * partition.
   */
  readonly partitionBy?: string
  readonly headers?: readonly RecordHeader[]
}
