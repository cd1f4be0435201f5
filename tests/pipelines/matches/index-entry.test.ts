import { expect, test } from 'vitest'
import { indexEntry } from '../../../pipelines/matches/users/index-entry.ts'
import { NEW_USER } from '../../../pipelines/matches/users/user-state.ts'
import type { MatchUser } from '../../../schemas/matches/types.ts'
import { firstFailed } from '../../../state/views/matches/candidates/filters.ts'
import { parseMember } from '../../../state/views/matches/candidates/index-member.ts'
import { integer, pick, seededRandom } from '../../../tools/random/random.ts'
import { ANN, BOB } from './swipes.ts'

const HOUR_MS = 3_600_000
const CHANGES = 300

test.each([1, 2, 3, 4, 5, 6])(
  'the index entry is the same with and without the previous state of the user as an argument (seed %i)',
  (seed) => {
    const random = seededRandom(seed)
    let now = 1_767_323_046_123
    let user: MatchUser = {
      ...NEW_USER,
      has_profile: true,
      is_active: true,
      birth_date: '1990-05-01',
      lat: 37,
      lon: -122,
      last_active_at: now,
    }
    let kept = 0
    for (let change = 0; change < CHANGES; change++) {
      now += integer(random, HOUR_MS)
      const changed: Partial<MatchUser> = pick(random, [
        {},
        { elo_score: user.elo_score + integer(random, 13) - 6 },
        { last_active_at: now - integer(random, 200 * HOUR_MS) },
        { last_active_at: now },
        { lat: 37 + integer(random, 2) },
        { lon: null },
        { lon: -122 },
        { gender: pick(random, ['f', null]) },
        { seeking_gender: pick(random, [[], ['m']]) },
        { min_age_pref: integer(random, 2) },
        { completeness: integer(random, 2) / 2 },
        { is_active: random() < 0.7 },
        { birth_date: pick(random, ['1990-05-01', '1991-05-01']) },
      ])
      const after = { ...user, ...changed }
      const index_key = indexEntry(ANN, after, now)
      expect([changed, indexEntry(ANN, after, now, user)]).toEqual([changed, index_key])
      if (index_key !== null && index_key === user.index_key) kept++
      user = { ...after, index_key }
    }
    expect(kept).toBeGreaterThan(CHANGES / 10)
  },
)

test('the version of an entry increases even if the clock goes back, so that searches never prefer an earlier place', () => {
  const at = 1_767_323_046_123
  const user = { ...NEW_USER, has_profile: true, is_active: true, birth_date: '1990-05-01', lat: 37, lon: -122, last_active_at: at }
  const first = indexEntry(ANN, user, at)!
  const moved = { ...user, lat: 38, index_key: first }
  for (const now of [at - HOUR_MS, at, at + 5])
    expect(parseMember(indexEntry(ANN, moved, now, { ...user, index_key: first })!).version).toBe(Math.max(now, at + 1))
})

test('users can be found until seven days after their last activity, and are then removed', () => {
  const random = seededRandom(7)
  const described = { ...NEW_USER, has_profile: true, is_active: true, birth_date: '1990-05-01', max_age_pref: 99, lat: 37, lon: -122 }
  for (let sample = 0; sample < 100; sample++) {
    const last_active_at = 1_767_323_046_123 + integer(random, 24 * HOUR_MS)
    const member = parseMember(indexEntry(ANN, { ...described, last_active_at }, last_active_at)!)
    const viewer = { ...member, userId: BOB, maxDistanceKm: 50 }
    const end = last_active_at + 7 * 24 * HOUR_MS
    for (const now of [last_active_at, end - 1]) expect([sample, firstFailed(viewer, member, now)]).toEqual([sample, undefined])
    expect(indexEntry(ANN, { ...described, last_active_at }, end)).toBeNull()
    // Even if the worker does not remove the entry, searches do not find the user from six hours after the seven days.
    expect(firstFailed(viewer, member, end + 6 * HOUR_MS)).toBe('active')
  }
})
