import { expect, test } from 'vitest'
import { testDriver } from '../../../pipelines/engine/testing.ts'
import { matchUsers } from '../../../pipelines/matches/users/topology.ts'
import { matchProfiles, matchSeen, swipeEvents } from '../../../schemas/matches/topics.ts'
import type { MatchProfile } from '../../../schemas/matches/types.ts'
import { MATCH_USERS_VIEW, matchUsersView } from '../../../state/views/matches/users.ts'
import { exclusionsOf, readUser } from '../../../state/views/matches/viewer.ts'
import { NOT_CAUGHT_UP } from '../../../state/views/view.ts'
import { fakeRedis } from '../../state/views/fake-redis.ts'
import { ANN, swipe } from './swipes.ts'

const SWIPES = 50_000
/** Swipes between two commits, because a page that several of them change is then written once. */
const PER_COMMIT = 2_000
const ASKED = 20_000
const DAY_MS = 24 * 3_600_000
/** The swipes were made over this time. */
const WITHIN_MS = 29 * DAY_MS

const ANNS_PROFILE: MatchProfile = {
  user_id: ANN,
  display_name: 'Ann',
  birth_date: '1990-05-01',
  gender: null,
  seeking_gender: [],
  bio: null,
  min_age_pref: 18,
  max_age_pref: 99,
  max_dist_km: 50,
  is_active: true,
  photo_urls: [],
  created_at: 0,
  updated_at: 0,
  deleted_at: null,
}

function userId(group: string, index: number): string {
  return `${group}0000000-0000-4000-8000-${String(index).padStart(12, '0')}`
}

test('after 50,000 swipes the view knows them all and takes at most 1 % of others for swiped', async () => {
  const driver = testDriver(matchUsers, { commit: 'manual' })
  driver.pipe(matchProfiles, ANN, { view: ANNS_PROFILE, result: null })
  const start = driver.now - WITHIN_MS
  for (let index = 0; index < SWIPES; index++) {
    const ts = start + Math.floor((index * WITHIN_MS) / SWIPES)
    driver.pipe(swipeEvents, ANN, swipe(ANN, userId('b', index), 'LEFT', ts, `swipe-${index}`))
    if (index % PER_COMMIT === PER_COMMIT - 1) driver.settle()
  }
  const redis = fakeRedis()
  redis.apply(matchUsersView.operationsFor(0, ANN, { view: ANNS_PROFILE, result: null }))
  for (const { key, value } of driver.read(matchSeen)) redis.apply(matchUsersView.operationsFor(0, key as string, value))
  redis.caughtUp(MATCH_USERS_VIEW, 1)

  const state = await readUser(redis.reader, 0, ANN)
  if (state === undefined || state === NOT_CAUGHT_UP) throw new Error('the view does not have the user')
  const exclusion = exclusionsOf(state, driver.now)
  const countSwiped = (group: string, count: number) =>
    Array.from({ length: count }, (_, index) => exclusion(userId(group, index))).filter((found) => found === 'swiped').length
  expect(countSwiped('b', SWIPES)).toBe(SWIPES)
  expect(countSwiped('c', ASKED) / ASKED).toBeLessThanOrEqual(0.01)
})
