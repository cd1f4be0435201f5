import { pathOf } from '../../../schemas/trends/places/regions.ts'
import { foldTerm } from '../../../schemas/trends/term.ts'
import type { TrendEntry, Tweet } from '../../../schemas/trends/types.ts'

/**
 * Computes what the trends service must publish from a list of tweets, in the simplest way: nothing is incremental, and
 * the pipeline shares only the identity of terms and the table of places. Valid for the first week, in which no term
 * has a baseline.
 */
export interface SentTweet {
  readonly tweet: Tweet
  /** Time of production, epoch ms. */
  readonly sentAt: number
}

interface Contribution {
  readonly woeids: readonly number[]
  readonly term: string
  readonly original: string
  readonly minute: number
  readonly tweet: Tweet
  readonly sentAt: number
}

export type OfflineEntry = Omit<TrendEntry, 'trending_since'>

/** How long renewals wait for tweets in flight. */
const ARRIVAL_DELAY_MS = 2_000
const MINUTE_MS = 60_000
const RENEWAL_MS = 30_000
const LISTED_TERMS = 500
/** A region labels nothing before. */
const LABELS_AFTER_MS = 120 * MINUTE_MS
const MAX_SEARCHED_MS = 24 * 60 * MINUTE_MS

export interface Offline {
  /**
   * Returns every region's list at a window's end, best first, with at most 500 entries. Regions without entries are
   * absent.
   */
  listsAt(windowEnd: number): Map<number, OfflineEntry[]>
  /** Returns the counts so far in a region, by term and minute (epoch ms of its start). */
  volumes(woeid: number): Map<string, Map<number, number>>
}

/** @param sent in the order in which each user's tweets were sent */
export function offlineTrends(sent: readonly SentTweet[]): Offline {
  const contributions = countedContributions(sent)
  const firstLists = new Map<number, number>()

  function listsAt(windowEnd: number): Map<number, OfflineEntry[]> {
    const known = contributions.filter((each) => each.sentAt <= windowEnd + ARRIVAL_DELAY_MS)
    const lists = new Map<number, OfflineEntry[]>()
    for (const [woeid, terms] of byRegionAndTerm(known)) {
      const mean = meanOfTerms(woeid, windowEnd - MINUTE_MS)
      const labels = mayLabel(woeid, windowEnd)
      const entries = [...terms]
        .map(([term, all]) => entryOf(term, all, windowEnd, { mean, labels }))
        .filter((entry) => entry.tweet_volume > 0)
      entries.sort((a, b) => b.score - a.score || (a.term < b.term ? -1 : 1))
      if (entries.length > 0) lists.set(woeid, entries.slice(0, LISTED_TERMS))
    }
    return lists
  }

  /** Returns the mean count of the region's best 500 terms at an earlier window's end; 0 before the first renewal. */
  function meanOfTerms(woeid: number, windowEnd: number): number {
    const known = contributions.filter((each) => each.woeids.includes(woeid) && each.sentAt <= windowEnd + ARRIVAL_DELAY_MS)
    const counts = [...(byRegionAndTerm(known).get(woeid)?.values() ?? [])].map((all) => countIn(all, windowEnd))
    const best = counts
      .filter((count) => count > 0)
      .sort((a, b) => b - a)
      .slice(0, LISTED_TERMS)
    return best.length === 0 ? 0 : best.reduce((sum, count) => sum + count, 0) / best.length
  }

  /** Returns whether the region's first list with terms was at least two hours before. */
  function mayLabel(woeid: number, windowEnd: number): boolean {
    return firstListOf(woeid) <= windowEnd - LABELS_AFTER_MS
  }

  function firstListOf(woeid: number): number {
    const known = firstLists.get(woeid)
    if (known !== undefined) return known
    const own = contributions.filter((each) => each.woeids.includes(woeid))
    const earliest = Math.min(...own.map((each) => Math.ceil((each.sentAt - ARRIVAL_DELAY_MS) / RENEWAL_MS) * RENEWAL_MS))
    let first = earliest
    while (
      own.length > 0 &&
      countIn(
        own.filter((each) => each.sentAt <= first + ARRIVAL_DELAY_MS),
        first,
      ) === 0
    ) {
      first += RENEWAL_MS
      // Only tweets dated ahead leave a list empty.
      if (first > earliest + MAX_SEARCHED_MS) throw new Error(`Region ${woeid} has contributions but no list with terms.`)
    }
    firstLists.set(woeid, first)
    return first
  }

  function volumes(woeid: number): Map<string, Map<number, number>> {
    const found = new Map<string, Map<number, number>>()
    for (const { woeids, term, minute } of contributions) {
      if (!woeids.includes(woeid)) continue
      const minutes = found.get(term) ?? new Map<number, number>()
      found.set(term, minutes)
      minutes.set(minute * MINUTE_MS, (minutes.get(minute * MINUTE_MS) ?? 0) + 1)
    }
    return found
  }

  return { listsAt, volumes }
}

/** Returns the contributions that count, in the order of the tweets. */
export function countedContributions(sent: readonly SentTweet[]): Contribution[] {
  const counted: Contribution[] = []
  const byUserAndTerm = new Map<string, number[]>()
  for (const { tweet, sentAt } of sent) {
    const minute = Math.floor(tweet.created_at / MINUTE_MS)
    if (tweet.bot_score > 0.7) continue
    if (tweet.created_at > sentAt + 5 * MINUTE_MS) continue
    if (minute < Math.floor(sentAt / MINUTE_MS) - 59) continue
    for (const [term, original] of termsOf(tweet)) {
      const key = `${tweet.user_id} ${term}`
      const minutes = [...(byUserAndTerm.get(key) ?? []), minute]
      if (minutes.some((start) => minutes.filter((each) => each >= start && each <= start + 59).length > 3)) continue
      byUserAndTerm.set(key, minutes)
      counted.push({ woeids: pathOf(tweet.woeid) ?? [1], term, original, minute, tweet, sentAt })
    }
  }
  return counted
}

function termsOf(tweet: Tweet): Map<string, string> {
  const terms = new Map<string, string>()
  for (const original of [...tweet.hashtags, ...tweet.phrases]) {
    const term = foldTerm(original)
    if (term !== undefined && !terms.has(term)) terms.set(term, original)
  }
  return terms
}

function byRegionAndTerm(contributions: readonly Contribution[]): Map<number, Map<string, Contribution[]>> {
  const regions = new Map<number, Map<string, Contribution[]>>()
  for (const contribution of contributions) {
    for (const woeid of contribution.woeids) {
      const terms = regions.get(woeid) ?? new Map<string, Contribution[]>()
      regions.set(woeid, terms)
      const all = terms.get(contribution.term) ?? []
      terms.set(contribution.term, all)
      all.push(contribution)
    }
  }
  return regions
}

/** Counts the contributions in the 60 one-minute buckets up to `windowEnd`, including a running minute. */
function countIn(all: readonly Contribution[], windowEnd: number): number {
  const last = Math.ceil(windowEnd / MINUTE_MS) - 1
  return all.filter(({ minute }) => minute > last - 60 && minute <= last).length
}

function entryOf(term: string, all: readonly Contribution[], windowEnd: number, region: { mean: number; labels: boolean }): OfflineEntry {
  const last = Math.ceil(windowEnd / MINUTE_MS) - 1
  const count = countIn(all, windowEnd)
  const hourAgo = all.filter(({ minute }) => minute > last - 120 && minute <= last - 60).length
  const firstHour = (Math.floor(last / 60) - 24) * 60
  const velocity = count / Math.max(1, region.mean)
  return {
    term,
    name: mostWritten(all),
    tweet_volume: count,
    volume_24h: all.filter(({ minute }) => minute >= firstHour && minute <= last).length,
    velocity: count / Math.max(1, hourAgo),
    velocity_vs_usual: velocity,
    score: count * Math.log2(1 + velocity),
    label: region.labels && usersIn(all, (last - 59) * MINUTE_MS) >= 20 ? labelOf(velocity) : null,
    sample_tweets: newestOfDistinctUsers(all, (last - 59) * MINUTE_MS),
  }
}

function labelOf(velocity: number): OfflineEntry['label'] {
  if (velocity > 10) return 'Viral'
  return velocity > 3 ? 'Trending' : null
}

function usersIn(all: readonly Contribution[], from: number): number {
  return new Set(all.filter(({ tweet }) => tweet.created_at >= from).map(({ tweet }) => tweet.user_id)).size
}

function mostWritten(all: readonly Contribution[]): string {
  const counts = new Map<string, number>()
  for (const { original } of all) counts.set(original, (counts.get(original) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0][0]
}

function newestOfDistinctUsers(all: readonly Contribution[], from: number): bigint[] {
  const newestFirst = all.map(({ tweet }) => tweet).sort((a, b) => b.created_at - a.created_at || Number(b.tweet_id - a.tweet_id))
  const perUser = new Map<bigint, Tweet>()
  for (const tweet of newestFirst) if (!perUser.has(tweet.user_id)) perUser.set(tweet.user_id, tweet)
  const newest = [...perUser.values()].slice(0, 3)
  return newest.filter((tweet) => tweet.created_at >= from).map((tweet) => tweet.tweet_id)
}
