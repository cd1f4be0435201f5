import { setTimeout as delay } from 'node:timers/promises'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import type { Transport } from '../../kafka/transport.ts'
import { systemRuntime } from '../../runtime/system.ts'
import type { Tweet } from '../../schemas/trends/types.ts'
import { type TweetProducer, tweetProducer } from '../../tools/tweets/producer.ts'
import type { KnownTweet } from './expected.ts'
import type { LoggedTweet } from './log.ts'
import type { System } from './system.ts'

/** Interval between checks for due events. */
const STRIDE_MS = 100
const RETRY_MS = 250
const NO_TWEET = Buffer.from('no tweet')

/** A record to send. A record without a tweet has a value that cannot be decoded. */
export interface LiveEvent {
  /** Epoch ms. */
  readonly at: number
  readonly tweet: Tweet | undefined
}

/** A producer that notes when each tweet was acknowledged, and continues after failures. */
export interface LiveTweets {
  /**
   * Adds the acknowledgement times to the tweets in the log. After a failure, a tweet may be in the log twice. In that
   * case, the first record gets the time.
   */
  known(log: readonly LoggedTweet[]): KnownTweet[]
  /** Ends the input. Resolves when all tweets that were sent are acknowledged. */
  stop(): Promise<void>
  readonly sent: number
}

/** Sends each event at its time, until `stop` is called. */
export function liveTweets(system: Pick<System, 'kafka' | 'registry'>, next: () => LiveEvent): LiveTweets {
  const acknowledgedAt = new Map<bigint, number>()
  let stopping = false
  let sent = 0
  const ended = run()

  async function run(): Promise<void> {
    let unacknowledged: LiveEvent[] = []
    let waiting = next()
    while (!stopping || unacknowledged.length > 0) {
      const transport = newTransport()
      try {
        await transport.connect()
        const producer = await tweetProducer(transport, registryClient({ url: system.registry.address }))
        for (const event of unacknowledged) send(producer, event)
        for (;;) {
          for (; !stopping && waiting.at <= Date.now(); waiting = next()) {
            unacknowledged.push(waiting)
            send(producer, waiting)
          }
          await producer.flush()
          const now = Date.now()
          for (const { tweet } of unacknowledged) if (tweet !== undefined) acknowledgedAt.set(tweet.tweet_id, now)
          sent += unacknowledged.length
          unacknowledged = []
          if (stopping) return
          await delay(STRIDE_MS)
        }
      } catch {
        await delay(RETRY_MS)
      } finally {
        await transport.close().catch(() => undefined)
      }
    }
  }

  function newTransport(): Transport {
    return kafkaTransport({ brokers: [system.kafka.address], clientId: 'live-tweets' }, { runtime: systemRuntime() })
  }

  return {
    known(log) {
      const counted = new Set<bigint>()
      return log.map(({ tweet, timestamp, foundAt }) => {
        const isFirst = !counted.has(tweet.tweet_id)
        counted.add(tweet.tweet_id)
        const known = isFirst ? acknowledgedAt.get(tweet.tweet_id) : undefined
        return { tweet, sentAt: timestamp, acknowledgedAt: Math.min(known ?? Number.POSITIVE_INFINITY, foundAt) }
      })
    },
    async stop() {
      stopping = true
      await ended
    },
    get sent() {
      return sent
    },
  }
}

function send(producer: TweetProducer, { at, tweet }: LiveEvent): void {
  if (tweet === undefined) producer.sendBytes(String(at), NO_TWEET, at)
  else producer.send(tweet, at)
}
