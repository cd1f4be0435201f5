import { termKey } from '../../schemas/trends/term.ts'
import type { RegionHistory, Tweet } from '../../schemas/trends/types.ts'
import { byRegionAndTerm, countedContributions, type SentTweet } from '../pipelines/trends/offline.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_HOURS = 24
const WEEK_HOURS = 168
const RENEWAL_MS = 30_000
/** Number of the most frequent terms of each region. Each of these terms gets one of the `QUOTIENTS`. */
const TERMS_PER_REGION = 40
/**
 * Ratios of a term's count in the sample (`next` in `pastOf`) to its usual count. The terms of a region get them in
 * turn. A term whose ratio is undefined gets no baseline. Each ratio is about a third of the previous one, and the
 * largest velocity with the label Trending is a little more than three times the smallest. Each label therefore occurs,
 * and some terms have none, even if the number of tweets is several times as high or as low as in the sample.
 */
const QUOTIENTS = [40, 13.5, 4.5, undefined, 1.5, 0.5]
/**
 * Ratio of a usual count in an odd hour to that in an even hour. If all hours had the same usual count, a wrong
 * interpolation between hours would not be noticed.
 */
const ODD_HOUR_FACTOR = 1.5
/**
 * Range of hours for which baselines contain counts, relative to the hour one week before the start of the test. The
 * range is much longer than a test.
 */
const HOURS_BEFORE = 2
const HOURS_AFTER = 24
/** Age of the first list in the regions that label terms from the start of the test. */
const LONG_AGO_HOURS = 30
/** How soon after the start of the test some regions begin to label terms. */
const LABELS_SOON_MS = 2 * RENEWAL_MS
const LABELS_AFTER_MS = 2 * HOUR_MS
/** The mean count of new terms in the earlier lists. It is above 1, because a lower mean would have no effect. */
const EARLIER_MEAN = 2.25

/** A baseline that the pipeline finds when it starts. */
export interface PastBaseline {
  /** The first observed hour, as a number of hours since 1970. */
  readonly since: number
  /** The counts of the hours with contributions, by hour since 1970. All of them lie about a week before the test. */
  readonly counts: ReadonlyMap<number, number>
}

/** What the pipeline finds when it starts, as if it had been running for a long time. */
export interface Past {
  /** By region and term, as in `termKey`. */
  readonly baselines: ReadonlyMap<string, PastBaseline>
  /** The earlier lists of regions. A region without them is new, so it has no labels for two hours. */
  readonly histories: ReadonlyMap<number, RegionHistory>
}

export const NO_PAST: Past = { baselines: new Map(), histories: new Map() }

/**
 * Composes a past whose usual counts differ from the counts of the next tweets by the factors in `QUOTIENTS`.
 * @param next returns events like those that will be sent
 * @param count number of these events from which the usual counts are derived
 * @param now epoch ms
 */
export function pastOf(next: () => { readonly at: number; readonly tweet: Tweet | undefined }, count: number, now: number): Past {
  const baselines = new Map<string, PastBaseline>()
  const histories = new Map<number, RegionHistory>()
  const sent = Array.from({ length: count }, next).flatMap(({ at, tweet }): SentTweet[] =>
    tweet === undefined ? [] : [{ tweet, sentAt: at }],
  )
  const counted = countedContributions(sent)
  const renewal = Math.floor(now / RENEWAL_MS) * RENEWAL_MS
  const regions = [...byRegionAndTerm(counted)].map(([woeid, terms]) => ({ woeid, terms, size: terms.size }))
  regions.sort((a, b) => b.size - a.size || a.woeid - b.woeid)
  for (const [place, { woeid, terms }] of regions.entries()) {
    const counts = [...terms].map(([term, all]) => ({ term, volume: all.length }))
    counts.sort((a, b) => b.volume - a.volume || (a.term < b.term ? -1 : 1))
    for (const [rank, { term, volume }] of counts.slice(0, TERMS_PER_REGION).entries()) {
      const quotient = QUOTIENTS[(place + rank) % QUOTIENTS.length]
      if (quotient !== undefined) baselines.set(termKey(woeid, term), baselineOf(volume / quotient, now))
    }
    const history = historyOf(place, renewal)
    if (history !== undefined) histories.set(woeid, history)
  }
  return { baselines, histories }
}

function baselineOf(usual: number, now: number): PastBaseline {
  const lastWeek = Math.floor(now / HOUR_MS) - WEEK_HOURS
  const counts = new Map<number, number>()
  for (let hour = lastWeek - HOURS_BEFORE; hour < lastWeek + HOURS_AFTER; hour++)
    counts.set(hour, usual * (hour % 2 === 0 ? 1 : ODD_HOUR_FACTOR))
  return { since: lastWeek - DAY_HOURS, counts }
}

/** @param place the rank of the region by its number of terms; the world is first */
function historyOf(place: number, renewal: number): RegionHistory | undefined {
  const moments = [{ window_end: renewal - 2 * RENEWAL_MS, mean: EARLIER_MEAN }]
  switch (place % 4) {
    case 3:
      return undefined
    case 2:
      return { first_list: renewal + LABELS_SOON_MS - LABELS_AFTER_MS, moments }
    default:
      return { first_list: renewal - LONG_AGO_HOURS * HOUR_MS, moments: place % 4 === 0 ? moments : [] }
  }
}
