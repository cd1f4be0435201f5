import { expect, test } from 'vitest'
import { hideRoute, postEventRoute, postEventsRoute, unhideRoute } from '../../../api/recommendations/events/routes.ts'
import { recommendationsRoute } from '../../../api/recommendations/serve/routes.ts'
import { similarRoute } from '../../../api/recommendations/similar/routes.ts'
import { putPreferencesRoute } from '../../../api/recommendations/users/routes.ts'
import { RECOMMENDATIONS_LIMITS } from '../../../schemas/recommendations/limits.ts'

test('each seeded limit has the path of a route, and a batch counts as one request per event', () => {
  const patterns = RECOMMENDATIONS_LIMITS.map(({ endpoint_pattern }) => endpoint_pattern)
  expect(patterns).toEqual([
    `POST ${postEventRoute.path}`,
    `GET ${recommendationsRoute.path}`,
    `GET ${similarRoute.path}`,
    hideRoute.path,
    `PUT ${putPreferencesRoute.path}`,
  ])
  expect(RECOMMENDATIONS_LIMITS.map(({ limit_count, window_seconds }) => [limit_count, window_seconds])).toEqual([
    [1_200, 60],
    [600, 60],
    [1_200, 60],
    [600, 60],
    [600, 60],
  ])
  expect(similarRoute.countsAs).toBe(similarRoute.path)
  expect(unhideRoute.countsAs).toBe(hideRoute.path)
  expect(postEventsRoute.countsAs).toBe(postEventRoute.path)
  const event = { item_id: 5n, event_type: 'VIEW' } as const
  expect(postEventsRoute.units?.({ events: [event, event, event] } as never)).toBe(3)
})
