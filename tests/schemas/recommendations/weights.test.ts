import { expect, test } from 'vitest'
import { weightOf } from '../../../schemas/recommendations/events/weights.ts'
import type { Interaction } from '../../../schemas/recommendations/types.ts'

const NOTHING = { dwell_time_sec: null, rating: null, watch_pct: null }

test.each<[number, Partial<Interaction> & Pick<Interaction, 'event_type'>]>([
  [1, { event_type: 'VIEW' }],
  [0.4, { event_type: 'VIEW', watch_pct: 0.4 }],
  [1, { event_type: 'CLICK' }],
  [1.5, { event_type: 'DWELL', dwell_time_sec: 45 }],
  [2, { event_type: 'DWELL', dwell_time_sec: 61 }],
  [0, { event_type: 'DWELL' }],
  [2.5, { event_type: 'RATE', rating: 5 }],
  [-1.5, { event_type: 'RATE', rating: 1 }],
  [4, { event_type: 'PURCHASE' }],
  [-1, { event_type: 'SKIP' }],
])('an event has the weight %d, as the contract requires: %j', (weight, event) => {
  expect(weightOf({ ...NOTHING, ...event })).toBe(weight)
})
