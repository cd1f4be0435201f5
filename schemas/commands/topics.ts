import { avroValue } from '../avro/value.ts'
import { utf8 } from '../keys.ts'
import { loadSchema } from '../load.ts'
import type { AvroSchema, Topic, ValueFormat } from '../topic.ts'
import type { CommandResult } from './types.ts'

/** A client's request to a topology that makes decisions. The service defines the type of `body`. */
export interface Command<C> {
  readonly command_id: string
  /** The API instance that waits for the result. */
  readonly reply_to: string
  /** Hash of the request. A request with the same command id and a different hash is a conflict. */
  readonly request_hash: string
  /** No client waits for the result after this time, epoch ms. */
  readonly deadline: number
  readonly body: C
}

/**
 * Either a new view of an object, under the object's key, or the result of a command, under a key of `resultKey`. Both
 * kinds of records are in one topic, so that a sink applies them in the order of the decisions. A tombstone deletes the
 * view.
 */
export interface Decision<V> {
  readonly view: V | null
  readonly result: CommandResult | null
}

/**
 * The two topics of a topology that makes decisions: its commands and its decisions. Commands and views are keyed by
 * the name of the object that they concern.
 * @template A the type of the answer, which must be representable as JSON
 */
export interface CommandFlow<C, V, A> {
  /** Name of the flow, and of its view in Redis. */
  readonly name: string
  readonly commands: Topic<string, Command<C>>
  /** Must have as many partitions as `commands`. */
  readonly decisions: Topic<string, Decision<V>>
  /** Never set. The property exists only to carry the type of the answer. */
  readonly answer?: A
}

interface FlowTopicOptions<T> {
  /** Format of a command's body or of a decision's view. It must be a record with its own schema file. */
  readonly value: ValueFormat<T>
  readonly partitions: number
  readonly productionPartitions: number
  readonly config: Readonly<Record<string, string>>
  readonly erases?: boolean
}

/** Declares a topic of commands whose bodies have the format `value`. */
export function commandTopic<C>(name: string, { value, ...options }: FlowTopicOptions<C>): Topic<string, Command<C>> {
  const body = recordOf(value.schema)
  const schema = {
    type: 'record',
    name: `${body.name}Envelope`,
    namespace: body.namespace,
    fields: [
      { name: 'command_id', type: 'string' },
      { name: 'reply_to', type: 'string' },
      { name: 'request_hash', type: 'string' },
      { name: 'deadline', type: { type: 'long', logicalType: 'timestamp-millis' } },
      { name: 'body', type: body },
    ],
  }
  return { name, key: utf8, value: avroValue<Command<C>>(schema), ...options }
}

/** Declares a topic of decisions whose views have the format `value`. */
export function decisionTopic<V>(name: string, { value, ...options }: FlowTopicOptions<V>): Topic<string, Decision<V>> {
  const view = recordOf(value.schema)
  const schema = {
    type: 'record',
    name: `${view.name}Decision`,
    namespace: view.namespace,
    fields: [
      { name: 'view', type: ['null', view], default: null },
      { name: 'result', type: ['null', loadSchema('commands/CommandResult')], default: null },
    ],
  }
  return { name, key: utf8, value: avroValue<Decision<V>>(schema), ...options }
}

function recordOf(schema: AvroSchema | undefined): { readonly name: string; readonly namespace: string } {
  return schema as unknown as { readonly name: string; readonly namespace: string }
}

/**
 * Prefix of the keys of results. Names of objects never contain a NUL, so the keys of results differ from all of them.
 */
const RESULT_KEY_PREFIX = '\0result-'
/**
 * Number of keys for results in each partition. The number limits how many results remain after compaction. Results
 * only need to reach the waiting client. If a result is lost, repeating the command returns it again.
 */
const RESULT_KEYS = 1_024

export function resultKey(sequence: number): string {
  return `${RESULT_KEY_PREFIX}${sequence % RESULT_KEYS}`
}
