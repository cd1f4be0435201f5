import { partitionFor } from '../../kafka/partitioner.ts'
import { FencedError, type OffsetToCommit, type RecordAppender, type WorkerProducer } from '../../kafka/transport.ts'
import { byteWriter, type Codec } from '../../schemas/codec.ts'
import type { Topic } from '../../schemas/topic.ts'

/**
 * Facts of one topic on their way to Kafka. Each is encoded at once, into the batch of its partition: what waits costs its bytes and no objects,
 * and sending is a request and nothing else. In order per partition, and each once: what is repeated has its number.
 */
export interface FactLog<K, V> {
  /** Throws CodecError. */
  append(key: K, value: V): void
  /** Facts that are not acknowledged. */
  readonly pending: number
  /**
   * One at a time. Rejects when not all that was appended before could be sent: what was not stays for the next call.
   * Throws FactsLostError.
   * @returns how many were acknowledged
   */
  send(): Promise<number>
}

/** The broker does not know the producer any more: nobody can say what of it has arrived, and nothing of it is sent again. */
export class FactsLostError extends Error {
  override readonly name = 'FactsLostError'
  readonly count: number
  constructor(count: number, cause: Error) {
    super(`${count} facts may be lost: ${cause.message}`, { cause })
    this.count = count
  }
}

export interface FactLogOptions<K, V> {
  readonly topic: Topic<K, V>
  readonly codec: Codec<V>
  readonly partitions: number
  /** Initialised, without transactions, of this log alone. */
  readonly producer: WorkerProducer
  /** Epoch ms. */
  readonly now: () => number
}

const NO_OFFSETS: ReadonlyMap<string, OffsetToCommit> = new Map()

export function factLog<K, V>({ topic, codec, partitions, producer, now }: FactLogOptions<K, V>): FactLog<K, V> {
  const appenders: (RecordAppender | undefined)[] = []
  const keyBytes = byteWriter()
  const valueBytes = byteWriter()
  let pending = 0

  async function beginAnew(cause: FencedError): Promise<FactsLostError> {
    await producer.init()
    const lost = pending
    pending = 0
    return new FactsLostError(lost, cause)
  }

  return {
    append(key, value) {
      keyBytes.length = 0
      valueBytes.length = 0
      topic.key.encode(key, keyBytes)
      codec.encode(value, valueBytes)
      const partition = partitionFor(keyBytes.buffer, partitions, 0, keyBytes.length)
      appenders[partition] ??= producer.appender(topic.name, partition)
      appenders[partition].append(now(), keyBytes.buffer, 0, keyBytes.length, valueBytes.buffer, 0, valueBytes.length)
      pending++
    },
    get pending() {
      return pending
    },
    async send() {
      const sending = pending
      try {
        await producer.commit(NO_OFFSETS, undefined)
      } catch (error) {
        throw error instanceof FencedError ? await beginAnew(error) : error
      }
      pending -= sending
      return sending
    },
  }
}
