import { expect, test } from 'vitest'
import { requestUser } from '../../../../api/recommendations/users/request-user.ts'
import { NEW_USER, selfOf, withInteraction } from '../../../../pipelines/recommendations/users/user-state.ts'
import type { UserState } from '../../../../schemas/recommendations/types.ts'
import { interaction } from '../../../pipelines/recommendations/events.ts'

const START = Date.UTC(2026, 0, 10)
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

test('a skip neither extends a session nor brings an ended session back', () => {
  const viewed = withInteraction(NEW_USER, interaction({ item_id: 1n, timestamp: START }), 0)
  const skipAt = (user: UserState, minutes: number) =>
    withInteraction(user, interaction({ item_id: 2n, event_type: 'SKIP', timestamp: START + minutes * MINUTE }), 1)
  const sessionAt = (user: UserState, minutes: number) =>
    requestUser(42n, { self: selfOf(user), pages: {} }, START + minutes * MINUTE).session
  expect(sessionAt(skipAt(viewed, 20), 29)).toEqual([1n])
  expect(sessionAt(skipAt(viewed, 20), 31)).toEqual([])
  expect(sessionAt(skipAt(viewed, 60), 61)).toEqual([])
})

test('the features contain the five items that were viewed last and, for seven days, the time since the last visit', () => {
  const views = [1n, 2n, 3n, 4n, 5n, 6n].map((item_id, index) => interaction({ item_id, timestamp: START + index * MINUTE }))
  const self = selfOf(views.reduce((user, view, offset) => withInteraction(user, view, offset), NEW_USER))
  const hoursAwayAt = (time: number) => requestUser(42n, { self, pages: {} }, time).hoursAway
  const { lastViewed, recent } = requestUser(42n, { self, pages: {} }, START)
  expect([lastViewed, recent]).toEqual([
    [6n, 5n, 4n, 3n, 2n],
    [6n, 5n, 4n, 3n, 2n, 1n],
  ])
  const lastAt = views[5].timestamp
  expect(hoursAwayAt(lastAt + 7 * DAY - 1)).toBeCloseTo(168)
  expect(hoursAwayAt(lastAt + 7 * DAY)).toBeUndefined()
})
