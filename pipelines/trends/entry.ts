import type { TrendEntry } from '../../schemas/trends/types.ts'
import type { Topic } from './fold.ts'
import type { RankedTerm } from './ranking.ts'
import { labelOf, velocityOf } from './score.ts'

/** The development of a term's rank. */
export interface Standing {
  /** Epoch ms. */
  readonly trendingSince: number
  readonly rankChange: number | null
  readonly peakRank: number | null
}

/** Returns the list's entry for a topic. @param mayLabel whether the region has enough history for labels */
export function entryOf({ leader, variants, related, typicalTweet }: Topic, standing: Standing, mayLabel: boolean): TrendEntry {
  const { candidate, score, velocityVsUsual: velocity } = leader
  return {
    term: candidate.term,
    name: candidate.name,
    tweet_volume: candidate.count,
    volume_24h: candidate.day,
    velocity: velocityOf(candidate.count, candidate.hour_ago),
    velocity_vs_usual: velocity,
    score,
    label: mayLabel ? labelOf(velocity, candidate.users) : null,
    trending_since: standing.trendingSince,
    sample_tweets: candidate.sample_tweets,
    rank_change: standing.rankChange,
    peak_rank: standing.peakRank,
    lang: candidate.lang === '' ? null : candidate.lang,
    users: candidate.users,
    variants: variants.map(nameOf),
    related: related.map(nameOf),
    typical_tweet: typicalTweet,
  }
}

function nameOf({ candidate }: RankedTerm): string {
  return candidate.name
}
