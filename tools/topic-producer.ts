import { partitionFor } from '../kafka/partitioner.ts'
import type { SchemaRegistry } from '../kafka/registry-interface.ts'
import { openSerdes } from '../kafka/serdes.ts'
import type { RecordAppender, Transport } from '../kafka/transport.ts'
import { byteWriter } from '../schemas/codec.ts'
import type { Topic } from '../schemas/topic.ts'

/** Number of unsent bytes above which `isFull` is true. */
const FULL_BYTES = 4 * 1024 * 1024

/**
 * Sends records like any producer of the platform: Avro in the registry's format, partitioned by the murmur2 hash of
 * the key.
 */
export interface TopicProducer<K, V> {
  /** Queues the record without sending it. Call `flush` when the producer is full, and at intervals. */
  send(key: K, value: V, timestamp: number): void
  /** Queues a record with arbitrary bytes as its value, which may violate the topic's format. */
  sendBytes(key: string, value: Uint8Array, timestamp: number): void
  readonly isFull: boolean
  /** Resolves when all records are acknowledged. */
  flush(): Promise<void>
  close(): Promise<void>
}

/**
 * Returns a function that opens producers of a topic. A producer creates the topic if it does not exist, and registers
 * its schema.
 * @param partitionBy returns the bytes whose hash determines the partition of a key; the default is the key itself
 */
export function topicProducer<K, V>(topic: Topic<K, V>, partitionBy?: (key: K) => Uint8Array) {
  return async function openTopicProducer(transport: Transport, registry: SchemaRegistry): Promise<TopicProducer<K, V>> {
    const { name, partitions, config } = topic
    await transport.ensureTopics([{ name, partitions: (await transport.partitionCounts([name])).get(name) ?? partitions, config }])
    const count = (await transport.partitionCounts([name])).get(name) as number
    const values = (await openSerdes(registry, [topic])).codecFor(topic)
    const producer = transport.producer({ compression: 'lz4' })
    await producer.init()
    const appenders: RecordAppender[] = Array.from({ length: count }, (_, partition) => producer.appender(name, partition))
    const keyBytes = byteWriter()
    const valueBytes = byteWriter()

    function append(timestamp: number, bytes: Uint8Array, length: number, hashed?: Uint8Array): void {
      const partition = partitionFor(hashed ?? keyBytes.buffer.subarray(0, keyBytes.length), count)
      appenders[partition].append(timestamp, keyBytes.buffer, 0, keyBytes.length, bytes, 0, length)
    }

    return {
      send(key, value, timestamp) {
        keyBytes.length = 0
        valueBytes.length = 0
        topic.key.encode(key, keyBytes)
        values.encode(value, valueBytes)
        append(timestamp, valueBytes.buffer, valueBytes.length, partitionBy?.(key))
      },
      sendBytes(text, bytes, timestamp) {
        keyBytes.length = 0
        keyBytes.reserve(text.length)
        keyBytes.length = keyBytes.buffer.write(text, 0, 'latin1')
        append(timestamp, bytes, bytes.length)
      },
      get isFull() {
        return producer.pendingBytes > FULL_BYTES
      },
      async flush() {
        await producer.commit(new Map(), undefined)
      },
      close: () => producer.close(),
    }
  }
}
