import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { matchUsers } from '../../../pipelines/matches/users/topology.ts'
import {
  matchDeletions,
  matchEvents,
  matchNotifications,
  matchPairCommands,
  matchPairDecisions,
  matchSeen,
  matchSwipes,
  pairSwipes,
  swipeEvents,
} from '../../../schemas/matches/topics.ts'
import type { DesirabilitySwipe } from '../../../schemas/matches/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { positionsKey } from '../../../state/views/apply.ts'
import { MATCH_USERS_VIEW } from '../../../state/views/matches/users.ts'
import type { MatchesSystem } from '../../api/matches/system.ts'
import type { Logged } from '../log-reader.ts'
import { openLogs } from '../open-logs.ts'
import { RECOVERED } from '../recover.ts'
import type { Lists, Logs, TableRows, ViewSample } from './evidence.ts'
import type { Client } from './requests.ts'

const SAMPLE_EVERY_MS = 25
/** Page size. It is greater than the number of users in a round, so that each list fits on one page. */
const PAGE = 100
const MOST_CANDIDATES = 50
const READ_AGAIN_MS = 500
const KINDS_OF_THE_VIEW = /\}:(profile|self|seen):/

/** Reads what the services have written about the users of a round. */
export interface Observer {
  logs(): Promise<Logs>
  tables(): Promise<TableRows>
  /** Returns the keys of the view that Redis still contains although their users have left. */
  remainsOf(users: readonly string[]): Promise<string[]>
  close(): Promise<void>
}

export async function observer({ env, rowsOf, partitionsOf, redis }: MatchesSystem, users: readonly string[]): Promise<Observer> {
  const scored = matchUsers.declare().repartitions.get('scored') as unknown as Topic<string, DesirabilitySwipe>
  const public_ = [swipeEvents, matchSwipes, pairSwipes, matchPairCommands, matchPairDecisions, matchEvents, matchNotifications]
  const topics = [...public_, matchDeletions, matchSeen, scored].map((topic) => ({ ...topic, partitions: partitionsOf(topic) }))
  const reader = await openLogs(env, topics)
  const mine = new Set(users)
  const concerns = (key: string) => key.split(':').some((part) => mine.has(part))
  const all = <V>(topic: Topic<string, V>): Logged<V>[] => reader.of(topic).flat()
  const byKey = <V>(topic: Topic<string, V>): Logged<V>[] => all(topic).filter(({ key }) => concerns(key))

  return {
    async logs() {
      await reader.catchUp()
      return {
        swipeEvents: byKey(swipeEvents),
        matchSwipes: byKey(matchSwipes),
        pairSwipes: byKey(pairSwipes),
        pairCommands: byKey(matchPairCommands),
        // Leaves out tombstones. Each change of a pair causes one, because pairs have no view.
        pairDecisions: all(matchPairDecisions).filter(({ value }) => value !== null),
        matchEvents: all(matchEvents).filter(({ value }) => mine.has(value.user_a)),
        matchNotifications: byKey(matchNotifications),
        matchDeletions: byKey(matchDeletions),
        matchSeen: reader.of(matchSeen).map((log) => log.filter(({ key }) => concerns(key))),
        scored: byKey(scored),
      }
    },
    async tables() {
      const ids = users.map((id) => `'${id}'`).join(', ')
      const swipes = await rowsOf(
        `SELECT toString(swipe_id) AS swipe_id, direction, toUnixTimestamp64Milli(ts) AS at FROM match_swipes FINAL WHERE swiper_id IN (${ids})`,
      )
      const matches = await rowsOf(
        `SELECT toString(match_id) AS match_id, toString(conversation_id) AS conversation_id, toUnixTimestamp64Milli(matched_at) AS at FROM matches FINAL WHERE user_a IN (${ids})`,
      )
      return {
        swipes: swipes.map(({ swipe_id, direction, at }) => ({ swipe_id, direction, ts: Number(at) })) as TableRows['swipes'],
        matches: matches.map(({ match_id, conversation_id, at }) => ({
          match_id,
          conversation_id,
          matched_at: Number(at),
        })) as TableRows['matches'],
      }
    },
    async remainsOf(left) {
      const client = new Redis(redis.address)
      try {
        const keys = await client.keys('*')
        // Checks only the keys of the view. The API's own notes expire by themselves, and blocks by other users remain.
        return keys.filter((key) => KINDS_OF_THE_VIEW.test(key) && left.some((id) => key.endsWith(`:${id}`)))
      } finally {
        client.disconnect()
      }
    },
    close: () => reader.close(),
  }
}

/**
 * Reads the lists that a user sees.
 * @param place the user's place, as a query; if it differs from the last one, the feed searches again
 */
export async function listsOf(user: Client, api: number, place: string): Promise<Lists> {
  const read = async (kind: 'matches' | 'likes' | 'blocks' | 'feed', query: string) => {
    const until = Date.now() + RECOVERED.timeoutMs
    for (;;) {
      const { status, body } = await user.ask({ kind, api, path: `${kind}${query}` })
      if (status === 200) return body
      // A 503 is not an error here, because Redis may just have come back, or the machine may be busy. A 429 is not an
      // error either: lists are read every second until they are right, which may exceed the rate limit.
      if ((status !== 503 && status !== 429) || Date.now() > until)
        throw new Error(`${kind} of ${user.id}: ${status} ${JSON.stringify(body)}`)
      await delay(READ_AGAIN_MS)
    }
  }
  const ids = (list: readonly { user_id: string }[]) => list.map(({ user_id }) => user_id)
  const [matches, likes, blocks, feed] = await Promise.all([
    read('matches', `?limit=${PAGE}`),
    read('likes', ''),
    read('blocks', `?limit=${PAGE}`),
    read('feed', `?limit=${MOST_CANDIDATES}&${place}`),
  ])
  return { matches: matches.matches, likes: ids(likes.likes), blocks: ids(blocks.blocks), feed: ids(feed.candidates) }
}

/** Repeatedly records how much of `match-seen` the view includes, until `stop`. */
export function watchView(address: string, partitions: number): { readonly samples: readonly ViewSample[]; stop(): void } {
  const samples: ViewSample[] = []
  const redis = new Redis(address, { maxRetriesPerRequest: 0, retryStrategy: () => SAMPLE_EVERY_MS })
  redis.on('error', () => undefined)
  let isReading = false
  const timer = setInterval(async () => {
    if (isReading) return
    isReading = true
    for (let partition = 0; partition < partitions; partition++) {
      const next = await redis.hget(positionsKey(MATCH_USERS_VIEW, partition), matchSeen.name).catch(() => null)
      if (next !== null) samples.push({ at: Date.now(), partition, next: Number(next) })
    }
    isReading = false
  }, SAMPLE_EVERY_MS)
  return {
    samples,
    stop() {
      clearInterval(timer)
      redis.disconnect()
    },
  }
}
