import { foldTerm } from '../../schemas/trends/term.ts'
import type { Tweet } from '../../schemas/trends/types.ts'

/** Maximum number of tweets of a user that count for a term in an hour: docs/services/trends.md#what-counts */
const MAX_PER_USER = 3

/** Returns the distinct terms of a tweet. */
export function termsOf({ hashtags, phrases }: Pick<Tweet, 'hashtags' | 'phrases'>): Set<string> {
  return new Set([...hashtags, ...phrases].flatMap((name) => foldTerm(name) ?? []))
}

/**
 * Returns the terms for which a tweet counts, by the documented limit per user and term. The function ignores times, so
 * all tweets of a user must be within one hour. It does not check whether the tweet is by a bot.
 * @param byUser numbers of earlier tweets by user and term; the function adds this tweet
 */
export function countedTerms(tweet: Tweet, byUser: Map<string, number>): string[] {
  return [...termsOf(tweet)].filter((term) => {
    const key = `${tweet.user_id}:${term}`
    const before = byUser.get(key) ?? 0
    byUser.set(key, before + 1)
    return before < MAX_PER_USER
  })
}
