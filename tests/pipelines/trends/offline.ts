import { drawHash } from '../../../pipelines/trends/drawn-tweets.ts'
import { pathOf } from '../../../schemas/trends/places/regions.ts'
import { foldTerm } from '../../../schemas/trends/term.ts'
import type { TrendEntry, Tweet } from '../../../schemas/trends/types.ts'

/**
 * This file computes, in the simplest way, which lists the trends service must publish for a list of tweets. Every
 * count is computed from all tweets. The file shares with the pipeline only the folding of terms, the table of places
 * and the hash of tweets. The computation is valid only if no term is silent for four weeks, because the pipeline
 * forgets the baseline of such a term.
 */
export interface SentTweet {
  readonly tweet: Tweet
  /** Time at which the tweet was produced, epoch ms. */
  readonly sentAt: number
}

export interface Contribution {
  readonly woeids: readonly number[]
  readonly term: string
  readonly original: string
  readonly minute: number
  readonly tweet: Tweet
  readonly sentAt: number
}

/** How long the pipeline delays a renewal, so that tweets in flight arrive first. */
const ARRIVAL_DELAY_MS = 2_000
const MINUTE_MS = 60_000
const LISTED_TERMS = 500
const SERVED_TERMS = 30
const FOLDED_TERMS = 100
const DRAWN_TWEETS = 24
const DRAW_MINUTES = 20
const LEAST_COMMON = 4
const MAX_RELATED = 3
/** Time from a region's first list with terms until its lists contain labels. */
const LABELS_AFTER_MS = 120 * MINUTE_MS
/** How long a term can be absent from the served terms and still continue the same trend when it returns. */
const GAP_MS = 10 * MINUTE_MS
const DAY_HOURS = 24
const WEEK_HOURS = 168
/** Age in hours at which the count of an hour is final, so that baselines include it. */
const FINAL_AFTER_HOURS = 3

/** The results of a region's earlier lists that affect later lists. */
interface RegionPast {
  firstList: number | undefined
  lists: { windowEnd: number; mean: number }[]
  /** For each term: the hour of the first list that contained the term. */
  tracked: Map<string, number>
  /**
   * For each term: when its trend began, when a list last served it, when it left the served terms (undefined while it
   * is served), and its best rank.
   */
  trending: Map<string, { since: number; seen: number; leftAt: number | undefined; peak: number }>
  /**
   * For each period of ten minutes, by its number since 1970, the leading terms of the topics that were served in its
   * first list with terms.
   */
  firstServed: Map<number, string[]>
}

export interface Offline {
  /**
   * Returns the list of every region for a window, best first, with at most 500 entries. Regions without entries are
   * absent. Call this method for each published window, in order, because means, labels, baselines and
   * `trending_since` depend on earlier lists.
   * @param isMissing returns true for tweets that the list lacks because their partition is stuck. A list that lacks
   * tweets does not affect later lists
   */
  listsAt(windowEnd: number, isMissing?: (sent: SentTweet) => boolean): Map<number, TrendEntry[]>
  /** Returns the counts so far in a region, by term and minute (epoch ms of its start). */
  volumes(woeid: number): Map<string, Map<number, number>>
}

/** @param sent ordered by send time for each user; tweets may be added between calls */
export function offlineTrends(sent: readonly SentTweet[]): Offline {
  let counted = { sent: 0, contributions: [] as Contribution[] }
  const pasts = new Map<number, RegionPast>()

  function contributions(): readonly Contribution[] {
    if (counted.sent !== sent.length) counted = { sent: sent.length, contributions: countedContributions(sent) }
    return counted.contributions
  }

  function listsAt(windowEnd: number, isMissing?: (sent: SentTweet) => boolean): Map<number, TrendEntry[]> {
    const known = contributions().filter((each) => each.sentAt <= windowEnd + ARRIVAL_DELAY_MS && isMissing?.(each) !== true)
    const lists = new Map<number, TrendEntry[]>()
    for (const [woeid, terms] of byRegionAndTerm(known)) {
      // An incomplete list uses the results of earlier lists, but does not change them.
      const past = isMissing === undefined ? pastOf(woeid) : structuredClone(pastOf(woeid))
      const mean = aMinuteBefore(past.lists, windowEnd)?.mean ?? 0
      const labels = mayLabel(past.firstList, windowEnd)
      const ranked = [...terms].flatMap(([term, all]) => {
        if (countIn(all, windowEnd) === 0) return []
        const usual = usualIn(hourlyCounts(all), past.tracked.get(term), windowEnd)
        return { entry: entryOf(term, all, windowEnd, { usual: usual ?? mean, labels }), isNew: usual === undefined }
      })
      ranked.sort((a, b) => b.entry.score - a.entry.score || (a.entry.term < b.entry.term ? -1 : 1))
      ranked.length = Math.min(ranked.length, LISTED_TERMS)
      const entries = ranked.map(({ entry }) => entry)
      const newVolumes = ranked.filter(({ isNew }) => isNew).map(({ entry }) => entry.tweet_volume)
      const topics = topicsOf(entries, (term) => drawnTweets(terms.get(term) ?? [], windowEnd))
      note(past, windowEnd, entries, topics.map(termsOfTopic), newVolumes)
      if (entries.length === 0) continue
      lists.set(
        woeid,
        topics.map((topic, index) => ({
          ...topic.entry,
          ...standingOf(past, termsOfTopic(topic), index + 1, windowEnd),
          variants: topic.variants.map(({ name }) => name),
          related: topic.related.map(({ topic: { entry } }) => entry.name),
          typical_tweet: topic.typical,
        })),
      )
    }
    return lists
  }

  function pastOf(woeid: number): RegionPast {
    const past = pasts.get(woeid) ?? { firstList: undefined, lists: [], tracked: new Map(), trending: new Map(), firstServed: new Map() }
    pasts.set(woeid, past)
    return past
  }

  function volumes(woeid: number): Map<string, Map<number, number>> {
    const found = new Map<string, Map<number, number>>()
    for (const { woeids, term, minute } of contributions()) {
      if (!woeids.includes(woeid)) continue
      const minutes = found.get(term) ?? new Map<number, number>()
      found.set(term, minutes)
      minutes.set(minute * MINUTE_MS, (minutes.get(minute * MINUTE_MS) ?? 0) + 1)
    }
    return found
  }

  return { listsAt, volumes }
}

/** Records the results of a published list for later lists. */
function note(
  past: RegionPast,
  windowEnd: number,
  entries: readonly OfflineEntry[],
  topics: readonly string[][],
  newVolumes: readonly number[],
): void {
  if (entries.length > 0) past.firstList ??= windowEnd
  past.lists.push({ windowEnd, mean: meanOf(newVolumes) })
  const hour = Math.floor(lastMinuteOf(windowEnd) / 60)
  for (const { term } of entries) if (!past.tracked.has(term)) past.tracked.set(term, hour)
  const served = topics.slice(0, SERVED_TERMS)
  const terms = new Set(served.flat())
  for (const [term, trend] of past.trending) if (!terms.has(term)) trend.leftAt ??= windowEnd
  for (const [index, topic] of served.entries()) {
    const before = topic.flatMap((term) => past.trending.get(term) ?? [])
    const goingOn = before.filter(({ leftAt }) => leftAt === undefined || windowEnd - leftAt <= GAP_MS)
    const since = Math.min(windowEnd, ...goingOn.map((trend) => trend.since))
    const peak = Math.min(index + 1, ...goingOn.map((trend) => trend.peak))
    for (const term of topic) past.trending.set(term, { since, seen: windowEnd, leftAt: undefined, peak })
  }
  const period = tenMinutes(windowEnd)
  const leaders = served.map(([leader]) => leader)
  if (served.length > 0 && !past.firstServed.has(period)) past.firstServed.set(period, leaders)
}

function tenMinutes(windowEnd: number): number {
  return Math.floor(windowEnd / (10 * MINUTE_MS))
}

function standingOf(past: RegionPast, topic: readonly string[], rank: number, windowEnd: number) {
  const trend = past.trending.get(topic[0])
  if (trend?.seen !== windowEnd) return { trending_since: windowEnd, rank_change: null, peak_rank: null }
  const before = past.firstServed.get(tenMinutes(windowEnd) - 1)?.findIndex((term) => topic.includes(term)) ?? -1
  return { trending_since: trend.since, rank_change: before < 0 ? null : before + 1 - rank, peak_rank: trend.peak }
}

interface OfflineTopic<E> {
  readonly entry: E
  readonly drawn: readonly Tweet[]
  readonly variants: E[]
  related: { topic: OfflineTopic<E>; overlap: number }[]
  typical: bigint | null
}

function termsOfTopic({ entry, variants }: OfflineTopic<{ readonly term: string }>): string[] {
  return [entry, ...variants].map(({ term }) => term)
}

/**
 * Folds the best 100 terms of a list into topics. A term joins the topic with the largest overlap if this overlap
 * exceeds one half. Every other term is a separate topic.
 * @param entries best first
 */
export function topicsOf<E extends { readonly term: string }>(
  entries: readonly E[],
  drawnOf: (term: string) => Tweet[],
): OfflineTopic<E>[] {
  const topics: OfflineTopic<E>[] = []
  const uses = new Map<bigint, number>()
  for (const entry of entries.slice(0, FOLDED_TERMS)) {
    const topic: OfflineTopic<E> = { entry, drawn: drawnOf(entry.term), variants: [], related: [], typical: null }
    for (const { tweet_id } of topic.drawn) uses.set(tweet_id, (uses.get(tweet_id) ?? 0) + 1)
    // Topics are in the order of their ranks, and sorting keeps this order for topics with equal overlap.
    const similar = (topic.drawn.length < LEAST_COMMON ? [] : topics)
      .map((other) => ({ topic: other, overlap: overlapOf(topic.drawn, other.drawn) }))
      .filter(({ overlap }) => overlap > 0)
    similar.sort((a, b) => b.overlap - a.overlap)
    if (similar.length > 0 && similar[0].overlap > 0.5) {
      similar[0].topic.variants.push(entry)
      continue
    }
    topic.related = similar
    for (const { topic: other, overlap } of similar) other.related.push({ topic, overlap })
    topics.push(topic)
  }
  for (const topic of topics) {
    topic.related.sort((a, b) => b.overlap - a.overlap || topics.indexOf(a.topic) - topics.indexOf(b.topic))
    topic.related = topic.related.slice(0, MAX_RELATED)
    const most = Math.max(...topic.drawn.map(({ tweet_id }) => uses.get(tweet_id) ?? 0))
    topic.typical = topic.drawn.find(({ tweet_id }) => uses.get(tweet_id) === most)?.tweet_id ?? null
  }
  const others = entries.slice(FOLDED_TERMS).map((entry) => ({ entry, drawn: [], variants: [], related: [], typical: null }))
  return [...topics, ...others]
}

/**
 * Estimates, from the drawn tweets of two terms, which share of the more frequent term's tweets contains both terms.
 */
function overlapOf(a: readonly Tweet[], b: readonly Tweet[]): number {
  // This check saves time, because most terms have too few tweets, and millions of pairs are compared.
  if (Math.min(a.length, b.length) < LEAST_COMMON) return 0
  const last = Math.min(...[a, b].map((drawn) => (drawn.length < DRAWN_TWEETS ? Infinity : drawHash(drawn[DRAWN_TWEETS - 1].tweet_id))))
  const [ofA, ofB] = [a, b].map((drawn) => drawn.map(({ tweet_id }) => tweet_id).filter((id) => drawHash(id) <= last))
  const common = ofA.filter((id) => ofB.includes(id)).length
  return common < LEAST_COMMON ? 0 : common / Math.max(ofA.length, ofB.length)
}

/**
 * Returns the drawn tweets of a window. In each period of 20 minutes, the 24 tweets with the smallest hashes are
 * chosen. Of the chosen tweets that are in the window, the 24 with the smallest hashes are drawn. Returns no tweets if
 * fewer than four would be drawn.
 */
export function drawnTweets(all: readonly Contribution[], windowEnd: number): Tweet[] {
  const firstMinute = lastMinuteOf(windowEnd) - 59
  const distinct = [...new Map(all.map(({ tweet }) => [tweet.tweet_id, tweet])).values()]
  const periods = Map.groupBy(distinct, ({ created_at }) => Math.floor(created_at / (DRAW_MINUTES * MINUTE_MS)))
  const drawn = [...periods.values()].flatMap(leastHashes)
  const inWindow = leastHashes(drawn.filter(({ created_at }) => created_at >= firstMinute * MINUTE_MS))
  return inWindow.length < LEAST_COMMON ? [] : inWindow
}

function leastHashes(tweets: readonly Tweet[]): Tweet[] {
  return [...tweets].sort((a, b) => drawHash(a.tweet_id) - drawHash(b.tweet_id)).slice(0, DRAWN_TWEETS)
}

/**
 * Returns the list with which new terms are compared: the last of a region's lists whose window ends at least a minute
 * before `windowEnd`.
 */
export function aMinuteBefore<L extends { readonly windowEnd: number }>(lists: readonly L[], windowEnd: number): L | undefined {
  return lists.findLast((list) => list.windowEnd <= windowEnd - MINUTE_MS)
}

/** @param firstList end of the region's first window with terms; undefined if there was none */
export function mayLabel(firstList: number | undefined, windowEnd: number): boolean {
  return firstList !== undefined && windowEnd - firstList >= LABELS_AFTER_MS
}

/** Returns the counts of a term by hour since 1970. */
export function hourlyCounts(all: readonly Pick<Contribution, 'minute'>[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const { minute } of all) counts.set(Math.floor(minute / 60), (counts.get(Math.floor(minute / 60)) ?? 0) + 1)
  return counts
}

/**
 * Returns the usual count of a term in a window: the mean of the usual counts of its two hours, weighted by their
 * minutes in the window; undefined if the term is new.
 * @param counts the counts of the term by hour since 1970
 * @param since the hour of its first list
 */
export function usualIn(counts: ReadonlyMap<number, number>, since: number | undefined, windowEnd: number): number | undefined {
  if (since === undefined) return undefined
  const last = lastMinuteOf(windowEnd)
  const hour = Math.floor(last / 60)
  const during = usualInHour(counts, since, hour)
  if (during === undefined) return undefined
  const minutes = (last % 60) + 1
  return (during * minutes + (usualInHour(counts, since, hour - 1) ?? during) * (60 - minutes)) / 60
}

function usualInHour(counts: ReadonlyMap<number, number>, since: number, hour: number): number | undefined {
  const observed = (everyHours: number, upTo: number): number[] => {
    const found: number[] = []
    for (let at = upTo; at >= since; at -= everyHours) found.unshift(counts.get(at) ?? 0)
    return found
  }
  const weeks = observed(WEEK_HOURS, hour - WEEK_HOURS)
  if (weeks.length > 0) return weeks.reduce((mean, count) => 0.3 * count + 0.7 * mean)
  const days = observed(DAY_HOURS, hour - DAY_HOURS)
  if (days.length > 0) return meanOf(days)
  const hours = observed(1, hour - FINAL_AFTER_HOURS)
  return hours.length > 0 ? meanOf(hours) : undefined
}

function meanOf(numbers: readonly number[]): number {
  return numbers.length === 0 ? 0 : numbers.reduce((sum, each) => sum + each, 0) / numbers.length
}

export function lastMinuteOf(windowEnd: number): number {
  return Math.ceil(windowEnd / MINUTE_MS) - 1
}

/** Returns the contributions that the pipeline must count, in the order of the tweets. */
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

export function byRegionAndTerm(contributions: readonly Contribution[]): Map<number, Map<string, Contribution[]>> {
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

/** Counts the contributions in the 60 one-minute buckets up to `windowEnd`. The current minute may be incomplete. */
function countIn(all: readonly Contribution[], windowEnd: number): number {
  const last = lastMinuteOf(windowEnd)
  return all.filter(({ minute }) => minute > last - 60 && minute <= last).length
}

type OfflineEntry = Omit<TrendEntry, 'trending_since' | 'rank_change' | 'peak_rank' | 'variants' | 'related' | 'typical_tweet'>

function entryOf(term: string, all: readonly Contribution[], windowEnd: number, how: { usual: number; labels: boolean }): OfflineEntry {
  const last = lastMinuteOf(windowEnd)
  const count = countIn(all, windowEnd)
  const hourAgo = all.filter(({ minute }) => minute > last - 120 && minute <= last - 60).length
  const firstHour = (Math.floor(last / 60) - 24) * 60
  const velocity = velocityOf(count, how.usual)
  const users = new Set(all.filter(({ minute }) => minute > last - 60 && minute <= last).map(({ tweet }) => tweet.user_id)).size
  return {
    term,
    name: mostWritten(all),
    tweet_volume: count,
    volume_24h: all.filter(({ minute }) => minute >= firstHour && minute <= last).length,
    velocity: count / Math.max(1, hourAgo),
    velocity_vs_usual: velocity,
    score: scoreOf(count, velocity),
    label: how.labels ? labelOf(velocity, users) : null,
    sample_tweets: newestOfUsers(all, 3, (last - 59) * MINUTE_MS).map((tweet) => tweet.tweet_id),
    lang: commonestLanguage(newestOfUsers(all, 20, (last - 59) * MINUTE_MS)),
    users,
  }
}

function commonestLanguage(tweets: readonly Tweet[]): string | null {
  const counts = new Map<string, number>()
  for (const { lang } of tweets) if (lang !== 'und') counts.set(lang, (counts.get(lang) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0]?.[0] ?? null
}

export function velocityOf(count: number, usual: number): number {
  return count / Math.max(1, usual)
}

export function scoreOf(count: number, velocity: number): number {
  return count * Math.log2(1 + velocity)
}

export function labelOf(velocity: number, users: number): 'Trending' | 'Viral' | null {
  if (users < 20) return null
  if (velocity > 10) return 'Viral'
  return velocity > 3 ? 'Trending' : null
}

function mostWritten(all: readonly Contribution[]): string {
  const counts = new Map<string, number>()
  for (const { original } of all) counts.set(original, (counts.get(original) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0][0]
}

/** Returns the newest tweet of each of the `users` users who tweeted last. Leaves out tweets before `from`. */
function newestOfUsers(all: readonly Contribution[], users: number, from: number): Tweet[] {
  const newestFirst = all.map(({ tweet }) => tweet).sort((a, b) => b.created_at - a.created_at || Number(b.tweet_id - a.tweet_id))
  const perUser = new Map<bigint, Tweet>()
  for (const tweet of newestFirst) if (!perUser.has(tweet.user_id)) perUser.set(tweet.user_id, tweet)
  const newest = [...perUser.values()].slice(0, users)
  return newest.filter((tweet) => tweet.created_at >= from)
}
