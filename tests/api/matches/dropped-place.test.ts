import { expect, test, vi } from 'vitest'
import { feedRoutes } from '../../../api/matches/feed.ts'
import { ANN } from '../../pipelines/matches/swipes.ts'

const NOW = Date.UTC(2026, 0, 1)

test('if Kafka does not accept the place of a feed request, the place is still used, and the failure is counted', async () => {
  const publish = vi.fn(async () => {
    throw new Error('no answer')
  })
  const onPlaceDropped = vi.fn()
  const searchedAt: object[] = []
  const deps = {
    facts: { publish },
    people: {
      active: async () => ({ profile: { created_at: 0 }, recent: {} }),
      checkJump: async () => undefined,
      tryToNote: async () => undefined,
      shown: async () => new Map(),
    },
    stackFor: async (_userId: string, _state: object, place: object) => {
      searchedAt.push(place)
      return { stack: { builtAt: NOW, candidates: [] }, left: [] }
    },
    onPlaceDropped,
    now: () => NOW,
  } as unknown as Parameters<typeof feedRoutes>[0]
  const [{ handler }] = feedRoutes(deps)
  const answer = await handler({ query: { lat: 1, lon: 2, limit: 20 }, caller: { subject: ANN } } as Parameters<typeof handler>[0])
  expect(JSON.parse(answer.body as string)).toMatchObject({ candidates: [], location_age_s: 0 })
  expect(searchedAt).toEqual([{ lat: 1, lon: 2, at: NOW }])
  await expect.poll(() => onPlaceDropped.mock.calls.length).toBe(1)
})
