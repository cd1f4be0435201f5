import { expect, test } from 'vitest'
import { personAt, suit } from '../../../../tools/demo/matches/people.ts'
import { type DemoMatchEvent, demoMatches } from '../../../../tools/demo/matches/stream.ts'

const START = Date.UTC(2026, 0, 1)
const RATE = 10
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/
const METRES_PER_DEGREE = 111_200

function take(count: number, seed = 1): DemoMatchEvent[] {
  const stream = demoMatches({ seed, rate: RATE, startAt: START })
  return Array.from({ length: count }, () => stream.next())
}

type Swipe = Extract<DemoMatchEvent, { kind: 'swipe' }>
const swipesOf = (events: readonly DemoMatchEvent[]) => events.filter((event): event is Swipe => event.kind === 'swipe')

test('a seed determines the whole stream', () => {
  expect(take(500)).toEqual(take(500))
  expect(take(50, 2)).not.toEqual(take(50, 1))
})

test('times advance at the requested rate', () => {
  const events = take(5_000)
  expect(events.every((event, i) => i === 0 || event.at >= events[i - 1].at)).toBe(true)
  const seconds = (events[events.length - 1].at - START) / 1_000
  expect(events.length / seconds).toBeGreaterThan(RATE * 0.9)
  expect(events.length / seconds).toBeLessThan(RATE * 1.1)
})

test('users are valid, live around San Francisco, and appear before they take part in any event', () => {
  const appeared = new Set<string>()
  for (const event of take(5_000)) {
    const { person } = event
    if (event.kind === 'appear') {
      expect(appeared.has(person.userId)).toBe(false)
      appeared.add(person.userId)
      expect(person.userId).toMatch(UUID)
      const { birth_date, min_age_pref, max_age_pref } = person.profile
      expect(new Date(birth_date).toISOString()).toBe(`${birth_date}T00:00:00.000Z`)
      expect(Number(birth_date.slice(0, 4))).toBeLessThan(2007)
      expect([min_age_pref >= 18, max_age_pref <= 99]).toEqual([true, true])
      expect(Math.abs(person.home.lat - 37.6)).toBeLessThan(0.5)
      expect(Math.abs(person.home.lon + 122.2)).toBeLessThan(0.5)
    }
    expect(appeared.has(person.userId)).toBe(true)
    if (event.kind === 'swipe') expect(appeared.has(event.target.userId)).toBe(true)
  }
  expect(appeared.size).toBeGreaterThan(300)
})

test('a user swipes another user at most once, and only if both look for each other', () => {
  const swipes = swipesOf(take(10_000))
  expect(new Set(swipes.map(({ person, target }) => `${person.userId} ${target.userId}`)).size).toBe(swipes.length)
  expect(swipes.every(({ person, target }) => suit(person, target) && suit(target, person))).toBe(true)
})

test('the 40 most popular users get more than a fifth of the swipes, and are liked more often than others', () => {
  const swipes = swipesOf(take(10_000))
  const isPopular = ({ target }: Swipe) => target.index < 40
  const liked = (some: readonly Swipe[]) => some.filter(({ direction }) => direction !== 'LEFT').length / some.length
  const [popular, others] = [swipes.filter(isPopular), swipes.filter((swipe) => !isPopular(swipe))]
  expect(popular.length / swipes.length).toBeGreaterThan(0.2)
  expect(liked(popular)).toBeGreaterThan(liked(others))
  expect(swipes.some(({ direction }) => direction === 'SUPER_LIKE')).toBe(true)
})

test('every move is so short that it does not count towards the limit of jumps', () => {
  const places = Map.groupBy(
    take(5_000).flatMap((event) => ('place' in event ? [event] : [])),
    ({ person }) => person.index,
  )
  expect([...places.values()].filter(({ length }) => length > 1).length).toBeGreaterThan(100)
  for (const events of places.values())
    for (const [index, { place }] of events.entries()) {
      const before = events[Math.max(0, index - 1)].place
      const east = (place.lon - before.lon) * Math.cos((place.lat * Math.PI) / 180)
      expect(Math.hypot(place.lat - before.lat, east) * METRES_PER_DEGREE).toBeLessThan(1_000)
    }
})

test("a user's opinion about another user never changes, and most users like a visitor", () => {
  const { opinion } = demoMatches({ seed: 1, rate: RATE, startAt: START })
  const visitor = '0b8f4a52-5a0e-4d2c-9b5f-0f5f2b1c7a11'
  const opinions = Array.from({ length: 200 }, (_, index) => opinion(personAt(1, index), visitor))
  expect(opinions).toEqual(Array.from({ length: 200 }, (_, index) => opinion(personAt(1, index), visitor)))
  expect(opinions.filter((direction) => direction !== 'LEFT').length).toBeGreaterThan(100)
})
