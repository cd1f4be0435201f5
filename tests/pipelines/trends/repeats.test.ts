import fc from 'fast-check'
import { expect, test } from 'vitest'
import { REMEMBERED_MINUTES, UserContributions, userContributions } from '../../../pipelines/trends/cap.ts'
import { addRepeats, NO_REPEATS, type Repeat, repeatsIn, type StoredRepeats, storeRepeat } from '../../../pipelines/trends/repeats.ts'
import { fingerprintOf } from '../../../pipelines/trends/term-fingerprint.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import { pathOf } from '../../../schemas/trends/places/regions.ts'

const START = 29_000_000
/** WOEIDs of New York, Chicago, London, the United States and the world. */
const PLACES = [2459115, 2379574, 44418, 23424977, 1]
const REGIONS = [...new Set(PLACES.flatMap((place) => pathOf(place) ?? []))]
const contribution = fc.record({
  user: fc.nat(3),
  place: fc.oneof({ weight: 3, arbitrary: fc.constant(PLACES[0]) }, { weight: 2, arbitrary: fc.constantFrom(...PLACES) }),
  /**
   * Delay of a tweet in minutes. About half of the tweets arrive immediately. The others are late, or their times are
   * in the future.
   */
  delay: fc.oneof(fc.constant(0), fc.integer({ min: -5, max: 59 })),
  pause: fc.oneof({ weight: 3, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(40) }),
})

interface Counted {
  readonly user: number
  readonly place: number
  readonly minute: number
}

function usersOf(counted: readonly Counted[], woeid: number, from: number, to: number): { contributions: number; users: number } {
  const there = counted.filter(({ place, minute }) => pathOf(place)!.includes(woeid) && minute >= from && minute <= to)
  return { contributions: there.length, users: new Set(there.map(({ user }) => user)).size }
}

test('in each region and window, the number of contributions minus the number of repeats is the number of distinct users', () => {
  fc.assert(
    fc.property(fc.array(contribution, { minLength: 1, maxLength: 40 }), (all) => {
      const codec = userContributions.open(0, new Map())
      const users = Array.from({ length: 4 }, () => new UserContributions())
      const counted: Counted[] = []
      const stored = new Map<number, StoredRepeats>(REGIONS.map((woeid) => [woeid, []]))
      let now = START
      for (const { user, place, delay, pause } of all) {
        now += pause
        const minute = now - delay
        const repeats = users[user].admit(fingerprintOf('sandy'), minute, place)
        users[user].forgetBefore(users[user].newest - REMEMBERED_MINUTES)
        const out = byteWriter()
        codec.encode(users[user], out)
        users[user] = codec.decode(out.buffer, 0, out.length)
        if (repeats === undefined) continue
        counted.push({ user, place, minute })
        for (const [level, woeid] of pathOf(place)!.entries())
          for (const repeat of repeats) if ((repeat.levels & (1 << level)) !== 0) storeRepeat(stored.get(woeid)!, repeat, now - 125)
        // Earlier window ends are checked as well, because a list that waits for a slower partition has a window that
        // ends in the past.
        for (const last of [now, now - 1, now - 20]) {
          for (const woeid of REGIONS) {
            const { contributions, users } = usersOf(counted, woeid, last - 59, last)
            expect(contributions - repeatsIn(stored.get(woeid)!, last - 59, last)).toBe(users)
          }
        }
      }
    }),
    { numRuns: 300 },
  )
})

test('a first contribution has no repeats, and a contribution in the same minute or up to 59 minutes later has one repeat', () => {
  const user = new UserContributions()
  expect(user.admit(fingerprintOf('a'), START, PLACES[0])).toBe(NO_REPEATS)
  expect(user.admit(fingerprintOf('a'), START, PLACES[0])).toEqual([{ earlier: START, later: START, count: 1, levels: 7 }])
  expect(user.admit(fingerprintOf('a'), START + 59, PLACES[0])).toEqual([{ earlier: START, later: START + 59, count: 1, levels: 7 }])
  expect(user.admit(fingerprintOf('a'), START + 119, PLACES[0])).toEqual([])
  // The last contribution repeats the first one in New York and the United States, and the second one worldwide.
  expect(user.admit(fingerprintOf('b'), START, PLACES[0])).toEqual([])
  expect(user.admit(fingerprintOf('b'), START + 1, PLACES[2])).toEqual([{ earlier: START, later: START + 1, count: 1, levels: 2 ** 2 }])
  expect(user.admit(fingerprintOf('b'), START + 2, PLACES[0])).toEqual([
    { earlier: START, later: START + 2, count: 1, levels: 2 ** 0 + 2 ** 1 },
    { earlier: START + 1, later: START + 2, count: 1, levels: 2 ** 2 },
  ])
})

test('a user has at most 16 places, and contributions from further places are compared only worldwide', () => {
  const user = new UserContributions()
  for (let place = 0; place < 40; place++) expect(user.admit(fingerprintOf(`t${place}`), START, 1_000 + place)).toEqual([])
  expect(user.places.length).toBe(16)
  expect(user.admit(fingerprintOf('t39'), START, 1_039)).toEqual([{ earlier: START, later: START, count: 1, levels: 1 }])
  user.forgetBefore(START + 1)
  expect(user.places).toEqual([])
})

test('repeats of cells are added up, and repeats that cancel out are dropped', () => {
  const repeat = (earlier: number, count: number): Repeat => ({ earlier, later: 9, count, levels: 7 })
  const known = addRepeats(NO_REPEATS, [repeat(1, 1), repeat(1, 2), repeat(2, 1)])
  expect(known).toEqual([repeat(1, 3), repeat(2, 1)])
  expect(addRepeats(known, [repeat(2, -1)])).toEqual([repeat(1, 3)])
})

test('old repeats are dropped when new ones are added', () => {
  const stored: StoredRepeats = []
  for (let minute = 0; minute < 1_000; minute++)
    storeRepeat(stored, { earlier: minute, later: minute + 1, count: 1, levels: 1 }, minute - 124)
  expect(stored.length).toBe(3 * 125)
  storeRepeat(stored, { earlier: 10, later: 11, count: 1, levels: 1 }, 876)
  expect(stored.length).toBe(3 * 125)
  expect(repeatsIn(stored, 990, 999)).toBe(9)
})
