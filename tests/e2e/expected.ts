import { foldTerm } from '../../schemas/trends/term.ts'
import {
  type Contribution,
  countedContributions,
  hourlyCounts,
  labelOf,
  lastMinuteOf,
  type SentTweet,
  scoreOf,
  velocityOf,
} from '../pipelines/trends/offline.ts'
import { type Bounds, type Earlier, earlierLists } from './earlier-lists.ts'
import type { PublishedEntry, PublishedList } from './log.ts'

const WINDOW_MINUTES = 60
/** How long the pipeline waits after the end of a window for tweets in flight. */
const ARRIVAL_DELAY_MS = 2_000
/** The maximum number of terms in a list. */
const KEPT_TERMS = 500
/** Minimum number of tweets that two terms must have in common before one is folded into the other. */
const LEAST_COMMON = 4
/**
 * Minimum share of tweets in common before one term is folded into another. Below this share, it is practically
 * impossible that half of 24 randomly drawn tweets contain both terms.
 */
const LEAST_SHARE = 0.15
/** Tolerance for rounding errors, relative to the computed number. */
const ROUNDING = 1e-9

/** A tweet in the log, and a time by which it was certainly in the log. */
export interface KnownTweet extends SentTweet {
  /**
   * Epoch ms: when the producer received the acknowledgement, when a reader first saw the tweet, or the timestamp that
   * the broker gave the record.
   */
  readonly acknowledgedAt: number
}

interface Occurrence {
  readonly minute: number
  readonly tweetId: bigint
  readonly userId: bigint
  readonly acknowledgedAt: number
}

/**
 * Bounds for the published lists. The lower bound counts the tweets that were acknowledged before the window was due,
 * and the upper bound counts all tweets of the window in the log. If no tweet was in flight when the window was due,
 * the two bounds are equal.
 */
export interface Expected {
  bounds(woeid: number, windowEnd: number): Map<string, Bounds>
  /**
   * Describes the errors in a list. Empty if the list is correct. Must be called with all lists, in the order of their
   * windows, because means, baselines and labels depend on earlier lists.
   */
  faults(list: PublishedList): string[]
  /** Returns true if the bounds of every count are equal. */
  isExact(windowEnd: number): boolean
  /** The regions with tweets. */
  readonly woeids: readonly number[]
}

/**
 * @param log in log order, partition by partition
 * @param counted the tweets of the log that are counted, if the caller has already computed them
 * @param earlier what the past and the lists checked so far say about the next lists
 */
export function expectedLists(
  log: readonly KnownTweet[],
  counted: readonly Contribution[] = countedContributions(log),
  earlier: Earlier = earlierLists(),
): Expected {
  const regions = new Map<number, Map<string, Occurrence[]>>()
  const acknowledged = new Map(log.map((known) => [known.tweet, known.acknowledgedAt]))
  for (const { woeids, term, minute, tweet } of counted) {
    const { tweet_id: tweetId, user_id: userId } = tweet
    const occurrence = { minute, tweetId, userId, acknowledgedAt: acknowledged.get(tweet) as number }
    for (const woeid of woeids) {
      const terms = regions.get(woeid) ?? new Map<string, Occurrence[]>()
      regions.set(woeid, terms)
      const all = terms.get(term)
      if (all === undefined) terms.set(term, [occurrence])
      else all.push(occurrence)
    }
  }

  function occurrences(woeid: number, term: string): readonly Occurrence[] {
    return regions.get(woeid)?.get(term) ?? []
  }

  function bounds(woeid: number, windowEnd: number): Map<string, Bounds> {
    const found = new Map<string, Bounds>()
    for (const [term, all] of regions.get(woeid) ?? []) {
      const inWindow = all.filter(isIn(windowEnd))
      if (inWindow.length > 0) found.set(term, { least: inWindow.filter(isCertainIn(windowEnd)).length, most: inWindow.length })
    }
    return found
  }

  function usersOf(woeid: number, term: string, windowEnd: number): Bounds {
    const inWindow = occurrences(woeid, term).filter(isIn(windowEnd))
    const distinct = (all: readonly Occurrence[]) => new Set(all.map(({ userId }) => userId)).size
    return { least: distinct(inWindow.filter(isCertainIn(windowEnd))), most: distinct(inWindow) }
  }

  /** Returns bounds for the usual count of a term. Usual counts from baselines are exact. */
  function usualOf(woeid: number, term: string, windowEnd: number): Bounds & { readonly isNew: boolean } {
    const usual = earlier.usual(woeid, term, windowEnd, () => hourlyCounts(occurrences(woeid, term)))
    if (usual === undefined) return { ...earlier.meanOfNewTerms(woeid, windowEnd), isNew: true }
    return { least: usual, most: usual, isNew: false }
  }

  /** Returns the errors in the numbers and labels that follow from the counts. */
  function scoreFaults({ woeid, window_end, entries }: PublishedList): string[] {
    const found: string[] = []
    const canLabel = earlier.mayLabel(woeid, window_end)
    /** The number by which the counts of all new terms of the list are divided. */
    let divisor: number | undefined
    for (const { term, tweet_volume, velocity_vs_usual, score, label, users } of entries) {
      const usual = usualOf(woeid, term, window_end)
      const [slowest, fastest] = [usual.most, usual.least].map((each) =>
        velocityOf(tweet_volume, (usual.isNew ? divisor : undefined) ?? each),
      )
      if (velocity_vs_usual < slowest * (1 - ROUNDING) || velocity_vs_usual > fastest * (1 + ROUNDING))
        found.push(`${term} (${tweet_volume}) has the velocity ${velocity_vs_usual} instead of ${slowest} to ${fastest}`)
      else if (usual.isNew) divisor ??= tweet_volume / velocity_vs_usual
      const rightScore = scoreOf(tweet_volume, velocity_vs_usual)
      if (Math.abs(score - rightScore) > rightScore * ROUNDING) found.push(`${term} has the score ${score} instead of ${rightScore}`)
      const { least, most } = usersOf(woeid, term, window_end)
      if (users === null || users < least || users > most) found.push(`${term} has ${users} users instead of ${least} to ${most}`)
      const rightLabel = canLabel ? labelOf(velocity_vs_usual, users ?? 0) : null
      if (label !== rightLabel) found.push(`${term} has the label ${label} instead of ${rightLabel}`)
    }
    return found
  }

  /** Returns the errors in the order of the terms. `scoreFaults` checks the scores. */
  function orderFaults({ entries }: PublishedList): string[] {
    return entries.flatMap((below, i) => {
      const above = entries[i - 1]
      if (above === undefined || above.score > below.score || (above.score === below.score && above.term < below.term)) return []
      return [`${above.term} (${above.score}) is above ${below.term} (${below.score})`]
    })
  }

  /**
   * Returns the errors in a trend's variants. The pipeline folds terms based on a random sample of tweets, so this
   * check uses a low bound.
   */
  function variantFaults(
    { woeid, window_end }: PublishedList,
    { term, tweet_volume, score, variants }: PublishedEntry,
    right: ReadonlyMap<string, Bounds>,
  ): string[] {
    const first = lastMinuteOf(window_end) - WINDOW_MINUTES + 1
    // Includes tweets after the window, because the pipeline may have sampled them, too.
    const tweetsOf = (each: string) => new Set(occurrences(woeid, each).flatMap(({ minute, tweetId }) => (minute >= first ? tweetId : [])))
    return variants.flatMap((name) => {
      const variant = foldTerm(name) ?? ''
      const common = tweetsOf(term).intersection(tweetsOf(variant)).size
      const { least } = right.get(variant) ?? { least: 0 }
      const isBetter = leastScoreOf(woeid, variant, least, window_end) > score * (1 + ROUNDING)
      if (common >= LEAST_COMMON && common > LEAST_SHARE * tweet_volume && !isBetter) return []
      return [`${term} (${tweet_volume}) and ${variant} (${least}) have ${common} tweets in common`]
    })
  }

  /** Returns the lowest score that a term with this count may have. */
  function leastScoreOf(woeid: number, term: string, count: number, windowEnd: number): number {
    return scoreOf(count, velocityOf(count, usualOf(woeid, term, windowEnd).most))
  }

  /** Returns the terms that must be in the list but are not. */
  function missingTerms(
    { woeid, window_end, entries }: PublishedList,
    listed: ReadonlySet<string>,
    right: ReadonlyMap<string, Bounds>,
  ): string[] {
    const cut = listed.size < KEPT_TERMS ? 0 : entries[entries.length - 1].score * (1 + ROUNDING)
    return [...right].flatMap(([term, { least }]) => {
      if (least === 0 || listed.has(term) || leastScoreOf(woeid, term, least, window_end) <= cut) return []
      const velocity = velocityOf(least, usualOf(woeid, term, window_end).most)
      const label = earlier.mayLabel(woeid, window_end) ? labelOf(velocity, usersOf(woeid, term, window_end).least) : null
      return [`${term} (${label === null ? '' : `${label}, `}${least}) is missing`]
    })
  }

  function faults(list: PublishedList): string[] {
    const { woeid, window_end, entries } = list
    const right = bounds(woeid, window_end)
    const found = [...orderFaults(list), ...scoreFaults(list)]
    for (const { term, tweet_volume } of entries) {
      const { least, most } = right.get(term) ?? { least: 0, most: 0 }
      if (tweet_volume < least || tweet_volume > most) found.push(`${term} has ${tweet_volume} instead of ${least} to ${most}`)
    }
    for (const entry of entries) found.push(...variantFaults(list, entry, right))
    const terms = entries.flatMap(({ term, variants }) => [term, ...variants.map((name) => foldTerm(name) ?? '')])
    const listed = new Set(terms)
    if (listed.size !== terms.length) found.push('a term is listed twice')
    found.push(...missingTerms(list, listed, right))
    note(list, right)
    return found.map((fault) => `${woeid} at ${new Date(window_end).toISOString()}: ${fault}`)
  }

  /** Keeps what later lists depend on. The counts of variants are not published, so only bounds for them are known. */
  function note(list: PublishedList, right: ReadonlyMap<string, Bounds>): void {
    const { woeid, window_end, entries } = list
    const isNew = (term: string) => usualOf(woeid, term, window_end).isNew
    const newTerms = entries.flatMap(({ term, tweet_volume, variants }) => [
      ...(isNew(term) ? [{ least: tweet_volume, most: tweet_volume }] : []),
      ...variants.map((name) => foldTerm(name) ?? '').flatMap((variant) => (isNew(variant) ? (right.get(variant) ?? []) : [])),
    ])
    earlier.note(list, newTerms)
  }

  function isExact(windowEnd: number): boolean {
    return [...regions.keys()].every((woeid) => [...bounds(woeid, windowEnd).values()].every(({ least, most }) => least === most))
  }

  return { bounds, faults, isExact, woeids: [...regions.keys()] }
}

function isIn(windowEnd: number): (occurrence: Occurrence) => boolean {
  const last = lastMinuteOf(windowEnd)
  return ({ minute }) => minute > last - WINDOW_MINUTES && minute <= last
}

/** Returns true for tweets that were in the log before the window was due, so its lists must contain them. */
function isCertainIn(windowEnd: number): (occurrence: Occurrence) => boolean {
  return ({ acknowledgedAt }) => acknowledgedAt <= windowEnd + ARRIVAL_DELAY_MS
}
