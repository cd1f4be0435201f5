import { partitionFor } from '../../kafka/partitioner.ts'
import { openSerdes, type Serdes } from '../../kafka/serdes.ts'
import { trends } from '../../pipelines/trends/topology.ts'
import { byteWriter } from '../../schemas/codec.ts'
import { pathOf, WORLDWIDE } from '../../schemas/trends/places/regions.ts'
import { trendOutput, trendRenewals, tweets } from '../../schemas/trends/topics.ts'
import type { TrendOutput, Tweet } from '../../schemas/trends/types.ts'
import type { Cluster } from './cluster/cluster.ts'
import { committedRecords } from './read-log.ts'
import type { InputTimes, Subject } from './subject.ts'

/** WOEIDs of the places that tweets come from: New York, Chicago, London, the United States and the world. */
const PLACES = [2459115, 2379574, 44418, 23424977, WORLDWIDE] as const
const TERMS = ['sandy', 'obama', 'rain'] as const
const MINUTE_MS = 60_000
/** How long the pipeline delays a renewal, so that tweets in flight arrive first. */
const ARRIVAL_DELAY_MS = 2_000
const MAX_SHOWN = 5

interface Sent {
  readonly number: number
  readonly term: string
  readonly woeids: readonly number[]
  readonly createdAt: number
}

/** The trends pipeline, with tweets by distinct users in a few places. */
export function trendsSubject({ partitions }: { readonly partitions: number }): Subject {
  const sent: Sent[] = []
  let serdes: Serdes | undefined

  function bytesOf(tweet: Tweet): Buffer {
    const out = byteWriter()
    serdes?.codecFor(tweets).encode(tweet, out)
    return Buffer.from(out.buffer.subarray(0, out.length))
  }

  /** Returns the published lists of whole and half minutes, in one array for each partition of the two topics. */
  function lists(cluster: Cluster): TrendOutput[][] {
    return [trendOutput, trendRenewals].flatMap((topic) =>
      committedRecords(cluster, topic.name).map((records) =>
        records.map(({ bytes }) => (serdes as Serdes).codecFor(topic).decode(bytes, 0, bytes.length)),
      ),
    )
  }

  /**
   * Returns the lowest and highest correct count of a term in a region. A list must count all tweets that were
   * acknowledged before the pipeline made the list, and it may count all tweets from before the end of its window.
   */
  function counts(woeid: number, term: string, windowEnd: number, { acknowledgedAt }: InputTimes): readonly [least: number, most: number] {
    // A window that ends halfway through a minute includes that whole minute.
    const upTo = Math.ceil(windowEnd / MINUTE_MS) * MINUTE_MS
    const all = sent.filter((tweet) => tweet.term === term && tweet.woeids.includes(woeid) && tweet.createdAt < upTo)
    const there = ({ number }: Sent) => (acknowledgedAt.get(number) ?? Number.POSITIVE_INFINITY) < windowEnd + ARRIVAL_DELAY_MS
    return [all.filter(there).length, all.length]
  }

  /**
   * Returns the errors in a list. In production, a list may lack up to a quarter of the partitions. Worlds have at most
   * three partitions, so here no partition may be missing.
   */
  function listFaults({ woeid, window_end, entries, missing_partitions }: TrendOutput, times: InputTimes): string[] {
    if (missing_partitions > 0) return [`region ${woeid} has a list at ${window_end} without ${missing_partitions} partitions`]
    return TERMS.flatMap((term) => {
      const volume = entries.find((entry) => entry.term === term)?.tweet_volume ?? 0
      const [least, most] = counts(woeid, term, window_end, times)
      return volume >= least && volume <= most ? [] : [`region ${woeid} has ${volume} of ${term} at ${window_end}, not ${least} to ${most}`]
    })
  }

  /**
   * Describes each count in the newest lists that differs from the number of all tweets with the term in the region.
   */
  function unfinished(cluster: Cluster): string[] {
    const newest = new Map<number, TrendOutput>()
    for (const list of lists(cluster).flat()) if (list.window_end >= (newest.get(list.woeid)?.window_end ?? 0)) newest.set(list.woeid, list)
    return [...new Set(sent.flatMap(({ woeids }) => woeids))].flatMap((woeid) =>
      TERMS.flatMap((term) => {
        const all = sent.filter((tweet) => tweet.term === term && tweet.woeids.includes(woeid)).length
        const is = newest.get(woeid)?.entries.find((entry) => entry.term === term)?.tweet_volume ?? 0
        return is === all ? [] : [`the newest list of region ${woeid} has ${is} of ${term} instead of ${all}`]
      }),
    )
  }

  function orderFaults(published: readonly TrendOutput[]): string[] {
    const last = new Map<number, number>()
    return published.flatMap(({ woeid, window_end }) => {
      const before = last.get(woeid)
      last.set(woeid, window_end)
      return before === undefined || window_end > before
        ? []
        : [`region ${woeid} has the list of ${window_end} after the list of ${before}`]
    })
  }

  return {
    topology: trends,
    inputs: [
      { ...tweets, partitions },
      ...['drawn-cells', 'listed'].map((name) => ({ name: `trends-${name}-repartition`, partitions })),
      { name: 'trends-reports-repartition', partitions: 2 },
      { ...trendOutput, partitions: 1 },
      { ...trendRenewals, partitions: 1 },
    ],
    async prepare(registry, runtime) {
      serdes = await openSerdes(registry, [tweets, trendOutput, trendRenewals], { runtime })
    },
    input(number, random, now) {
      const woeid = PLACES[Math.floor(random() * PLACES.length)]
      const term = TERMS[Math.floor(random() * TERMS.length)]
      sent.push({ number, term, woeids: pathOf(woeid) ?? [WORLDWIDE], createdAt: now })
      const [id, key] = [BigInt(number + 1), String(number + 1)]
      const tweet = { tweet_id: id, user_id: id, text: '', hashtags: [term], phrases: [], lang: 'en', woeid, bot_score: 0, created_at: now }
      return [{ topic: tweets.name, partition: partitionFor(Buffer.from(key), partitions), key, value: bytesOf(tweet), timestamp: now }]
    },
    end: () => [],
    isComplete: (cluster) => unfinished(cluster).length === 0,
    deviations(cluster, _sent, times) {
      const published = lists(cluster)
      return [
        ...published.flatMap(orderFaults),
        ...published.flat().flatMap((list) => listFaults(list, times)),
        ...unfinished(cluster),
        ...committedRecords(cluster, 'trends-dead-letters')
          .flat()
          .map(() => 'a tweet is a dead letter'),
      ].slice(0, MAX_SHOWN)
    },
  }
}
