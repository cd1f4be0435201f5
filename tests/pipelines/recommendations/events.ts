import type { Interaction } from '../../../schemas/recommendations/types.ts'
import type { ModelEvent } from './offline-model.ts'

export function interaction(event: Partial<Interaction> & Pick<Interaction, 'item_id' | 'timestamp'>): Interaction {
  return {
    event_id: `${event.item_id}-${event.event_type ?? 'VIEW'}-${event.timestamp}`,
    event_type: 'VIEW',
    withdrawn: false,
    page: null,
    position: null,
    rec_request_id: null,
    device: null,
    session_id: null,
    dwell_time_sec: null,
    rating: null,
    watch_pct: null,
    ...event,
  }
}

export function interactionOf({ item, type, at, rating }: ModelEvent, eventId: string): Interaction {
  return interaction({ event_id: eventId, item_id: item, event_type: type, timestamp: at, rating: rating ?? null })
}
