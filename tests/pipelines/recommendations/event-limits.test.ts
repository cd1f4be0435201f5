import { expect, test } from 'vitest'
import { preferencesFault } from '../../../pipelines/recommendations/users/event-fault.ts'
import { withEvent } from '../../../pipelines/recommendations/users/recent-events.ts'

const MOST_EVENTS = 4_096
const NOW = Date.UTC(2026, 0)

test("a repeated event is recognised if it is among the user's newest 4,096 events of the day", () => {
  let known: Buffer | undefined
  for (let event = 0; event < MOST_EVENTS; event++) known = withEvent(known, `e${event}`, NOW)
  expect(withEvent(known, 'e0', NOW)).toBeUndefined()
  known = withEvent(known, 'one more', NOW)
  expect(withEvent(known, 'e0', NOW)).toBeDefined()
  expect(withEvent(known, 'e1', NOW)).toBeUndefined()
})

test('the preferences of a user take at most 600,000 bytes', () => {
  // Each preference takes 14 bytes in addition to its two texts.
  const withBytes = (bytes: number) => ({
    user_id: 1n,
    preferences: [{ category: 'genre', value: 'x'.repeat(bytes - 14 - 'genre'.length), weight: 1 }],
    updated_at: NOW,
  })
  expect(preferencesFault(withBytes(600_000))).toBeUndefined()
  expect(preferencesFault(withBytes(600_001))).toMatch('600000 bytes')
})
