import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addAllNewest, addNewest } from '../../../pipelines/trends/cells.ts'
import { addAllDrawn, addDrawn, DRAWN_TWEETS, drawFrom, drawHash, NONE_DRAWN } from '../../../pipelines/trends/drawn-tweets.ts'
import { NO_SAMPLES, type SampleTweet, sampledTweets, samplesOf } from '../../../pipelines/trends/samples.ts'

const MINUTE_MS = 60_000
/** Minutes since 1970; the first minute of a period. */
const START = 29_000_000
const PERIOD = 20
const WINDOW = 60

/** Generates tweets from numbers. Equal numbers give equal tweets. */
const tweet = fc.nat(400).map(
  (number): SampleTweet => ({
    tweet_id: 2n ** 60n + BigInt(number),
    user_id: BigInt(number % 61),
    created_at: (START + ((number * 7) % 66)) * MINUTE_MS,
    lang: 0,
  }),
)

function leastHashes(tweets: readonly SampleTweet[]): SampleTweet[] {
  return [...tweets].sort((a, b) => drawHash(a.tweet_id) - drawHash(b.tweet_id)).slice(0, DRAWN_TWEETS)
}

function minuteOf({ created_at }: SampleTweet): number {
  return created_at / MINUTE_MS
}

function naive(tweets: readonly SampleTweet[], firstMinute: number): bigint[] {
  const distinct = [...new Map(tweets.map((each) => [each.tweet_id, each])).values()]
  const periods = Map.groupBy(distinct, (each) => Math.floor(minuteOf(each) / PERIOD))
  const drawn = [...periods.values()].flatMap(leastHashes)
  const inWindow = drawn.filter((each) => minuteOf(each) >= firstMinute)
  return inWindow.length < 4 ? [] : leastHashes(inWindow).map(({ tweet_id }) => tweet_id)
}

test('combining the samples and drawn tweets of several parts gives the same drawn tweets as drawing from all tweets', () => {
  const parts = fc.array(fc.array(tweet, { maxLength: 120 }), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(parts, fc.nat(WINDOW + 5), (all, first) => {
      const whole = { samples: NO_SAMPLES, drawn: NONE_DRAWN }
      for (const part of all) {
        const cell = { samples: NO_SAMPLES, drawn: NONE_DRAWN }
        for (const each of part) addNewest(cell, samplesOf(each), 0)
        addAllNewest(whole, cell.samples)
        whole.drawn = addAllDrawn(whole.drawn, cell.drawn)
      }
      expect(drawFrom(sampledTweets(whole.samples), whole.drawn, START + first)).toEqual(naive(all.flat(), START + first))
    }),
    { numRuns: 200 },
  )
})

test('a tweet that would not be drawn, or was already drawn, changes nothing', () => {
  let drawn = NONE_DRAWN
  const at = START * MINUTE_MS
  const ids = Array.from({ length: 200 }, (_, i) => 2n ** 60n + BigInt(i)).sort((a, b) => drawHash(a) - drawHash(b))
  for (const tweet_id of ids) drawn = addDrawn(drawn, { tweet_id, created_at: at })
  expect(addDrawn(drawn, { tweet_id: ids[DRAWN_TWEETS], created_at: at })).toBe(drawn)
  expect(addDrawn(drawn, { tweet_id: ids[0], created_at: at })).toBe(drawn)
  expect(drawFrom([], drawn, START)).toEqual(ids.slice(0, DRAWN_TWEETS))
})

test('periods that no window reaches are dropped, and late tweets for them are not kept', () => {
  let drawn = NONE_DRAWN
  for (let minute = START; minute < START + 400; minute += 5)
    drawn = addDrawn(drawn, { tweet_id: BigInt(minute), created_at: minute * MINUTE_MS })
  // Five periods are kept. Each takes a header of 5 bytes, and four tweets of 9 bytes.
  expect(drawn.length).toBe(5 * (5 + 4 * 9))
  expect(addDrawn(drawn, { tweet_id: 1n, created_at: (START + 299) * MINUTE_MS })).toBe(drawn)
  expect(addDrawn(drawn, { tweet_id: 1n, created_at: (START + 300) * MINUTE_MS }).length).toBe(drawn.length + 9)
})

test('hashes are spread evenly, even for equally spaced ids', () => {
  const ids = 20_000
  const counts = new Array<number>(20).fill(0)
  for (let i = 0; i < ids; i++) counts[Math.floor(drawHash(2n ** 60n + BigInt(i) * 4096n) / (2 ** 53 / counts.length))]++
  for (const count of counts) expect(Math.abs(count - ids / counts.length)).toBeLessThan(150)
})
