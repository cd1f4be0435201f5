import { expect, test } from 'vitest'
import { regionOf } from '../../../../schemas/trends/places/regions.ts'
import { type DemoKind, demoStream } from '../../../../tools/demo/trends/stream.ts'

const START = Date.UTC(2026, 0, 1)
const RATE = 50

function take(count: number, seed = 1) {
  const stream = demoStream({ seed, rate: RATE, startAt: START })
  return Array.from({ length: count }, () => stream.next())
}

test('a seed determines the whole stream', () => {
  expect(take(500)).toEqual(take(500))
  expect(take(50, 2)).not.toEqual(take(50, 1))
})

test('timestamps advance at the requested rate', () => {
  const events = take(10_000)
  expect(events.every((event, i) => i === 0 || event.at >= events[i - 1].at)).toBe(true)
  const seconds = (events[events.length - 1].at - START) / 1_000
  expect(events.length / seconds).toBeGreaterThan(RATE * 0.9)
  expect(events.length / seconds).toBeLessThan(RATE * 1.1)
})

test('the stream contains every kind of record that the pipeline must handle', () => {
  const kinds = Map.groupBy(take(40_000), (event) => event.kind)
  const wanted: DemoKind[] = ['ordinary', 'storm', 'bot', 'spammer', 'late', 'too_late', 'ahead', 'malformed']
  for (const kind of wanted) expect(kinds.get(kind)?.length ?? 0, kind).toBeGreaterThan(0)
  expect(kinds.get('bot')?.every(({ tweet }) => (tweet?.bot_score ?? 0) > 0.7)).toBe(true)
  expect(kinds.get('malformed')?.every(({ tweet }) => tweet === undefined)).toBe(true)
})

test('tweets come from known cities, and their ids exceed 2^53', () => {
  const tweets = take(2_000).flatMap(({ tweet }) => tweet ?? [])
  expect(tweets.every(({ woeid }) => regionOf(woeid)?.type === 'Town')).toBe(true)
  expect(tweets.every(({ tweet_id }) => tweet_id > 2n ** 53n)).toBe(true)
  expect(new Set(tweets.map(({ tweet_id }) => tweet_id)).size).toBe(tweets.length)
})

test('all tweets about a local event come from its place', () => {
  const stream = demoStream({ seed: 3, rate: RATE, startAt: START })
  const events = Array.from({ length: RATE * 600 }, () => stream.next())
  const [burst] = stream.happening(events[events.length - 1].at)
  const about = events.filter(({ tweet }) => tweet?.hashtags.some((tag) => tag.toLowerCase() === burst.hashtag.toLowerCase()))
  expect(about.length).toBeGreaterThan(20)
  const inPlace = about.filter(({ tweet }) => [tweet?.woeid, regionOf(tweet?.woeid ?? 0)?.parent, 1].includes(burst.place.woeid))
  expect(inPlace.length).toBe(about.length)
})
