import { expect, test } from 'vitest'
import { requestUser } from '../../../../api/recommendations/users/request-user.ts'
import { NEW_USER, selfOf, withInteraction } from '../../../../pipelines/recommendations/users/user-state.ts'
import type { UserState } from '../../../../schemas/recommendations/types.ts'
import { interaction } from '../../../pipelines/recommendations/events.ts'

const START = Date.UTC(2026, 0, 10)
const MINUTE = 60_000

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
