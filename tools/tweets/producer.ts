import { partitionFor } from '../../kafka/partitioner.ts'
import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import { openSerdes } from '../../kafka/serdes.ts'
import type { RecordAppender, Transport } from '../../kafka/transport.ts'
import { byteWriter } from '../../schemas/codec.ts'
import { tweets } from '../../schemas/trends/topics.ts'
import type { Tweet } from '../../schemas/trends/types.ts'

/** Bytes that may wait unsent before `isFull` asks for a flush. */
const FULL_BYTES = 4 * 1024 * 1024

/** Sends tweets as any producer of the platform does: Avro in the registry's format, keyed by user, placed by murmur2. */
export interface TweetProducer {
  /** Only queues: call `flush` when it is full, and from time to time. */
  send(tweet: Tweet, timestamp: number): void
  /** Bytes that are no tweet. */
  sendBytes(key: string, value: Uint8Array, timestamp: number): void
  readonly isFull: boolean
  /** Resolves when all is acknowledged. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** Creates the topic where it is missing and registers its schema. */
export async function tweetProducer(transport: Transport, registry: SchemaRegistry): Promise<TweetProducer> {
  const { name, partitions, config } = tweets
  await transport.ensureTopics([{ name, partitions: (await transport.partitionCounts([name])).get(name) ?? partitions, config }])
  const count = (await transport.partitionCounts([name])).get(name) as number
  const values = (await openSerdes(registry, [tweets])).codecFor(tweets)
  const producer = transport.producer({ compression: 'lz4' })
  await producer.init()
  const appenders: RecordAppender[] = Array.from({ length: count }, (_, partition) => producer.appender(name, partition))
  const key = byteWriter()
  const value = byteWriter()

  function append(timestamp: number, bytes: Uint8Array, length: number): void {
    const partition = partitionFor(key.buffer.subarray(0, key.length), count)
    appenders[partition].append(timestamp, key.buffer, 0, key.length, bytes, 0, length)
  }

  return {
    send(tweet, timestamp) {
      key.length = 0
      value.length = 0
      tweets.key.encode(tweet.user_id, key)
      values.encode(tweet, value)
      append(timestamp, value.buffer, value.length)
    },
    sendBytes(text, bytes, timestamp) {
      key.length = 0
      key.reserve(text.length)
      key.length = key.buffer.write(text, 0, 'latin1')
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
