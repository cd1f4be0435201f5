import { partitionFor } from '../../kafka/partitioner.ts'
import type { PublishAppender, Publisher, Receipt } from '../../kafka/transport.ts'
import { byteWriter, type Codec } from '../../schemas/codec.ts'
import type { Topic } from '../../schemas/topic.ts'

/** The parts of a topic that partitioning needs. */
export type KeyedTopic<K> = Pick<Topic<K, unknown>, 'name' | 'key'>

/**
 * Writes facts to one topic. Each fact is encoded immediately into the batch of its partition, so a waiting fact costs
 * only its bytes.
 */
export interface FactLog<K, V> {
  /**
   * Appends a fact to the log. If the call throws, the receipt is not used.
   * @param receipt reports whether the fact was written
   * @throws CodecError; TransportError if the publisher cannot accept facts at the moment
   */
  append(key: K, value: V | null, receipt: Receipt): void
}

export interface FactLogOptions<K, V> {
  readonly topic: KeyedTopic<K>
  readonly codec: Codec<V>
  readonly partitions: number
  readonly publisher: Publisher
  /** Epoch ms. */
  readonly now: () => number
}

export function factLog<K, V>({ topic, codec, partitions, publisher, now }: FactLogOptions<K, V>): FactLog<K, V> {
  const appenders: (PublishAppender | undefined)[] = []
  const keyBytes = byteWriter()
  const valueBytes = byteWriter()

  return {
    append(key, value, receipt) {
      keyBytes.length = 0
      valueBytes.length = 0
      topic.key.encode(key, keyBytes)
      if (value !== null) codec.encode(value, valueBytes)
      const partition = partitionFor(keyBytes.buffer, partitions, 0, keyBytes.length)
      appenders[partition] ??= publisher.appender(topic.name, partition)
      const valueBuffer = value === null ? null : valueBytes.buffer
      appenders[partition].append(receipt, now(), keyBytes.buffer, 0, keyBytes.length, valueBuffer, 0, valueBytes.length)
    },
  }
}
