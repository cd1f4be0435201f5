import { headersOf } from '../../../kafka/record-batch/chunk.ts'
import type { RecordChunk, RecordHeader } from '../../../kafka/transport.ts'
import type { AnyTopic, Topic } from '../../../schemas/topic.ts'
import type { ByteSpan } from '../../../state/stores/packed-rows.ts'
import type { RecordSlot, StoreAccess } from '../../../state/stores/store.ts'
import type { EmitOptions, RecordContext, TimeContext } from '../topology/api.ts'
import type { EmittingNode } from '../topology/declaration.ts'
import { ProcessorError } from '../topology/errors.ts'
import { increase, type TaskMetrics } from './metrics.ts'
import type { Outputs } from './outputs.ts'

/** The context object of a task. The task sets its fields before it calls the author's code. */
export class TaskContext implements RecordContext<unknown>, TimeContext, StoreAccess, RecordSlot {
  readonly partition: number
  readonly partitions: number
  now = 0
  streamTime = -1
  topic = ''
  key: unknown
  timestamp = -1
  offset = -1
  missing = 0
  /**
   * The node whose code runs, or undefined for engine code. The declaration of the node determines the topics and
   * stores that its code may use.
   */
  node: EmittingNode | undefined
  /** The default timestamp of emitted records. */
  emitTimestamp = 0
  /** Number of calls to `emit` and `broadcast` since the last commit began. */
  emitted = 0
  /** True if `commitSoon` was called since the last commit began. */
  soon = false
  /** The chunk of the current record. */
  chunk: RecordChunk | undefined
  row = 0
  source = 0
  slot = -1
  readonly #outputs: Outputs
  readonly #metrics: TaskMetrics

  constructor(partition: number, partitions: number, outputs: Outputs, metrics: TaskMetrics) {
    this.partition = partition
    this.partitions = partitions
    this.#outputs = outputs
    this.#metrics = metrics
  }

  emit<K, V>(topic: Topic<K, V>, key: K, value: V | null, options?: EmitOptions): void {
    this.#mayEmit(topic)
    this.#outputs.emit(topic, key, value, this.emitTimestamp, options)
    this.emitted++
  }

  broadcast<K, V>(topic: Topic<K, V>, key: K, value: V, options?: EmitOptions): void {
    this.#mayEmit(topic)
    this.#outputs.broadcast(topic, key, value, this.emitTimestamp, options)
    this.emitted++
  }

  partitionBy(topic: AnyTopic, text: string | Readonly<ByteSpan>): number {
    this.#mayEmit(topic)
    return this.#outputs.partitionBy(topic, text)
  }

  count(metric: string, by = 1): void {
    // A single NaN or infinite value would make the counter useless until the worker restarts.
    if (!(by >= 0 && by < Infinity))
      throw new ProcessorError(`it increases the counter ${metric} by ${by}: use a finite number that is not negative`)
    increase(this.#metrics.counts, metric, by)
  }

  commitSoon(): void {
    this.soon = true
  }

  headers(): readonly RecordHeader[] {
    return this.chunk === undefined ? [] : headersOf(this.chunk, this.row)
  }

  /** Prepares the context for code that does not process a record. */
  leaveRecord(node: EmittingNode, emitTimestamp: number): void {
    this.node = node
    this.emitTimestamp = emitTimestamp
    this.chunk = undefined
    this.slot = -1
    this.key = undefined
    this.topic = ''
    this.timestamp = -1
    this.offset = -1
  }

  /**
   * Checks that the current node has declared the store. A store calls this method whenever the node that uses it
   * changes.
   */
  admit(store: string): void {
    if (this.node === undefined || this.node.stores.some((known) => known.name === store)) return
    throw new ProcessorError(`${this.node.name} uses the store ${store}: name that store in its \`stores\``)
  }

  #mayEmit(topic: AnyTopic): void {
    const emits = this.node?.emits ?? []
    if (emits.includes(topic) || emits.some((known) => known.name === topic.name)) return
    throw new ProcessorError(`${this.node?.name ?? 'code outside of a processor'} emits to ${topic.name}: name that topic in its \`emits\``)
  }
}
