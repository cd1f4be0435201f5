import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addSample, KEPT_SAMPLES } from '../../../pipelines/trends/samples.ts'
import type { SampleTweet } from '../../../schemas/trends/types.ts'

/** Size of the generated lists. Lists of the default size rarely exceed the number of samples that are kept. */
const SIZE = { size: 'large', maxLength: 60 } as const

const sample = fc.record({
  tweet_id: fc.bigInt({ min: 2n ** 60n, max: 2n ** 60n + 1000n }),
  user_id: fc.bigInt({ min: 1n, max: 30n }),
  created_at: fc.integer({ min: 1, max: 20 }),
  lang: fc.nat(3),
})

function newestPerUser(all: readonly SampleTweet[]): SampleTweet[] {
  const newestFirst = all.toSorted((a, b) => b.created_at - a.created_at || Number(b.tweet_id - a.tweet_id))
  return newestFirst.filter((each, i) => newestFirst.findIndex((other) => other.user_id === each.user_id) === i).slice(0, KEPT_SAMPLES)
}

test('keeps the newest tweets of distinct users, in any order of arrival', () => {
  fc.assert(
    fc.property(fc.uniqueArray(sample, { selector: (each) => each.tweet_id, ...SIZE }), (all) => {
      const samples: SampleTweet[] = []
      for (const each of all) addSample(samples, each)
      expect(samples).toEqual(newestPerUser(all))
    }),
  )
})

test('merging the samples of parts gives the samples of all tweets', () => {
  fc.assert(
    fc.property(fc.uniqueArray(sample, { selector: (each) => each.tweet_id, ...SIZE }), fc.nat(30), (all, cut) => {
      const parts = [all.slice(0, cut), all.slice(cut)].map((part) => {
        const samples: SampleTweet[] = []
        for (const each of part) addSample(samples, each)
        return samples
      })
      const whole: SampleTweet[] = []
      for (const each of parts.flat()) addSample(whole, each)
      expect(whole).toEqual(newestPerUser(all))
    }),
  )
})
