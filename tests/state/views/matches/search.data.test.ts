import { expect, test } from 'vitest'
import { cellOf, geohashOf, type Place, type Precision, withNeighbours } from '../../../../state/views/matches/candidates/cells.ts'
import type { Viewer } from '../../../../state/views/matches/candidates/person.ts'
import type { Ranked } from '../../../../state/views/matches/candidates/ranking.ts'
import { placePeople } from '../../../../tools/people/people.ts'
import { generatedProfiles, readProfiles } from '../../../../tools/people/profiles.ts'
import { LARGEST_TOWNS, type Town } from '../../../../tools/people/towns.ts'
import { integer, seededRandom } from '../../../../tools/random/random.ts'
import { expectEqual } from '../../../expect-equal.ts'
import { dataTest } from '../../../public-data.ts'
import { NO_BOUNDS, type World, worldOf } from './world.ts'

const NOW = Date.UTC(2026, 5, 15, 12)
const VIEWERS = 1_000
/**
 * To save time, the test uses only every twentieth of the 59,946 profiles. `bench/results.md` describes a comparison
 * with all of them.
 */
const TAKEN = 20
const TIMEOUT_MS = 300_000
const STACK_SIZE = 50
const PEOPLE_PER_PLACE = 700
const VIEWERS_PER_PLACE = 100
const VIEWERS_THAT_GO_ON = 20
/**
 * Maximum number of searches per viewer. Each search examines at most 100 of the 700 users, some of whom earlier
 * searches have already examined.
 */
const MOST_SEARCHES = 100
/** Share of the candidates that a viewer has already swiped. */
const SWIPED = 0.3

/**
 * Checks that the stacks of `count` random viewers equal the results of a brute-force search, in the same order.
 * Returns the number of candidates.
 */
async function compareStacks(world: World, count: number): Promise<number> {
  const random = seededRandom(7)
  let found = 0
  for (let index = 0; index < count; index++) {
    const viewer = world.viewers[integer(random, world.viewers.length)]
    const passing = world.bruteForce(viewer)
    const swiped = new Set(passing.flatMap(({ candidate }) => (random() < SWIPED ? [candidate.userId] : [])))
    const expected = passing.filter(({ candidate }) => !swiped.has(candidate.userId))
    expectEqual(shown(await world.search(viewer, swiped, NO_BOUNDS)), shown(expected))
    found += expected.length
  }
  return found
}

function shown(ranked: readonly Ranked[]): [string, number][] {
  return ranked.map(({ candidate, score }) => [candidate.userId, score])
}

/**
 * Finds the smallest of the three neighbourhoods in which 50 users pass the filters, and returns the best 50 of these
 * users. Returns undefined if no neighbourhood has 50 such users.
 */
function bestNearby(world: World, viewer: Viewer): Ranked[] | undefined {
  for (const precision of [6, 5, 4] as const) {
    const cells = new Set(withNeighbours(cellOf(viewer.place, precision)).map(geohashOf))
    const isNear = (place: Place) => cells.has(geohashOf(cellOf(place, precision satisfies Precision)))
    const passing = world.bruteForce(viewer, isNear)
    if (passing.length >= STACK_SIZE) return passing.slice(0, STACK_SIZE)
  }
  return undefined
}

dataTest(
  'profiles',
  '1,000 stacks of real profiles around San Francisco equal those of a brute-force search',
  async (path) => {
    const rows = (await readProfiles(path)).filter((_, index) => index % TAKEN === 0)
    expect(await compareStacks(worldOf(placePeople(rows, LARGEST_TOWNS, NOW), NOW), VIEWERS)).toBeGreaterThan(10 * VIEWERS)
  },
  TIMEOUT_MS,
)

const EDGES: readonly Town[] = [
  { name: 'the equator', lat: 0, lon: 20, population: 1e6 },
  { name: 'Greenwich', lat: 51.48, lon: 0, population: 1e6 },
  { name: 'the antimeridian', lat: -17, lon: 180, population: 1e6 },
  { name: 'the equator at the antimeridian', lat: 0, lon: -180, population: 1e6 },
  { name: '89 degrees north', lat: 89, lon: 30, population: 1e7 },
  { name: 'the South Pole', lat: -90, lon: 0, population: 1e7 },
]

test.each(EDGES)('around $name, stacks equal those of a brute-force search', async (town) => {
  const people = placePeople(generatedProfiles(PEOPLE_PER_PLACE, 3), [town], NOW)
  const world = worldOf(
    people.map((person) => ({ ...person, place: onEarth(person.place) })),
    NOW,
  )
  expect(await compareStacks(world, VIEWERS_PER_PLACE)).toBeGreaterThan(10 * VIEWERS_PER_PLACE)
})

test('around San Francisco, stacks of generated profiles equal those of a brute-force search', async () => {
  const world = worldOf(placePeople(generatedProfiles(PEOPLE_PER_PLACE, 3), LARGEST_TOWNS, NOW), NOW)
  expect(await compareStacks(world, VIEWERS_PER_PLACE)).toBeGreaterThan(10 * VIEWERS_PER_PLACE)
})

test('a stack contains the best 50 users of the smallest neighbourhood in which 50 users pass the filters', async () => {
  const world = worldOf(placePeople(generatedProfiles(PEOPLE_PER_PLACE, 3), LARGEST_TOWNS.slice(0, 2), NOW), NOW)
  let compared = 0
  for (const viewer of world.viewers.slice(0, VIEWERS_PER_PLACE)) {
    const expected = bestNearby(world, viewer)
    if (expected === undefined) continue
    compared++
    expect(shown(await world.search(viewer, new Set(), { ...NO_BOUNDS, stackSize: STACK_SIZE }))).toEqual(shown(expected))
  }
  expect(compared).toBeGreaterThan(VIEWERS_PER_PLACE / 4)
})

test('searches that stop at their limits and continue later find all candidates', async () => {
  const world = worldOf(placePeople(generatedProfiles(PEOPLE_PER_PLACE, 3), LARGEST_TOWNS, NOW), NOW)
  const bounds = { ...NO_BOUNDS, examinedPerStep: 40, examinedInAll: 100 }
  for (const viewer of world.viewers.slice(0, VIEWERS_THAT_GO_ON)) {
    const everybody = world.bruteForce(viewer).map(({ candidate }) => candidate.userId)
    expect([...(await world.searchOn(viewer, bounds, MOST_SEARCHES))].sort()).toEqual(everybody.sort())
  }
})

/** Converts a place beyond a pole or the antimeridian to its true coordinates. */
function onEarth({ lat, lon }: Place): Place {
  const over = Math.abs(lat) > 90
  const turned = lon + (over ? 180 : 0)
  return { lat: over ? Math.sign(lat) * 180 - lat : lat, lon: ((((turned + 180) % 360) + 360) % 360) - 180 }
}
