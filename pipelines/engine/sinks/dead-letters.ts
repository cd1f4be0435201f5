import { partitionFor } from '../../../kafka/partitioner.ts'
import type { RecordChunk, Transport } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import { deadLetterParts } from '../task/dead-letter.ts'
import { deadLetterSpec } from '../topology/internal-topics.ts'
import type { RecordOrigin } from './deliveries/retry-record.ts'

/** A record that a sink sends to its dead-letter topic, and the reason. */
export interface SinkDeadLetter {
  readonly chunk: RecordChunk
  readonly row: number
  readonly code: string
  readonly message: string
  /**
   * The topic, partition, offset, timestamp and headers that the record had before it was moved to the retry topic. By
   * default, the values in `chunk` are used, which are correct if the record was not read from the retry topic.
   */
  readonly origin?: RecordOrigin
}

/**
 * Stores the records that a sink cannot use, with their source and the reason. The name of the dead-letter topic and
 * the headers of the dead letters have the same form as in a topology.
 */
export interface SinkDeadLetters {
  /** Resolves when the brokers have acknowledged all of these dead letters. */
  send(bad: readonly SinkDeadLetter[]): Promise<void>
  close(): Promise<void>
}

/** The name of the processor in the dead letters of a sink: empty, because a sink has no processors. */
const NO_PROCESSOR = ''
const NO_OFFSETS = new Map()

/**
 * Creates the writer of a sink's dead letters.
 * @param sink the sink's name; the dead-letter topic is `<sink>-dead-letters`
 * @param sources the topics of the sink, without its retry topic. Their `erases` and `erasesKeys` determine which
 * values and keys are left out of the dead letters
 */
export function kafkaDeadLetters(
  transport: Transport,
  sink: string,
  sources: readonly Pick<AnyTopic, 'name' | 'erases' | 'erasesKeys'>[],
  runtime: Pick<Runtime, 'now'>,
): SinkDeadLetters {
  const topic = deadLetterSpec(sink)
  const sourceOf = new Map(sources.map((source) => [source.name, source]))
  let ready: Promise<ReturnType<Transport['producer']>> | undefined
  let last: Promise<unknown> = Promise.resolve()

  /** The producer is opened on first use, because most sinks never need it. */
  async function openProducer(): Promise<ReturnType<Transport['producer']>> {
    await transport.ensureTopics([topic])
    const producer = transport.producer({})
    try {
      await producer.init()
      return producer
    } catch (error) {
      await producer.close()
      throw error
    }
  }

  function send(bad: readonly SinkDeadLetter[]): Promise<void> {
    // All partitions share one producer, which can run only one commit at a time.
    const sent = last.then(() => sendNow(bad))
    last = sent.catch(() => {})
    return sent
  }

  async function sendNow(bad: readonly SinkDeadLetter[]): Promise<void> {
    ready ??= openProducer().catch((error) => {
      ready = undefined
      throw error
    })
    const producer = await ready
    const appender = producer.appender(topic.name, partitionFor(Buffer.from(sink), topic.partitions))
    try {
      for (const { chunk, row, origin, ...reason } of bad) {
        const { erases, erasesKeys } = sourceOf.get(origin?.topic ?? chunk.topic) ?? {}
        const cause = { topology: sink, processor: NO_PROCESSOR, erases, erasesKeys, ...reason }
        const { headers, keyEnd, valueEnd } = deadLetterParts(chunk, row, cause, origin)
        const { buffer, keyStart, valueStart } = chunk
        const key = keyStart[row] < 0 ? null : buffer
        const value = valueStart[row] < 0 ? null : buffer
        appender.append(runtime.now(), key, keyStart[row], keyEnd, value, valueStart[row], valueEnd, headers)
      }
      await producer.commit(NO_OFFSETS, undefined)
    } catch (error) {
      // The producer may be fenced, or the outcome of its commit may be unknown. It is therefore closed. When the
      // caller sends the dead letters again, a new producer writes them, because a duplicate is better than a loss.
      ready = undefined
      await producer.close().catch(() => {})
      throw error
    }
  }

  async function close(): Promise<void> {
    await last
    await (await ready?.catch(() => undefined))?.close()
  }

  return { send, close }
}
