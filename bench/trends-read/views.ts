import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { partitionFor } from '../../kafka/partitioner.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import { trendOutput, trendRenewals, userInterests } from '../../schemas/trends/topics.ts'
import { listBytesOf } from '../../schemas/trends/trend-list-bytes.ts'
import type { TrendEntry, TrendOutput } from '../../schemas/trends/types.ts'
import { positionsKey } from '../../state/views/apply.ts'
import { INTERESTS_VIEW, interestsView } from '../../state/views/trends/interests.ts'
import { TRENDS_VIEW, trendsView } from '../../state/views/trends/trends.ts'
import { caughtUpKey, VALUE_FIELD, VERSION_FIELD, type ViewOperation } from '../../state/views/view.ts'

const CANDIDATES = 500
const RENEWAL_MS = 30_000
const TOPICS_PER_PROFILE = 50
const SAMPLE_ID = 1_234_567_890_123_456_789n

/**
 * Writes a full list for every region and a profile for each of the users, and marks both views as caught up. Renews
 * the lists twice a minute, as the pipeline does.
 */
export async function keepViewsFresh(redisUrl: string, users: readonly bigint[]) {
  const redis = new Redis(redisUrl)
  const stopping = new AbortController()
  let offset = 0

  async function apply(operations: readonly ViewOperation[]): Promise<void> {
    const pipeline = redis.pipeline()
    for (const operation of operations) {
      if (operation.op === 'setIfNewer') pipeline.hset(operation.key, VERSION_FIELD, operation.version, VALUE_FIELD, operation.value)
      else if (operation.op === 'set') pipeline.set(operation.key, operation.value)
    }
    await pipeline.exec()
  }

  async function renew(): Promise<void> {
    const windowEnd = Date.now()
    for (const { woeid } of regions) {
      const partition = partitionOf(trendOutput.partitions, woeid)
      await apply(trendsView.operationsFor(partition, woeid, listBytesOf(listOf(woeid, windowEnd))))
      await redis.hset(positionsKey(TRENDS_VIEW, partition), { [trendOutput.name]: ++offset, [trendRenewals.name]: 0 })
    }
  }

  async function renewAlways(): Promise<void> {
    while (!stopping.signal.aborted) {
      await delay(RENEWAL_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (!stopping.signal.aborted) await renew()
    }
  }

  await renew()
  for (const userId of users)
    await apply(interestsView.operationsFor(partitionOf(userInterests.partitions, userId), userId, profileOf(userId)))
  for (const [view, partitions] of [
    [TRENDS_VIEW, trendOutput.partitions],
    [INTERESTS_VIEW, userInterests.partitions],
  ] as const) {
    for (let partition = 0; partition < partitions; partition++) await redis.set(caughtUpKey(view, partition), Date.now())
  }
  const renewing = renewAlways()
  return {
    memoryMib: async () => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1] ?? 0) / 2 ** 20,
    async stop() {
      stopping.abort()
      await renewing
      redis.disconnect()
    },
  }
}

function partitionOf(partitions: number, key: number | bigint): number {
  return partitionFor(Buffer.from(String(key)), partitions)
}

function listOf(woeid: number, windowEnd: number): TrendOutput {
  return {
    woeid,
    window_end: windowEnd,
    source: 'pipeline',
    missing_partitions: 0,
    entries: Array.from({ length: CANDIDATES }, (_, index) => entryOf(index, windowEnd)),
  }
}

function entryOf(index: number, windowEnd: number): TrendEntry {
  const volume = 100_000 - index * 150
  return {
    term: `trending topic ${index}`,
    name: `#TrendingTopic${index}`,
    tweet_volume: volume,
    volume_24h: volume * 9,
    velocity: 1 + 1 / (index + 3),
    velocity_vs_usual: 12 / (index + 1),
    score: volume * Math.log2(1 + 12 / (index + 1)),
    label: index === 0 ? 'Viral' : index < 3 ? 'Trending' : null,
    trending_since: windowEnd - 60_000 * index,
    sample_tweets: [SAMPLE_ID, SAMPLE_ID + 1n, SAMPLE_ID + 2n],
    rank_change: (index % 5) - 2,
    peak_rank: index + 1,
    lang: 'en',
    users: 9_000 - index,
    variants: index % 10 === 0 ? [`trend${index}`, `the trend ${index}`] : [],
    related: index < 100 ? [`#trend${index + 1}`, `#trend${index + 2}`] : [],
    typical_tweet: index < 100 ? SAMPLE_ID : null,
  }
}

function profileOf(userId: bigint) {
  const topics = Array.from({ length: TOPICS_PER_PROFILE }, (_, index) => `Trending topic ${(index * 7) % CANDIDATES}`)
  return {
    user_id: userId,
    topic_weights: Object.fromEntries(topics.map((topic, index) => [topic, index / 10])),
    exclude_topics: ['#trending topic 0'],
    updated_at: Date.now(),
  }
}
