import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addSample,
  KEPT_SAMPLES,
  NO_SAMPLES,
  type Samples,
  type SampleTweet,
  sampledTweets,
  samplesOf,
} from '../../../pipelines/trends/samples.ts'

/** Size of the generated lists. Lists of the default size rarely exceed the number of samples that are kept. */
const SIZE = { size: 'large', maxLength: 60 } as const

const sample = fc.record({
  tweet_id: fc.oneof(fc.bigInt({ min: 2n ** 60n, max: 2n ** 60n + 1000n }), fc.bigInt({ min: -1000n, max: -1n })),
  user_id: fc.bigInt({ min: -15n, max: 15n }).map((number) => number * 2n ** 40n),
  created_at: fc.integer({ min: 1, max: 20 }).map((number) => number * 20_000_000_000),
  lang: fc.nat(3),
})

/** Returns the samples of these tweets, and the tweets that were left out. */
function added(tweets: readonly SampleTweet[]): { kept: Samples; leftOut: SampleTweet[] } {
  const to = { samples: NO_SAMPLES }
  const leftOut = tweets.flatMap((tweet) => {
    const left = addSample(to, samplesOf(tweet), 0)
    return left === undefined ? [] : sampledTweets(left)
  })
  return { kept: to.samples, leftOut }
}

function newestPerUser(all: readonly SampleTweet[]): SampleTweet[] {
  const newestFirst = all.toSorted((a, b) => b.created_at - a.created_at || (b.tweet_id > a.tweet_id ? 1 : -1))
  return newestFirst.filter((each, i) => newestFirst.findIndex((other) => other.user_id === each.user_id) === i).slice(0, KEPT_SAMPLES)
}

test('whatever the order of arrival, the samples are the newest tweets of distinct users, and all remaining tweets are returned', () => {
  fc.assert(
    fc.property(fc.uniqueArray(sample, { selector: (each) => each.tweet_id, ...SIZE }), (all) => {
      const { kept, leftOut } = added(all)
      const newest = newestPerUser(all)
      expect(sampledTweets(kept)).toEqual(newest)
      expect(new Set([...newest, ...leftOut].map(({ tweet_id }) => tweet_id))).toEqual(new Set(all.map(({ tweet_id }) => tweet_id)))
      expect(leftOut).toHaveLength(all.length - newest.length)
    }),
  )
})

test('merging the samples of parts gives the samples of all tweets', () => {
  fc.assert(
    fc.property(fc.uniqueArray(sample, { selector: (each) => each.tweet_id, ...SIZE }), fc.nat(30), (all, cut) => {
      const parts = [all.slice(0, cut), all.slice(cut)].map((part) => sampledTweets(added(part).kept))
      expect(sampledTweets(added(parts.flat()).kept)).toEqual(newestPerUser(all))
    }),
  )
})
