import { expect, test } from 'vitest'
import { drawnRegions, listFaults } from '../../../bench/trends/offline-lists.ts'
import { pathOf, regions } from '../../../schemas/trends/places/regions.ts'
import type { Tweet } from '../../../schemas/trends/types.ts'
import { seededRandom } from '../../../tools/random/random.ts'

const END = Date.UTC(2026, 0, 1, 12)
const MINUTE_MS = 60_000
const CITY = regions.find(({ type, woeid }) => type === 'Town' && pathOf(woeid)?.length === 3)!.woeid

function tweet(user: number, terms: readonly string[], minutesAgo = 1): Tweet {
  return {
    tweet_id: BigInt(user),
    user_id: BigInt(user),
    text: '',
    hashtags: [...terms],
    phrases: [],
    lang: 'en',
    woeid: CITY,
    bot_score: 0,
    created_at: END - minutesAgo * MINUTE_MS,
  }
}

function served(...trends: [name: string, tweet_volume: number, variants?: string[]][]) {
  const list = {
    as_of: new Date(END).toISOString(),
    trends: trends.map(([name, tweet_volume, variants = []]) => ({ name, tweet_volume, variants })),
  }
  return new Map([[CITY, list]])
}

const TWEETS = [tweet(1, ['#a', 'b']), tweet(2, ['A']), tweet(3, ['b', 'c']), tweet(4, ['a'])]

test('a list whose counts, order and terms agree with the tweets has no errors', () => {
  expect(listFaults(served(['#a', 3], ['b', 2], ['c', 1]), [TWEETS])).toEqual([])
  expect(listFaults(served(['#a', 3, ['b']], ['c', 1]), [TWEETS])).toEqual([])
})

test('a wrong count, a wrong order and a missing term are reported', () => {
  expect(listFaults(served(['#a', 2], ['b', 2]), [TWEETS])).toEqual([`${CITY}: #a has 2 instead of 3 tweets`])
  expect(listFaults(served(['b', 2], ['#a', 3]), [TWEETS])).toEqual([`${CITY}: #a is below a term with fewer tweets`])
  expect(listFaults(served(['#a', 3], ['c', 1]), [TWEETS])).toEqual([`${CITY}: b with 2 tweets is missing`])
})

test('for each term, at most three tweets of one user count, and only tweets of the last hour count', () => {
  const often = Array.from({ length: 5 }, () => tweet(9, ['mine']))
  expect(listFaults(served(['mine', 3]), [often])).toEqual([])
  const old = [tweet(1, ['old'], 61), tweet(2, ['old'], 60)]
  expect(listFaults(served(['old', 1]), [old])).toEqual([])
})

test('drawn regions begin with the world and contain no region twice', () => {
  const drawn = drawnRegions(10, seededRandom(1))
  expect(drawn[0]).toBe(1)
  expect(new Set(drawn).size).toBe(10)
})
