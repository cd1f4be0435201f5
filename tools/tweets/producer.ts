import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import type { Transport } from '../../kafka/transport.ts'
import { tweets } from '../../schemas/trends/topics.ts'
import type { Tweet } from '../../schemas/trends/types.ts'
import { type TopicProducer, topicProducer } from '../topic-producer.ts'

/** Sends tweets, keyed by user. */
export interface TweetProducer extends Omit<TopicProducer<bigint, Tweet>, 'send'> {
  /** Queues the tweet without sending it. Call `flush` when the producer is full, and at intervals. */
  send(tweet: Tweet, timestamp: number): void
}

/** Creates a producer of tweets. Creates the topic if it does not exist, and registers its schema. */
export async function tweetProducer(transport: Transport, registry: SchemaRegistry): Promise<TweetProducer> {
  const producer = await topicProducer(tweets)(transport, registry)
  return {
    send: (tweet, timestamp) => producer.send(tweet.user_id, tweet, timestamp),
    sendBytes: producer.sendBytes,
    get isFull() {
      return producer.isFull
    },
    flush: producer.flush,
    close: producer.close,
  }
}
