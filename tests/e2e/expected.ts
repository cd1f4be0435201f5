import { countedContributions, type SentTweet } from '../pipelines/trends/offline.ts'
import type { PublishedList } from './log.ts'

const MINUTE_MS = 60_000
const WINDOW_MINUTES = 60
/** Lists wait so long for tweets that are under way. */
const ARRIVAL_DELAY_MS = 2_000
/** Lists are cut there. */
const KEPT_TERMS = 500

/** A tweet of the log, and when it was known to be there. */
export interface KnownTweet extends SentTweet {
  /** Epoch ms: the producer's acknowledgement, or the first sight of a reader. */
  readonly acknowledgedAt: number
}

interface Occurrence {
  readonly minute: number
  readonly acknowledgedAt: number
}

/**
 * What any published list may say: a window must hold every tweet that was acknowledged before it was due, and no tweet that is not in the log.
 * When nothing was under way at that moment both bounds are the same.
 */
export interface Expected {
  bounds(woeid: number, windowEnd: number): Map<string, Bounds>
  /** What is wrong with a list, in words; empty when it is right. */
  faults(list: PublishedList): string[]
  /** True when there is only one right answer for every region. */
  isExact(windowEnd: number): boolean
  /** Regions that have tweets. */
  readonly woeids: readonly number[]
}

interface Bounds {
  least: number
  most: number
}

/**
 * @param log in the order of the log, partition by partition
 * @param counted what counts of it, where that is known already
 */
export function expectedLists(log: readonly KnownTweet[], counted = countedContributions(log)): Expected {
  const regions = new Map<number, Map<string, Occurrence[]>>()
  const acknowledged = new Map(log.map((known) => [known.tweet, known.acknowledgedAt]))
  for (const { woeids, term, minute, tweet } of counted) {
    const occurrence = { minute, acknowledgedAt: acknowledged.get(tweet) as number }
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

  function faults({ woeid, window_end, entries }: PublishedList): string[] {
    const found: string[] = []
    const place = `${woeid} at ${new Date(window_end).toISOString()}`
    const right = bounds(woeid, window_end)
    // Without a baseline yet all terms are measured against one mean: the score orders as the count does.
    for (let i = 1; i < entries.length; i++) {
      const [above, below] = [entries[i - 1], entries[i]]
      if (above.tweet_volume < below.tweet_volume || (above.tweet_volume === below.tweet_volume && above.term >= below.term))
        found.push(`${place}: ${above.term} (${above.tweet_volume}) stands above ${below.term} (${below.tweet_volume})`)
    }
    for (const { term, tweet_volume } of entries) {
      const { least, most } = right.get(term) ?? { least: 0, most: 0 }
      if (tweet_volume < least || tweet_volume > most) found.push(`${place}: ${term} has ${tweet_volume}, right is ${least} to ${most}`)
    }
    const listed = new Set(entries.map(({ term }) => term))
    const cut = entries.length < KEPT_TERMS ? 0 : entries[entries.length - 1].tweet_volume
    for (const [term, { least }] of right) if (least > cut && !listed.has(term)) found.push(`${place}: ${term} (${least}) is missing`)
    return found
  }

  function isExact(windowEnd: number): boolean {
    return [...regions.keys()].every((woeid) => [...bounds(woeid, windowEnd).values()].every(({ least, most }) => least === most))
  }

  return { bounds, faults, isExact, woeids: [...regions.keys()] }
}
