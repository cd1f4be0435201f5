import type { SampleTweet } from '../../schemas/trends/types.ts'
import { USERS_FOR_LABEL } from './score.ts'

/** Number of sample tweets per trend: docs/services/trends.md#sample-tweets */
export const SAMPLES = 3
/**
 * Number of samples kept per term. The samples also determine the language of a term, and limit its number of users
 * until there are enough users for a label (`usersIn`).
 */
export const KEPT_SAMPLES = USERS_FOR_LABEL

/**
 * Adds a tweet to samples, which are the newest tweets of distinct users, newest first. The result does not depend on
 * the order or repetition of samples, because a user who was removed can only return with a newer tweet.
 *   @returns the tweet that is left out, if any
 */
export function addSample(samples: SampleTweet[], sample: SampleTweet): SampleTweet | undefined {
  const own = samples.findIndex((known) => known.user_id === sample.user_id)
  let leftOut: SampleTweet | undefined
  if (own >= 0) {
    if (!isNewer(sample, samples[own])) return sample
    leftOut = samples[own]
    samples.splice(own, 1)
  }
  let place = samples.length
  while (place > 0 && isNewer(sample, samples[place - 1])) place--
  if (place >= KEPT_SAMPLES) return sample
  samples.splice(place, 0, sample)
  return samples.length > KEPT_SAMPLES ? samples.pop() : leftOut
}

/**
 * Returns whether `a` is newer than `b`. Of two tweets of the same millisecond, the tweet with the greater id counts as
 * newer.
 */
function isNewer(a: SampleTweet, b: SampleTweet): boolean {
  return a.created_at > b.created_at || (a.created_at === b.created_at && a.tweet_id > b.tweet_id)
}
