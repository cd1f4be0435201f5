import type { Interaction, RecommendationItem, ServedRecommendations } from '../../../schemas/recommendations/types.ts'
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

export function served(itemIds: readonly bigint[], served_at: number): ServedRecommendations {
  const item = { channel: 'trending', rec_type: 'trending', score: 0.5, source_item_id: null, features: null }
  return {
    request_id: 'r',
    model_version: 'rules-1',
    context: 'homepage',
    rec_type: 'personalized',
    served_at,
    degraded: [],
    features_offset: -1,
    items: itemIds.map((item_id, position) => ({ ...item, item_id, position })),
  }
}

export function itemNamed(title: string): RecommendationItem {
  const nothing = { description: '', category_path: '', attributes: {}, popularity: 0, thumbnail_url: null }
  return { title, ...nothing, status: 'ACTIVE', created_at: 0, updated_at: 0 }
}
