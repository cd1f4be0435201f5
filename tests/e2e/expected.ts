import { foldTerm } from '../../schemas/trends/term.ts'
import { type Contribution, countedContributions, type SentTweet } from '../pipelines/trends/offline.ts'
import type { PublishedEntry, PublishedList } from './log.ts'

const MINUTE_MS = 60_000
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
  readonly acknowledgedAt: number
}

/**
 * Bounds for the published lists. The lower bound counts the tweets that were acknowledged before the window was due,
 * and the upper bound counts all tweets of the window in the log. If no tweet was in flight when the window was due,
 * the two bounds are equal.
 */
export interface Expected {
  bounds(woeid: number, windowEnd: number): Map<string, Bounds>
  /** Describes the errors in a list. Empty if the list is correct. */
  faults(list: PublishedList): string[]
  /** Returns true if the bounds of every count are equal. */
  isExact(windowEnd: number): boolean
  /** The regions with tweets. */
  readonly woeids: readonly number[]
}

interface Bounds {
  least: number
  most: number
}

/**
 * @param log in log order, partition by partition
 * @param counted the tweets of the log that are counted, if the caller has already computed them
 */
export function expectedLists(log: readonly KnownTweet[], counted: readonly Contribution[] = countedContributions(log)): Expected {
  const regions = new Map<number, Map<string, Occurrence[]>>()
  const acknowledged = new Map(log.map((known) => [known.tweet, known.acknowledgedAt]))
  for (const { woeids, term, minute, tweet } of counted) {
    const occurrence = { minute, tweetId: tweet.tweet_id, acknowledgedAt: acknowledged.get(tweet) as number }
    for (const woeid of woeids) {
      const terms = regions.get(woeid) ?? new Map<string, Occurrence[]>()
      regions.set(woeid, terms)
      const all = terms.get(term)
      if (all === undefined) terms.set(term, [occurrence])
      else all.push(occurrence)
    }
  }

  function bounds(woeid: number, windowEnd: number): Map<string, Bounds> {
    const last = Math.ceil(windowEnd / MINUTE_MS) - 1
    const found = new Map<string, Bounds>()
    for (const [term, all] of regions.get(woeid) ?? []) {
      const inWindow = all.filter(({ minute }) => minute > last - WINDOW_MINUTES && minute <= last)
      if (inWindow.length === 0) continue
      const least = inWindow.filter(({ acknowledgedAt }) => acknowledgedAt <= windowEnd + ARRIVAL_DELAY_MS).length
      found.set(term, { least, most: inWindow.length })
    }
    return found
  }

  /**
   * Returns the errors in a trend's variants. The pipeline folds terms based on a random sample of tweets, so this
   * check uses a low bound.
   */
  function variantFaults({ woeid, window_end }: PublishedList, { term, tweet_volume, variants }: PublishedEntry): string[] {
    const last = Math.ceil(window_end / MINUTE_MS) - 1
    const tweetsOf = (each: string) => {
      const all = regions.get(woeid)?.get(each) ?? []
      // Includes tweets after the window, because the pipeline may have sampled them, too.
      return new Set(all.flatMap(({ minute, tweetId }) => (minute > last - WINDOW_MINUTES ? tweetId : [])))
    }
    return variants.flatMap((name) => {
      const variant = foldTerm(name) ?? ''
      const common = tweetsOf(term).intersection(tweetsOf(variant)).size
      const { least } = bounds(woeid, window_end).get(variant) ?? { least: 0 }
      if (common >= LEAST_COMMON && common > LEAST_SHARE * tweet_volume && least <= tweet_volume) return []
      return [
        `${woeid} at ${new Date(window_end).toISOString()}: ${term} (${tweet_volume}) and ${variant} (${least}) have ${common} tweets in common`,
      ]
    })
  }

  function faults(list: PublishedList): string[] {
    const { woeid, window_end, entries } = list
    const found: string[] = []
    const place = `${woeid} at ${new Date(window_end).toISOString()}`
    const right = bounds(woeid, window_end)
    // No term has a baseline, so all terms are compared with the same mean. The order by score is therefore the order
    // by count.
    for (let i = 1; i < entries.length; i++) {
      const [above, below] = [entries[i - 1], entries[i]]
      if (above.tweet_volume < below.tweet_volume || (above.tweet_volume === below.tweet_volume && above.term >= below.term))
        found.push(`${place}: ${above.term} (${above.tweet_volume}) is above ${below.term} (${below.tweet_volume})`)
    }
    for (const { term, tweet_volume } of entries) {
      const { least, most } = right.get(term) ?? { least: 0, most: 0 }
      if (tweet_volume < least || tweet_volume > most) found.push(`${place}: ${term} has ${tweet_volume} instead of ${least} to ${most}`)
    }
    for (const entry of entries) found.push(...variantFaults(list, entry))
    const terms = entries.flatMap(({ term, variants }) => [term, ...variants.map((name) => foldTerm(name) ?? '')])
    const listed = new Set(terms)
    if (listed.size !== terms.length) found.push(`${place}: a term is listed twice`)
    const cut = terms.length < KEPT_TERMS ? 0 : entries[entries.length - 1].tweet_volume
    for (const [term, { least }] of right) if (least > cut && !listed.has(term)) found.push(`${place}: ${term} (${least}) is missing`)
    return found
  }

  function isExact(windowEnd: number): boolean {
    return [...regions.keys()].every((woeid) => [...bounds(woeid, windowEnd).values()].every(({ least, most }) => least === most))
  }

  return { bounds, faults, isExact, woeids: [...regions.keys()] }
}
