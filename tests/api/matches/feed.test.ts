import { expect, test, vi } from 'vitest'
import { feedRoutes } from '../../../api/matches/feed.ts'
import { locationUpdates } from '../../../schemas/matches/topics.ts'
import { activeField, parseRecent, placeField } from '../../../state/views/matches/recent.ts'
import { ANN, BOB } from '../../pipelines/matches/swipes.ts'

const NOW = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000
/** The refill hint of an empty feed. The next search may begin after five seconds. */
const HINT = NOW + 5_000
const PLACE = { lat: 1, lon: 2 }
const profile = { user_id: BOB, display_name: 'Bob', birth_date: '1990-05-01', photo_urls: [], bio: null }

/**
 * Requests a feed, by default without a place. Returns the feed, and what the request publishes and stores.
 * @param fields the recent notes about the user in Redis
 * @param lastActiveAt when the user was last active according to the view, epoch ms; undefined if the view does not
 * contain the user
 * @param left the candidates that are left in the user's stack
 */
async function feed(
  fields: Readonly<Record<string, string>>,
  lastActiveAt: number | undefined,
  isKafkaAway = false,
  left: readonly object[] = [],
  { created_at = 0, place = {}, builtAt = NOW }: { created_at?: number; place?: object; builtAt?: number } = {},
) {
  const publish = vi.fn(async (..._record: unknown[]) => {
    if (isKafkaAway) throw new Error('no answer')
  })
  const tryToNote = vi.fn(async () => undefined)
  const self = lastActiveAt === undefined ? undefined : { last_active_at: lastActiveAt, lat: 1, lon: 2, location_updated_at: lastActiveAt }
  const deps = {
    facts: { publish },
    people: {
      active: async () => ({ profile: { created_at }, self, recent: parseRecent(fields) }),
      tryToNote,
      checkJump: async () => undefined,
      shown: async () => new Map([[BOB, profile]]),
    },
    stackFor: async () => ({ stack: { builtAt, candidates: [] }, left }),
    onPlaceDropped: () => undefined,
    now: () => NOW,
  } as unknown as Parameters<typeof feedRoutes>[0]
  const [{ handler }] = feedRoutes(deps)
  const answer = await handler({ query: { limit: 20, ...place }, caller: { subject: ANN } } as Parameters<typeof handler>[0])
  return {
    status: answer.status,
    candidates: JSON.parse(answer.body as string).candidates,
    hint: Date.parse(JSON.parse(answer.body as string).next_refill_hint),
    published: publish.mock.calls,
    noted: tryToNote.mock.calls,
  }
}

test('a feed request counts as activity, which is reported at most once in ten minutes', async () => {
  const update = { user_id: ANN, lat: null, lon: null, accuracy_m: null, ts: NOW }
  const reported = {
    status: 200,
    candidates: [],
    hint: HINT,
    published: [[locationUpdates, ANN, update]],
    noted: [[ANN, activeField(NOW)]],
  }
  expect(await feed({}, NOW - 10 * MINUTE_MS)).toEqual(reported)
  expect(await feed(placeField(PLACE, NOW - 11 * MINUTE_MS), undefined)).toEqual(reported)
  const silent = { status: 200, candidates: [], hint: HINT, published: [], noted: [] }
  expect(await feed({}, NOW - 10 * MINUTE_MS + 1)).toEqual(silent)
  expect(await feed(activeField(NOW - MINUTE_MS), NOW - 24 * 60 * MINUTE_MS)).toEqual(silent)
  expect(await feed(placeField(PLACE, NOW - MINUTE_MS), undefined)).toEqual(silent)
})

test('the place and activity of a feed request count even if the clock of the worker that created the profile is ahead', async () => {
  const update = { user_id: ANN, accuracy_m: null, ts: NOW + 101 }
  const placed = await feed({}, undefined, false, [], { created_at: NOW + 100, place: PLACE })
  expect(placed).toMatchObject({
    published: [[locationUpdates, ANN, { ...update, ...PLACE }]],
    noted: [[ANN, placeField(PLACE, NOW + 101)]],
  })
  const active = await feed({}, NOW - 11 * MINUTE_MS, false, [], { created_at: NOW + 100 })
  expect(active.published).toEqual([[locationUpdates, ANN, { ...update, lat: null, lon: null }]])
})

test('without Kafka, a feed request succeeds and is noted as activity', async () => {
  expect(await feed({}, 0, true)).toMatchObject({ status: 200, noted: [[ANN, activeField(NOW)]] })
})

test('a candidate is shown with whole kilometres and a rounded score', async () => {
  const left = [{ userId: BOB, place: { lat: 1.0301, lon: 2 }, score: 0.123456 }]
  const { candidates } = await feed({}, NOW, false, left)
  expect(candidates).toEqual([{ user_id: BOB, display_name: 'Bob', age: 35, photo_urls: [], bio: '', distance_km: 3, score: 0.12 }])
})

test('candidates whose profiles are gone still count for the refill hint, so that the hint is not in the past', async () => {
  const left = [BOB, ...['w', 'x', 'y', 'z']].map((userId) => ({ userId, place: PLACE, score: 0.5 }))
  const builtAt = NOW - 2 * MINUTE_MS
  const { candidates, hint } = await feed({}, NOW, false, left, { builtAt })
  expect(candidates).toHaveLength(1)
  expect(hint).toBe(builtAt + 5 * MINUTE_MS)
})
