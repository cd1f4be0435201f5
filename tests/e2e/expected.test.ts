import { expect, test } from 'vitest'
import { termKey } from '../../schemas/trends/term.ts'
import { earlierLists } from './earlier-lists.ts'
import { expectedLists, type KnownTweet } from './expected.ts'
import type { PublishedEntry, PublishedList } from './log.ts'
import type { Past } from './past.ts'

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

interface Wanted {
  readonly variants?: readonly string[]
  readonly usual?: number
  readonly users?: number
  readonly label?: string | null
}

/** Returns an entry with the velocity and the score that follow from the count and the usual count. */
function entryOf(
  term: string,
  tweet_volume: number,
  { usual = 0, users = tweet_volume, label = null, variants = [] }: Wanted = {},
): PublishedEntry {
  const velocity = tweet_volume / Math.max(1, usual)
  return { term, tweet_volume, velocity_vs_usual: velocity, score: tweet_volume * Math.log2(1 + velocity), users, label, variants }
}

function listOf(entries: readonly PublishedEntry[], window_end = NOON): PublishedList {
  return { woeid: WORLD, window_end, source: 'pipeline', missing_partitions: 0, entries }
}

function faults(...counts: [term: string, tweet_volume: number][]): string[] {
  return expected.faults(listOf(counts.map(([term, tweet_volume]) => entryOf(term, tweet_volume))))
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
    /b \(1\) is above a \(3.16/,
  ],
] as const)('a term that is %s is reported', (_, counts, reason) => {
  expect(faults(...counts.map(([term, volume]): [string, number] => [term, volume]))).toContainEqual(expect.stringMatching(reason))
})

test('variants that share tweets with their trend are correct, and all others are reported', () => {
  const together = Array.from({ length: 5 }, (_, i) => known(BigInt(i), ['a', 'b'], NOON - 1_000))
  const apart = Array.from({ length: 4 }, (_, i) => known(BigInt(10 + i), ['c'], NOON - 1_000))
  const judge = expectedLists([...together, ...apart])
  const folded = (...entries: [term: string, tweet_volume: number, ...variants: string[]][]) =>
    judge.faults(listOf(entries.map(([term, tweet_volume, ...variants]) => entryOf(term, tweet_volume, { variants }))))
  expect(folded(['a', 5, '#B'], ['c', 4])).toEqual([])
  expect(folded(['a', 5], ['b', 5], ['c', 4])).toEqual([])
  expect(folded(['a', 5, 'b', 'c'])).toEqual([expect.stringMatching(/a \(5\) and c \(4\) have 0 tweets/)])
  expect(folded(['a', 5, 'b'], ['b', 5], ['c', 4])).toEqual([expect.stringMatching(/a term is listed twice/)])
  expect(folded(['c', 4, 'a'], ['b', 5])).toContainEqual(expect.stringMatching(/c \(4\) and a \(5\)/))
})

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const WEEK_HOURS = 168
const EARLIER_MEAN = 2
/** Usual counts of the terms with a baseline. The term "new" has none. */
const USUAL = { viral: 2, trending: 10, usual: 20 }
const COUNTS = { viral: 30, trending: 40, usual: 30, new: 25 }
/**
 * End of a window that covers the second half of one hour and the first half of the next. The usual count of a term in
 * this window lies between its usual counts in the two hours.
 */
const HALF_PAST = NOON + 30 * MINUTE

function pastOf({ firstList }: { firstList: number }): Past {
  const lastWeek = NOON / HOUR - WEEK_HOURS
  const baselines = Object.entries(USUAL).map(([term, usual]) => {
    // The two hours of the window have different counts, with the given mean.
    const counts = new Map([
      [lastWeek - 1, usual * 0.5],
      [lastWeek, usual * 1.5],
    ])
    return [termKey(WORLD, term), { since: lastWeek - 24, counts }] as const
  })
  const history = { first_list: firstList, moments: [{ window_end: HALF_PAST - MINUTE, mean: EARLIER_MEAN }] }
  return { baselines: new Map(baselines), histories: new Map([[WORLD, history]]) }
}

const tweets = Object.entries(COUNTS).flatMap(([term, count], place) =>
  Array.from({ length: count }, (_, i) => known(BigInt(1_000 * place + i), [term], HALF_PAST - MINUTE)),
)
const labelled = () => expectedLists(tweets, undefined, earlierLists(pastOf({ firstList: HALF_PAST - 2 * HOUR })))
/** The correct list for these tweets. The score of "new" is above that of "trending", although its count is lower. */
const right = {
  viral: entryOf('viral', 30, { usual: USUAL.viral, label: 'Viral' }),
  new: entryOf('new', 25, { usual: EARLIER_MEAN, label: 'Viral' }),
  trending: entryOf('trending', 40, { usual: USUAL.trending, label: 'Trending' }),
  usual: entryOf('usual', 30, { usual: USUAL.usual }),
}
const faultsOf = (entries: Partial<typeof right>, judge = labelled()) => judge.faults(listOf(Object.values(entries), HALF_PAST))

test('a list with the labels and scores that follow from baselines and the earlier mean has no fault', () => {
  expect(faultsOf(right)).toEqual([])
})

test.each([
  ['a missing label', { ...right, viral: { ...right.viral, label: null } }, /viral has the label null instead of Viral/],
  ['a wrong label', { ...right, trending: { ...right.trending, label: 'Viral' } }, /trending has the label Viral instead of Trending/],
  [
    'a label of a term with a low velocity',
    { ...right, usual: { ...right.usual, label: 'Trending' } },
    /usual has the label Trending instead of null/,
  ],
  ['a wrong score', { ...right, trending: { ...right.trending, score: right.trending.score + 1e-5 } }, /trending has the score 92.8/],
  [
    'a baseline that is ignored',
    { ...right, usual: entryOf('usual', 30, { usual: EARLIER_MEAN, label: 'Viral' }) },
    /usual \(30\) has the velocity 15 instead of 1.5/,
  ],
  [
    'a new term that is compared with a wrong mean',
    { ...right, new: entryOf('new', 25, { usual: 2.01, label: 'Viral' }) },
    /new \(25\) has the velocity 12.43\d* instead of 12.5/,
  ],
  [
    'a number of users that is too low',
    { ...right, viral: entryOf('viral', 30, { usual: USUAL.viral, users: 19 }) },
    /viral has 19 users instead of 30 to 30/,
  ],
  ['a missing term with a label', { viral: right.viral, new: right.new, usual: right.usual }, /trending \(Trending, 40\) is missing/],
  ['a missing term with a baseline', { viral: right.viral, trending: right.trending, new: right.new }, /usual \(30\) is missing/],
  [
    'a wrong order',
    { trending: right.trending, viral: right.viral, new: right.new, usual: right.usual },
    /trending \(92.8\d*\) is above viral \(120/,
  ],
  [
    'an order by count instead of score',
    { trending: right.trending, usual: right.usual, viral: right.viral, new: right.new },
    /usual \(39.6\d*\) is above viral/,
  ],
])('%s is reported', (_, entries, reason) => {
  expect(faultsOf(entries)).toContainEqual(expect.stringMatching(reason))
})

test('a region whose first list is less than two hours old has no labels', () => {
  const judge = () => expectedLists(tweets, undefined, earlierLists(pastOf({ firstList: HALF_PAST - 2 * HOUR + 1 })))
  const without = Object.values(right).map((entry) => ({ ...entry, label: null }))
  expect(faultsOf(Object.fromEntries(without.map((entry) => [entry.term, entry])), judge())).toEqual([])
  expect(faultsOf(right, judge())).toHaveLength(3)
})

test('new terms are compared with the mean of the published list of a minute earlier, and all of them with the same mean', () => {
  // One of the tweets with "variant", which is published without its count, may be missing from the first list.
  const together = Array.from({ length: 9 }, (_, i) => known(BigInt(i), ['lead', 'variant'], NOON - MINUTE))
  const late = known(50n, ['variant'], NOON - MINUTE, NOON + 10_000)
  const alone = known(60n, ['lead'], NOON - MINUTE)
  const single = Array.from({ length: 6 }, (_, i) => known(BigInt(100 + i), ['single'], NOON - MINUTE))
  const secondList = (...means: [lead: number, single: number]) => {
    const judge = expectedLists([...together, late, alone, ...single])
    expect(judge.faults(listOf([entryOf('lead', 10, { variants: ['variant'] }), entryOf('single', 6)]))).toEqual([])
    const [lead, other] = means
    return judge.faults(
      listOf([entryOf('lead', 10, { usual: lead, variants: ['variant'] }), entryOf('single', 6, { usual: other })], NOON + MINUTE),
    )
  }
  expect(secondList(25 / 3, 25 / 3)).toEqual([])
  expect(secondList(26 / 3, 26 / 3)).toEqual([])
  expect(secondList(25 / 3, 26 / 3)).toEqual([expect.stringMatching(/single \(6\) has the velocity 0.69\d* instead of 0.72/)])
  expect(secondList(8.3, 8.3)).toContainEqual(expect.stringMatching(/lead \(10\) has the velocity 1.20/))
})
