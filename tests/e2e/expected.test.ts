import { expect, test } from 'vitest'
import { expectedLists, type KnownTweet } from './expected.ts'

const NOON = Date.UTC(2026, 0, 1, 12)
const WORLD = 1

function known(user: bigint, phrases: string[], createdAt: number, acknowledgedAt = createdAt): KnownTweet {
  const tweet = {
    tweet_id: user,
    user_id: user,
    text: '',
    hashtags: [],
    phrases,
    lang: 'en',
    woeid: WORLD,
    bot_score: 0,
    created_at: createdAt,
  }
  return { tweet, sentAt: createdAt, acknowledgedAt }
}

// The window contains two tweets with "a" and one with "b". A second tweet with "b" was acknowledged only after the
// window was due.
const expected = expectedLists([
  known(1n, ['a'], NOON - 1_000),
  known(2n, ['a', 'b'], NOON - 2_000),
  known(3n, ['b'], NOON - 3_000, NOON + 10_000),
  known(4n, ['old'], NOON - 3_601_000),
])

function faults(...counts: [term: string, tweet_volume: number][]): string[] {
  const entries = counts.map(([term, tweet_volume]) => ({ term, tweet_volume, variants: [] }))
  return expected.faults({ woeid: WORLD, window_end: NOON, source: 'pipeline', entries })
}

test('a correct list has no errors, whether or not it counts a tweet in flight', () => {
  expect(faults(['a', 2], ['b', 1])).toEqual([])
  expect(faults(['a', 2], ['b', 2])).toEqual([])
})

test('a window is exact if none of its tweets was in flight when it was due', () => {
  expect(expected.isExact(NOON)).toBe(false)
  expect(expected.isExact(NOON + 60_000)).toBe(true)
})

test.each([
  [
    'undercounted',
    [
      ['a', 1],
      ['b', 1],
    ],
    /a has 1 instead of 2 to 2/,
  ],
  [
    'overcounted',
    [
      ['a', 3],
      ['b', 1],
    ],
    /a has 3 instead of 2 to 2/,
  ],
  ['missing', [['a', 2]], /b \(1\) is missing/],
  [
    'never sent',
    [
      ['a', 2],
      ['b', 1],
      ['c', 1],
    ],
    /c has 1 instead of 0 to 0/,
  ],
  [
    'older than the window',
    [
      ['a', 2],
      ['b', 1],
      ['old', 1],
    ],
    /old has 1 instead of 0 to 0/,
  ],
  [
    'out of order',
    [
      ['b', 1],
      ['a', 2],
    ],
    /b \(1\) is above a \(2\)/,
  ],
] as const)('a term that is %s is reported', (_, counts, reason) => {
  expect(faults(...counts.map(([term, volume]): [string, number] => [term, volume]))).toContainEqual(expect.stringMatching(reason))
})

test('variants that share tweets with their trend are correct, and all others are reported', () => {
  const together = Array.from({ length: 5 }, (_, i) => known(BigInt(i), ['a', 'b'], NOON - 1_000))
  const apart = Array.from({ length: 4 }, (_, i) => known(BigInt(10 + i), ['c'], NOON - 1_000))
  const judge = expectedLists([...together, ...apart])
  const folded = (...entries: [term: string, tweet_volume: number, ...variants: string[]][]) =>
    judge.faults({
      woeid: WORLD,
      window_end: NOON,
      source: 'pipeline',
      entries: entries.map(([term, tweet_volume, ...variants]) => ({ term, tweet_volume, variants })),
    })
  expect(folded(['a', 5, '#B'], ['c', 4])).toEqual([])
  expect(folded(['a', 5], ['b', 5], ['c', 4])).toEqual([])
  expect(folded(['a', 5, 'b', 'c'])).toEqual([expect.stringMatching(/a \(5\) and c \(4\) have 0 tweets/)])
  expect(folded(['a', 5, 'b'], ['b', 5], ['c', 4])).toEqual([expect.stringMatching(/a term is listed twice/)])
  expect(folded(['c', 4, 'a'], ['b', 5])).toContainEqual(expect.stringMatching(/c \(4\) and a \(5\)/))
})
