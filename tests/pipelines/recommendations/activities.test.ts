import { expect, test } from 'vitest'
import { activities, FULL_ENTRIES } from '../../../pipelines/recommendations/users/activities.ts'
import { NEW_USER } from '../../../pipelines/recommendations/users/user-state.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import { itemEvents } from '../../../schemas/recommendations/topics.ts'
import type { Interaction } from '../../../schemas/recommendations/types.ts'

const START = Date.UTC(2026, 0, 10)
/** Maximum size of a record that brokers accept by default. */
const MOST_BYTES = 1_048_588
const dwell: Interaction = {
  event_id: 'e',
  item_id: 7n,
  event_type: 'DWELL',
  withdrawn: false,
  timestamp: START,
  page: null,
  position: null,
  rec_request_id: null,
  device: null,
  session_id: null,
  dwell_time_sec: 60,
  rating: null,
  watch_pct: null,
}
const user = { ...NEW_USER, country: 'US', age_bucket: '25-34' }

test('if the activity of an item does not fit into one record, it is divided into records that brokers accept', () => {
  const collected = activities()
  for (let index = 0; index < 6 * FULL_ENTRIES; index++) collected.addInteraction(dwell, user, user, false)
  collected.addShown(8n, START)
  const taken = collected.take()
  const codec = itemEvents.value.open(1, { get: () => undefined })
  for (const [, activity] of taken) {
    const bytes = byteWriter()
    codec.encode(activity, bytes)
    expect(bytes.length).toBeLessThan(MOST_BYTES / 2)
  }
  const events = taken.filter(([itemId]) => itemId === 7n).reduce((sum, [, activity]) => sum + activity.events.length, 0)
  expect(events).toBe(6 * FULL_ENTRIES)
  expect(taken.filter(([itemId]) => itemId === 8n)).toHaveLength(1)
  expect(collected.take()).toEqual([])
})
