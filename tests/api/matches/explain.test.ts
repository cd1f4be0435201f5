import { expect, test } from 'vitest'
import { ApiError } from '../../../api/kit/errors.ts'
import { matchesErrors } from '../../../api/matches/errors.ts'
import { explainRoutes } from '../../../api/matches/explain.ts'
import type { MatchProfile } from '../../../schemas/matches/types.ts'
import { formatMember } from '../../../state/views/matches/candidates/index-member.ts'
import { MATCH_INDEX_VIEW } from '../../../state/views/matches/index-cells.ts'
import { parseRecent, severedField } from '../../../state/views/matches/recent.ts'
import { MATCH_USERS_VIEW, userKeys } from '../../../state/views/matches/users.ts'
import { fakeRedis } from '../../state/views/fake-redis.ts'
import { START } from '../kit/harness.ts'

const HERE = { lat: 37.77, lon: -122.42 }
const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
const [ANN, TOO_OLD, BLOCKED, GOOD, FAR] = [0, 1, 2, 3, 4].map(idOf)

const profile: MatchProfile = {
  user_id: ANN,
  display_name: 'Ann',
  birth_date: '1990-05-01',
  gender: 'f',
  seeking_gender: [],
  bio: null,
  min_age_pref: 18,
  max_age_pref: 50,
  max_dist_km: 50,
  is_active: true,
  photo_urls: [],
  created_at: START,
  updated_at: START,
  deleted_at: null,
}

function member(userId: string, more: object = {}): string {
  return formatMember({
    userId,
    version: START,
    place: HERE,
    birthDate: '1990-05-01',
    gender: 'm',
    seekingGender: [],
    minAge: 18,
    maxAge: 99,
    elo: 1_500,
    lastActiveAt: START,
    completeness: 1,
    ...more,
  })
}

/** Returns a fake index that behaves like a sorted set whose members all have the same score. */
function indexOf(members: readonly string[]) {
  const { reader, caughtUp } = fakeRedis()
  for (const view of [MATCH_USERS_VIEW, MATCH_INDEX_VIEW]) caughtUp(view, 1)
  return {
    ...reader,
    async zrangebylex(_key: string, min: string, max: string, offset: number, count: number) {
      const found = [...members].sort().filter((one) => one >= min.slice(1) && one < max.slice(1))
      return found.slice(offset, offset + count)
    },
  }
}

async function explained(members: readonly string[], place = `${HERE.lat} ${HERE.lon} ${START}`) {
  const state = {
    profile,
    self: undefined,
    recent: parseRecent({ ...(place === '' ? {} : { place }), [severedField(BLOCKED, 'blocked')]: '1' }),
    seenPages: {},
    stack: undefined,
  }
  const people = { own: async () => state, keysOf: (userId: string) => userKeys(0, userId) }
  const deps = { views: indexOf(members), people, partitionOfCell: () => 0, now: () => START } as unknown as Parameters<
    typeof explainRoutes
  >[0]
  const [{ handler }] = explainRoutes(deps)
  const answer = await handler({ query: { user: ANN } } as Parameters<typeof handler>[0])
  return JSON.parse(answer.body as string)
}

test('if the location of the explained user is not known, the error names this user instead of addressing the administrator', async () => {
  await expect(explained([], '')).rejects.toMatchObject({
    definition: matchesErrors.location_required,
    message: `The location of user ${ANN} is not known.`,
  })
})

test('a search is explained cell by cell, and every other user counts once, with the first reason for which the search excludes the user', async () => {
  const north = { lat: HERE.lat + 0.1, lon: HERE.lon }
  const body = await explained([
    member(ANN),
    member(TOO_OLD, { birthDate: '1950-05-01' }),
    member(BLOCKED),
    member(GOOD),
    // Adds an older version of the same user in a cell that the user has left.
    member(GOOD, { place: north, version: START - 1 }),
    // The search visits the cell of this user, because the nearest part of the cell is within 50 km.
    member(FAR, { place: { lat: HERE.lat + 0.46, lon: HERE.lon } }),
  ])
  expect(body).toMatchObject({ user: ANN, passed: 1 })
  const [found, ...others] = body.cells.filter(({ examined }: { examined: number }) => examined > 0)
  expect(found).toMatchObject({ geohash: '9q8yy7', examined: 3, passed: 1, excluded: { age: 1, blocked: 1 } })
  expect(found.people).toEqual([
    { user_id: TOO_OLD, excluded_by: 'age' },
    { user_id: BLOCKED, excluded_by: 'blocked' },
    { user_id: GOOD, excluded_by: null },
  ])
  expect(others).toMatchObject([{ examined: 1, passed: 0, excluded: { distance: 1 } }])
  expect(body.cells.every(({ geohash }: { geohash: string }) => geohash.length >= 4 && geohash.length <= 6)).toBe(true)
  expect(new Set(body.cells.map(({ geohash }: { geohash: string }) => geohash)).size).toBe(body.cells.length)
})

test('the explanation of a cell counts all its users but names only ten of them, and contains no coordinates of users', async () => {
  const body = await explained(Array.from({ length: 60 }, (_, index) => member(idOf(index + 10))))
  expect(body).toMatchObject({ examined: 60, passed: 60 })
  expect(body.cells[4]).toMatchObject({ geohash: '9q8yy7', examined: 60, passed: 60, excluded: {} })
  expect(body.cells[4].people).toHaveLength(10)
  // A search that finds enough users in the smallest cells does not visit larger cells.
  expect(body.cells).toHaveLength(9)
  expect(Object.keys(body.cells[4]).sort()).toEqual(['bounds', 'examined', 'excluded', 'geohash', 'passed', 'people'])
})

test('if the explained user has no profile, the error says so instead of asking the administrator to create a profile', async () => {
  const missing = new ApiError(matchesErrors.profile_not_found, { message: 'You have no profile.' })
  const deps = { people: { own: async () => Promise.reject(missing) }, now: () => START } as unknown as Parameters<typeof explainRoutes>[0]
  const [{ handler }] = explainRoutes(deps)
  for (const query of [{ user: ANN }, { user: ANN, candidate: GOOD }])
    await expect(handler({ query } as Parameters<typeof handler>[0])).rejects.toEqual(new ApiError(matchesErrors.profile_not_found))
})
