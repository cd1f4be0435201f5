import { expect, test } from 'vitest'
import { eloAfter } from '../../../../../state/views/matches/candidates/desirability.ts'
import { passes, verdicts } from '../../../../../state/views/matches/candidates/filters.ts'
import { formatMember, type IndexMember, parseMember } from '../../../../../state/views/matches/candidates/index-member.ts'
import { ageAt, type Candidate, type Viewer } from '../../../../../state/views/matches/candidates/person.ts'
import { inOrder, scoreOf } from '../../../../../state/views/matches/candidates/ranking.ts'

const NOW = Date.UTC(2026, 5, 15, 12)
const DAY_MS = 24 * 3_600_000

function candidate(more: Partial<Candidate> = {}): Candidate {
  return {
    userId: '0b000000-0000-4000-8000-000000000000',
    place: { lat: 37.779, lon: -122.42 },
    birthDate: '1990-05-01',
    gender: 'm',
    seekingGender: [],
    minAge: 18,
    maxAge: 99,
    elo: 1_500,
    lastActiveAt: NOW,
    completeness: 1,
    ...more,
  }
}

function viewer(more: Partial<Viewer> = {}): Viewer {
  return {
    ...candidate({ userId: '0a000000-0000-4000-8000-000000000000', place: { lat: 37.77, lon: -122.42 } }),
    maxDistanceKm: 50,
    ...more,
  }
}

test.each([
  ['1990-05-01', Date.UTC(2008, 3, 30, 23, 59), 17],
  ['1990-05-01', Date.UTC(2008, 4, 1), 18],
  ['2008-02-29', Date.UTC(2026, 1, 28, 23, 59), 17],
  ['2008-02-29', Date.UTC(2026, 2, 1), 18],
  ['2008-02-29', Date.UTC(2028, 1, 29), 20],
])('a user who was born on %s is, at the time %i, %i years old', (birthDate, now, age) => {
  expect(ageAt(birthDate, now)).toBe(age)
})

test.each<[string, Partial<Candidate>, Partial<Viewer>, string[]]>([
  ['suits', {}, {}, []],
  ['is the viewer', { userId: viewer().userId }, {}, ['self']],
  ['is of a gender that the viewer does not seek', {}, { seekingGender: ['f'] }, ['gender']],
  ['has no gender and the viewer seeks one', { gender: undefined }, { seekingGender: ['m'] }, ['gender']],
  ['has no gender and the viewer seeks everybody', { gender: undefined }, {}, []],
  ['seeks a gender that the viewer does not have', { seekingGender: ['f'] }, {}, ['gender_of_viewer']],
  ['is too young', {}, { minAge: 37 }, ['age']],
  ['is too old', {}, { maxAge: 35 }, ['age']],
  ['seeks younger users', { maxAge: 30 }, {}, ['age_of_viewer']],
  ['was active seven days ago', { lastActiveAt: NOW - 7 * DAY_MS }, {}, []],
  ['was active longer ago', { lastActiveAt: NOW - 7 * DAY_MS - 1 }, {}, ['active']],
  ['is too far away', { place: { lat: 38.4, lon: -122.42 } }, {}, ['distance']],
  ['is at the maximum distance', { place: { lat: 38.2, lon: -122.42 } }, {}, []],
])('exactly the expected filters exclude a candidate who %s', (_who, of, by, failed) => {
  const found = verdicts(viewer(by), candidate(of), NOW)
  expect(found.filter(({ passed }) => !passed).map(({ filter }) => filter)).toEqual(failed)
  expect(passes(viewer(by), candidate(of), NOW)).toBe(failed.length === 0)
})

test('the verdict about a candidate 300 m beyond the maximum distance shows a distance above the maximum', () => {
  const { lat, lon } = viewer().place
  const found = verdicts(viewer(), candidate({ place: { lat: lat + 50.3 / 111.195, lon } }), NOW)
  const verdict = found.find(({ filter }) => filter === 'distance')
  expect(verdict).toMatchObject({ passed: false, value: expect.closeTo(50.3, 2), allowed: 'at most 50 km' })
})

test('each part of the ranking raises the score, and all parts add up to 1', () => {
  const here = viewer({ place: candidate().place })
  expect(scoreOf(here, candidate(), 'like', NOW)).toBeCloseTo(1, 9)
  const best = scoreOf(here, candidate(), 'none', NOW)
  for (const worse of [
    candidate({ place: { lat: 38, lon: -122.42 } }),
    candidate({ elo: 1_900 }),
    candidate({ lastActiveAt: NOW - DAY_MS }),
    candidate({ completeness: 0.5 }),
  ])
    expect(scoreOf(here, worse, 'none', NOW)).toBeLessThan(best)
  expect(scoreOf(here, candidate({ elo: 1_900 }), 'none', NOW)).toBeCloseTo(best - 0.1, 9)
})

test('a score reveals the distance only as whole kilometres between cells', () => {
  const scoreFrom = (north: number) => scoreOf(viewer({ place: { lat: 37.77 + north, lon: -122.42 } }), candidate(), 'none', NOW)
  // A step within a cell changes nothing, and a step into another cell changes the distance only by whole kilometres.
  expect([-0.001, -0.002, -0.003].map(scoreFrom)).toEqual([-0.001, -0.002, -0.003].map(() => scoreFrom(0)))
  expect(scoreFrom(-0.1) - scoreFrom(-0.2)).toBeCloseTo((0.35 * 11) / 50, 9)
})

test('super-likers come first, then users are sorted by score, then by id', () => {
  const ranked = (id: string, score: number, interest: 'none' | 'like' | 'super_like') => ({
    candidate: candidate({ userId: id }),
    score,
    interest,
  })
  const list = [ranked('d', 0.5, 'none'), ranked('b', 0.9, 'like'), ranked('c', 0.5, 'none'), ranked('a', 0.1, 'super_like')]
  expect(list.sort(inOrder).map((one) => one.candidate.userId)).toEqual(['a', 'b', 'c', 'd'])
})

test.each([
  [1_500, 1_500, 'RIGHT', 1_516],
  [1_500, 1_500, 'SUPER_LIKE', 1_522.4],
  [1_500, 1_500, 'LEFT', 1_484],
  [1_500, 1_900, 'RIGHT', 1_529.0909],
  [2_999, 3_000, 'SUPER_LIKE', 3_000],
  [101, 100, 'LEFT', 100],
] as const)(
  'a target with the score %d that a user with the score %d swipes (%s) has the score %d afterwards',
  (target, swiper, direction, after) => {
    expect(eloAfter(target, swiper, direction)).toBeCloseTo(after, 3)
  },
)

test.each<Partial<IndexMember>>([
  {},
  { gender: undefined, seekingGender: [] },
  { gender: 'a|b, ü', seekingGender: ['x,y', 'ß|', 'm'] },
  { place: { lat: -89.99999, lon: 179.99999 } },
])('a member of the index can be read back: %j', (more) => {
  const member: IndexMember = { ...candidate({ completeness: 0.25 }), version: NOW, ...more }
  const text = formatMember(member)
  expect(parseMember(text)).toEqual(member)
  expect(text.slice(0, 6)).toMatch(/^[0-9b-hjkmnp-z]{6}$/)
})

test.each(['', 'nonsense', '9q8yyk|a|b'])('%j is refused as a member', (text) => {
  expect(() => parseMember(text)).toThrow(RangeError)
})
