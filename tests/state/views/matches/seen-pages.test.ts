import { expect, test } from 'vitest'
import { utf8 } from '../../../../schemas/keys.ts'
import { pageKey } from '../../../../schemas/matches/keys.ts'
import { SEEN_SHAPE } from '../../../../schemas/matches/seen.ts'
import type { MatchProfile } from '../../../../schemas/matches/types.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { seenSetStore } from '../../../../state/stores/seen-set-store.ts'
import { MATCH_USERS_VIEW, matchUsersView } from '../../../../state/views/matches/users.ts'
import { exclusionsOf, readUser } from '../../../../state/views/matches/viewer.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { openStore } from '../../stores/harness.ts'
import { fakeRedis } from '../fake-redis.ts'

const NOW = Date.UTC(2026, 5, 15, 12)
const SWIPES = 50_000
const ASKED = 20_000
const DAY_MS = 24 * 3_600_000
/** The swipes are spread over this time. */
const WITHIN_MS = 29 * DAY_MS
const MAX_FALSE_POSITIVES = 0.01

const ANN: MatchProfile = {
  user_id: userId('a', 0),
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

test('after 50,000 swipes, the pages in the view show all targets as swiped, and at most 1 % of other users', async () => {
  const seen = seenSetStore('seen', { key: utf8, item: utf8, ...SEEN_SHAPE })
  openStore(seen, memoryBackend())
  for (let index = 0; index < SWIPES; index++)
    seen.add(ANN.user_id, userId('b', index), NOW - WITHIN_MS + Math.floor((index * WITHIN_MS) / SWIPES))
  const redis = fakeRedis()
  redis.apply(matchUsersView.operationsFor(0, ANN.user_id, { view: ANN, result: null }))
  for (const { page, bytes } of seen.pages(ANN.user_id))
    redis.apply(matchUsersView.operationsFor(0, pageKey(ANN.user_id, page), { page: bytes, swipes: [], self: null }))
  redis.caughtUp(MATCH_USERS_VIEW, 1)

  const state = await readUser(redis.reader, 0, ANN.user_id)
  if (state === undefined || state === NOT_CAUGHT_UP) throw new Error('the view does not have the user')
  const exclusion = exclusionsOf(state, NOW)
  const countSwiped = (group: string, count: number) =>
    Array.from({ length: count }, (_, index) => exclusion(userId(group, index), undefined)).filter((found) => found === 'swiped').length
  expect(countSwiped('b', SWIPES)).toBe(SWIPES)
  expect(countSwiped('c', ASKED) / ASKED).toBeLessThanOrEqual(MAX_FALSE_POSITIVES)
})

test('a page of the seen-set that cannot be read counts as empty, so the feed still works', () => {
  const state = { self: undefined, recent: { swipes: new Map(), severed: new Map() }, seenPages: { 0: Buffer.from([3, 255]) } }
  const exclusion = exclusionsOf(state as unknown as Parameters<typeof exclusionsOf>[0], NOW)
  expect(exclusion(userId('b', 0), undefined)).toBeUndefined()
})
