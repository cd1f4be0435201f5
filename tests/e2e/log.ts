import { join } from 'node:path'
import type { Tweet } from '../../schemas/trends/types.ts'
import { runPython } from '../stack/python.ts'
import type { System } from './system.ts'

const READER = join(import.meta.dirname, 'read_topics.py')
const TIMEOUT_MS = 120_000

interface Logged<V> {
  readonly partition: number
  readonly offset: number
  readonly timestamp: number
  readonly key: string | null
  readonly value: V
}

type EntryTuple = [
  term: string,
  volume: number,
  variants: string[],
  velocityVsUsual: number,
  score: number,
  label: string | null,
  users: number | null,
]

/** A list as the pipeline published it. */
export interface PublishedList {
  readonly woeid: number
  readonly window_end: number
  readonly source: string
  readonly missing_partitions: number
  readonly entries: readonly PublishedEntry[]
}

export interface PublishedEntry {
  readonly term: string
  readonly tweet_volume: number
  /** Names of the terms folded into this term. */
  readonly variants: readonly string[]
  readonly velocity_vs_usual: number
  readonly score: number
  readonly label: string | null
  readonly users: number | null
}

/** A tweet in the log. */
export interface LoggedTweet {
  readonly tweet: Tweet
  /** Timestamp of the record, epoch ms. */
  readonly timestamp: number
  /** Time at which a reader found the record in the log, epoch ms. */
  readonly foundAt: number
}

/**
 * Reads topics with an independent consumer (librdkafka, read_committed). Each call returns the records that arrived
 * since its topics were last read.
 */
export interface LogReader {
  /** Returns the tweets in log order, partition by partition, without records that are not tweets. */
  tweets(): Promise<LoggedTweet[]>
  /** Returns the lists of `trend-output` and `trend-renewals`. */
  lists(): Promise<PublishedList[]>
  /** Returns the values of any topic, as latin1 text. */
  raw(topic: string): Promise<string[]>
}

export function logReader(system: Pick<System, 'kafka' | 'registry'>): LogReader {
  const positions: Record<string, Record<string, number>> = {}

  async function read<V>(topics: readonly string[]): Promise<Record<string, { records: Logged<V>[] }>> {
    const from = Object.fromEntries(topics.map((topic) => [topic, positions[topic] ?? {}]))
    const request = { brokers: system.kafka.address, registry: system.registry.address, from }
    const answer = JSON.parse(await runPython(READER, { input: JSON.stringify(request), timeoutMs: TIMEOUT_MS }))
    for (const topic of topics) positions[topic] = answer[topic].next
    return answer
  }

  return {
    async tweets() {
      const { tweets } = await read<(Omit<Tweet, 'tweet_id' | 'user_id'> & { tweet_id: string; user_id: string }) | null>(['tweets'])
      const foundAt = Date.now()
      const inOrder = tweets.records.toSorted((a, b) => a.partition - b.partition || a.offset - b.offset)
      return inOrder.flatMap(({ timestamp, value }) =>
        value === null
          ? []
          : [{ timestamp, foundAt, tweet: { ...value, tweet_id: BigInt(value.tweet_id), user_id: BigInt(value.user_id) } }],
      )
    },
    async lists() {
      type Shape = Omit<PublishedList, 'entries'> & { entries: EntryTuple[] }
      const found = await read<Shape>(['trend-output', 'trend-renewals'])
      return Object.values(found).flatMap(({ records }) =>
        records.map(({ value }) => ({
          ...value,
          entries: value.entries.map(([term, tweet_volume, variants, velocity_vs_usual, score, label, users]) => ({
            term,
            tweet_volume,
            variants,
            velocity_vs_usual,
            score,
            label,
            users,
          })),
        })),
      )
    },
    async raw(topic) {
      return (await read<string>([topic]))[topic].records.map(({ value }) => value)
    },
  }
}
