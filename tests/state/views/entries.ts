import type { TrendEntry } from '../../../schemas/trends/types.ts'

const TRENDING_SINCE = Date.UTC(2026, 0, 15, 11, 59)

export function entry(term: string, more: Partial<TrendEntry> = {}): TrendEntry {
  return {
    term,
    name: `#${term}`,
    tweet_volume: 10,
    volume_24h: 100,
    velocity: 1.5,
    velocity_vs_usual: 4,
    score: 23.2,
    label: 'Trending',
    trending_since: TRENDING_SINCE,
    sample_tweets: [1_234_567_890_123_456_789n, 2n],
    rank_change: -3,
    peak_rank: 1,
    lang: 'pt',
    users: 9,
    variants: [],
    related: [],
    typical_tweet: null,
    ...more,
  }
}
