import { avroValue } from '../avro/value.ts'
import { utf8 } from '../keys.ts'
import { loadSchema } from '../load.ts'
import type { AvroSchema, Topic, ValueFormat } from '../topic.ts'
import type { CommandResult } from './types.ts'

/** What a client asks a deciding topology for; `body` is the service's own. */
export interface Command<C> {
  readonly command_id: string
  /** The API instance that waits for the result. */
  readonly reply_to: string
  /** Of the request: the same id with another one is a conflict. */
  readonly request_hash: string
  /** Epoch ms; afterwards nobody wants it any more. */
  readonly deadline: number
  readonly body: C
}

/**
 * A change of what clients read (under its key), or the result of a command (under a key of `resultKey`), in one topic, so that a sink
 * applies them in the order in which they were decided. A tombstone: what clients read is gone.
 */
export interface Decision<V> {
  readonly view: V | null
  readonly result: CommandResult | null
}

/**
 * The two topics of a service that decides. Keys are names of the things that are decided about.
 * @template A the answer: anything that JSON holds
 */
export interface CommandFlow<C, V, A> {
  /** Also the name of the view in Redis. */
  readonly name: string
  readonly commands: Topic<string, Command<C>>
  /** As many partitions as `commands`. */
  readonly decisions: Topic<string, Decision<V>>
  /** Never there: it carries the type of the answer. */
  readonly answer?: A
}

interface FlowTopicOptions<T> {
  /** A record of its own file. */
  readonly value: ValueFormat<T>
  readonly partitions: number
  readonly productionPartitions: number
  readonly config: Readonly<Record<string, string>>
}

/** The topic `name` of commands whose body is `value`. */
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

/** The compacted topic `name` of decisions about things whose view is `value`. */
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

/** Names hold no NUL, so these are no names. */
const RESULT_KEY_PREFIX = '\0result-'
/**
 * Results are on their way to whoever waits, not history: compaction keeps this many per partition. Where one is lost, the same
 * command asks again.
 */
const RESULT_KEYS = 1_024

export function resultKey(sequence: number): string {
  return `${RESULT_KEY_PREFIX}${sequence % RESULT_KEYS}`
}
