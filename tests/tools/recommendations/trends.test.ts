import { expect, test } from 'vitest'
import { HALF_LIFE_MS } from '../../../schemas/recommendations/signals/half-lives.ts'
import { ALL_USERS } from '../../../schemas/recommendations/signals/trend-groups.ts'
import { integer, seededRandom } from '../../../tools/random/random.ts'
import { trends } from '../../../tools/recommendations/replay/trends.ts'

const ITEMS = 3_000
const EVENTS = 12_000
const LISTED = 500
const MINUTE = 60_000
const HOUR = 60 * MINUTE

test('the list contains the items with the highest decayed weights, whether they became popular early or late', () => {
  const random = seededRandom(5)
  const trending = trends()
  const past: { readonly itemId: bigint; readonly at: number; readonly weight: number }[] = []
  for (let event = 0; event < EVENTS; event++) {
    // Some items become popular early, and others late.
    const itemId = BigInt(1 + ((Math.floor(event / 4) + integer(random, 1_200)) % ITEMS))
    const [at, weight] = [event * MINUTE, 0.5 + random()]
    past.push({ itemId, at, weight })
    trending.add(itemId, [{ at, weight, country: null, age_bucket: null } as never])
    if (event % 3_000 !== 2_999) continue
    const sums = new Map<bigint, number>()
    for (const one of past) {
      sums.set(one.itemId, (sums.get(one.itemId) ?? 0) + one.weight * 2 ** ((one.at - at) / HALF_LIFE_MS.trending))
    }
    const best = [...sums].sort(([, one], [, other]) => other - one).slice(0, LISTED)
    const listed = trending.listOf(ALL_USERS, at)?.item_ids ?? []
    expect(listed).toEqual(best.map(([itemId]) => itemId))
  }
})

test('an item disappears from the list once its weight has decayed below the minimum', () => {
  const trending = trends()
  const event = (at: number) => [{ at, weight: 1, country: null, age_bucket: null } as never]
  trending.add(1n, event(0))
  expect(trending.listOf(ALL_USERS, HOUR)?.item_ids).toEqual([1n])
  trending.add(2n, event(72 * HOUR))
  expect(trending.listOf(ALL_USERS, 72 * HOUR)?.item_ids).toEqual([2n])
})
