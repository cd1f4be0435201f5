import type { OffsetReset, RecordHeader } from '../../../kafka/transport.ts'
import type { AnyTopic, Topic } from '../../../schemas/topic.ts'
import type { EngineStore } from '../../../state/stores/store.ts'

/**
 * What authors of a topology see. A build function declares the topology. The engine runs it once per task, so that its
 * closures and stores belong to one task alone; `describe()` runs it once more without opening anything.
 */
export interface TopologyBuilder {
  /** Reads a topic of the catalogue, or a repartition topic of this topology. */
  source<K, V>(topic: Topic<K, V>, options: SourceOptions<K, V> & Keyless & WithTombstones): Stream<K | undefined, V | null>
  source<K, V>(topic: Topic<K, V>, options: SourceOptions<K, V> & WithTombstones): Stream<K, V | null>
  source<K, V>(topic: Topic<K, V>, options: SourceOptions<K, V> & Keyless): Stream<K | undefined, V>
  source<K, V>(topic: Topic<K, V>, options?: SourceOptions<K, V>): Stream<K, V>
  /**
   * An internal topic `<topology>-<name>-repartition`: one sub-topology emits to it, another has it as its source. A
   * topic that exists keeps its partition count, so use `Context.partitions`.
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
  /** Where to begin where neither the group nor the state knows an offset. Default earliest. */
  readonly offsetReset?: OffsetReset
  /** What happens to records that cannot be decoded or that a processor rejects. Default dead-letter. */
  readonly onBadRecord?: 'dead-letter' | 'fail'
  /** Records without a key: they lie in any partition, so that state by key would be torn apart. Default required: they are bad records. */
  readonly keys?: 'required' | 'optional'
  /** Records without a value: `deliver` passes null to the processors (compacted topics), `drop` counts and ignores them. Default: a bad record. */
  readonly tombstones?: 'deliver' | 'drop' | 'bad-record'
  /** Records that a processor calls late go here, key and value byte for byte. Without it they are only counted. */
  readonly lateOutput?: Topic<K, V>
}

export interface Stream<K, V> {
  /**
   * A named processor: runs once per record, synchronously, in offset order. Several processors of one stream run one after the
   * other on the same record; an outcome (drop, dead letter, late) ends the record, so that later ones do not see it.
   * @param options.reads names the state a record needs (call `store.prefetch(key)`), so that a whole batch is read by one multi-get
   * @param options.stores every store it uses, also in `reads`. Naming a store here declares it; using another one
   *   throws ProcessorError. Streams whose nodes name the same store form one sub-topology.
   * @param options.emits every topic it emits to; any other throws ProcessorError
   */
  process(name: string, options: ProcessOptions<K, V>, processor: Processor<K, V>): Stream<K, V>
  /** Runs at every multiple of `everyMs` of a clock; of several that have passed meanwhile only the last. */
  tick(name: string, options: TickOptions, handler: TickHandler): Stream<K, V>
  /** Runs before each commit that has work, before stores are encoded: the place to emit what was aggregated since the last commit. */
  beforeCommit(
    name: string,
    options: { stores?: readonly EngineStore[]; emits?: readonly AnyTopic[] },
    handler: (ctx: Context) => void,
  ): Stream<K, V>
  /** Wall clock across stages: sends time marker W (a multiple of `everyMs`) to every partition of `to`, once everything that lay in this task's source at W + delayMs is processed. */
  markTime(options: { everyMs: number; delayMs: number; to: AnyTopic }): Stream<K, V>
  /**
   * Runs when the markers W of all upstream partitions are there; emits of the handler and the forwarded marker go out in the same transaction.
   * A generator may yield to let heartbeats through; nothing of the task runs in between and nothing is committed half done.
   */
  onTime(name: string, options: TimeOptions, handler: TimeHandler): Stream<K, V>
}

export interface TimeOptions {
  readonly stores?: readonly EngineStore[]
  readonly emits?: readonly AnyTopic[]
  readonly forwardTo?: AnyTopic
  /**
   * For handlers that may take longer than the period of their times: that period. A stage that is further behind the wall clock passes over
   * times, every second one at first (`isClosedBehind`); what they would have shown is in the next one. Default: every time is closed, however late.
   */
  readonly thinBehindMs?: number
}

export interface ProcessOptions<K, V> {
  readonly reads?: (value: V, key: K, timestamp: number) => void
  readonly stores?: readonly EngineStore[]
  readonly emits?: readonly AnyTopic[]
}

export type Processor<K, V> = (value: V, ctx: RecordContext<K>) => Outcome
/** undefined: processed. */
// biome-ignore lint/suspicious/noConfusingVoidType: a processor without a return statement is the common case
export type Outcome = void | Drop | DeadLetter | Late
/** Deliberately ignored; counted by reason. */
export interface Drop {
  readonly outcome: 'drop'
  readonly reason: string
}
/** Sent to the dead-letter topic with its source, this code and the original bytes. */
export interface DeadLetter {
  readonly outcome: 'dead-letter'
  readonly code: string
  readonly message: string
}
/** Behind the window and its grace: counted, and sent to the late output when the topology has one. */
export interface Late {
  readonly outcome: 'late'
}

export interface TickOptions {
  readonly everyMs: number
  /**
   * wall: the time of day, while the input is silent too. event: when the event time of the task passes it.
   * caught-up: the time of day, once everything that lay in the source at that time is processed: the clock by which windows are closed,
   * since a backlog is never taken for silence. After a restart the last time may come again.
   */
  readonly clock: 'wall' | 'event' | 'caught-up'
  readonly stores?: readonly EngineStore[]
  readonly emits?: readonly AnyTopic[]
}
/** @param now epoch ms of the clock asked for */
export type TickHandler = (now: number, ctx: Context) => void
export type TimeHandler = (time: number, ctx: Context) => void | Generator<void, void, void>

/** One object per task, reused: never keep it beyond the call. */
export interface Context {
  readonly partition: number
  /** How many there are: what is limited in all has a share in each. */
  readonly partitions: number
  /** Wall clock, epoch ms. */
  readonly now: number
  /** Greatest event time seen by this task, epoch ms; -1 before the first record. */
  readonly streamTime: number
  emit<K, V>(topic: Topic<K, V>, key: K, value: V | null, options?: EmitOptions): void
  /** Sends to every partition of the topic. */
  broadcast<K, V>(topic: Topic<K, V>, key: K, value: V, options?: EmitOptions): void
  count(metric: string, by?: number): void
}

export interface RecordContext<K> extends Context {
  readonly topic: string
  /** Undefined only where the source says that keys are optional. */
  readonly key: K
  /** Record timestamp, epoch ms. */
  readonly timestamp: number
  readonly offset: number
  headers(): readonly RecordHeader[]
}

export interface EmitOptions {
  /** Default: the timestamp of the record in hand, or `now` in ticks. */
  readonly timestamp?: number
  /** Default: murmur2 of the key's bytes, as the Java client does. */
  readonly partition?: number
  /** Text whose murmur2 chooses the partition instead of the key's: keys that share it lie together. */
  readonly partitionBy?: string
  readonly headers?: readonly RecordHeader[]
}
