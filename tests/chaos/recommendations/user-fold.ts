import type { Interaction } from '../../../schemas/recommendations/types.ts'
import type { PastEvent, TimedItem } from './bytes.ts'
import type { Logged, Logs } from './evidence.ts'

/**
 * Computes the required results for one user naively from the whole list of events, without code of the service.
 * docs/services/recommendations.md defines these results.
 */

/** An event with its user and its offset in the log. */
export interface UserEvent extends Interaction {
  readonly user: string
  readonly offset: number
}

export interface ExpectedUser {
  readonly through: number
  readonly interactions: number
  readonly lastEventAt: number | null
  readonly sessionFrom: number | null
  readonly viewed: readonly TimedItem[]
  readonly session: readonly TimedItem[]
  readonly history: readonly PastEvent[]
  readonly hidden: readonly TimedItem[]
  readonly watched: ReadonlySet<string>
}

const HALF_HOUR = 30 * 60_000
const TYPES = ['VIEW', 'CLICK', 'PURCHASE', 'RATE', 'SKIP', 'DWELL', 'NOT_INTERESTED'] as const

const secondsOf = ({ timestamp }: Interaction) => Math.floor(timestamp / 1_000)
export const saysYes = ({ event_type }: Interaction) => event_type !== 'SKIP' && event_type !== 'NOT_INTERESTED'
const isAboutHiding = ({ event_type }: Interaction) => event_type === 'NOT_INTERESTED'

/**
 * Returns the events that count, grouped by user. If several events of a user have the same id, only the first of them
 * counts. The service forgets ids after a day, but no round lasts that long.
 */
export function countedEvents({ interactions }: Pick<Logs, 'interactions'>): Map<string, UserEvent[]> {
  const events = new Map<string, UserEvent[]>()
  const known = new Set<string>()
  for (const { key, value, offset } of interactions) {
    if (value === null) continue
    const identity = `${key} ${value.event_id}`
    if (known.has(identity)) continue
    known.add(identity)
    const user = String(key)
    events.set(user, [...(events.get(user) ?? []), { ...value, user, offset }])
  }
  return events
}

/** Returns the weight of an event as evidence of interest. */
export function weightIn({ event_type, watch_pct, dwell_time_sec, rating }: Interaction): number {
  if (event_type === 'VIEW') return watch_pct === null ? 1 : watch_pct
  if (event_type === 'CLICK') return 1
  if (event_type === 'DWELL') return Math.min(2, (dwell_time_sec ?? 0) / 30)
  if (event_type === 'RATE') return (rating ?? 2.5) - 2.5
  return event_type === 'PURCHASE' ? 4 : -1
}

function isWatching({ event_type, watch_pct }: Interaction): boolean {
  if (event_type === 'VIEW') return watch_pct === null || watch_pct >= 0.3
  return event_type === 'PURCHASE' || event_type === 'RATE' || event_type === 'SKIP'
}

/**
 * Returns the items of some events, newest first and at most `most` of them. An item with several events appears once,
 * at the position of its newest event.
 */
export function newestItems(events: readonly UserEvent[], most: number): TimedItem[] {
  const places = new Map<string, { item: string; seconds: number; order: number }>()
  events.forEach((event, order) => {
    const item = String(event.item_id)
    const known = places.get(item)
    if (known === undefined || secondsOf(event) >= known.seconds) places.set(item, { item, seconds: secondsOf(event), order })
  })
  return [...places.values()]
    .sort((a, b) => b.seconds - a.seconds || b.order - a.order)
    .slice(0, most)
    .map(({ item, seconds }) => ({ item, seconds }))
}

function hiddenItems(events: readonly UserEvent[]): TimedItem[] {
  const places = new Map<string, { item: string; seconds: number; order: number }>()
  events.filter(isAboutHiding).forEach((event, order) => {
    const item = String(event.item_id)
    const known = places.get(item)
    if (event.withdrawn) places.delete(item)
    else if (known === undefined || secondsOf(event) >= known.seconds) places.set(item, { item, seconds: secondsOf(event), order })
  })
  return [...places.values()].sort((a, b) => b.seconds - a.seconds || b.order - a.order).map(({ item, seconds }) => ({ item, seconds }))
}

/** Returns the events of the current session. In a session, consecutive events are at most half an hour apart. */
function sessionOf(events: readonly UserEvent[]): { readonly from: number | null; readonly events: readonly UserEvent[] } {
  let session: UserEvent[] = []
  let [from, to] = [Number.NaN, Number.NaN]
  for (const event of events.filter(saysYes)) {
    const at = event.timestamp
    if (session.length === 0 || at > to + HALF_HOUR) {
      session = [event]
      from = at
      to = at
    } else if (at >= from - HALF_HOUR) {
      session.push(event)
      from = Math.min(from, at)
      to = Math.max(to, at)
    }
  }
  return { from: session.length === 0 ? null : from, events: session }
}

/** @param all the user's counted events in the order of the log */
export function expectedUser(all: readonly UserEvent[]): ExpectedUser {
  const events = all.filter((event) => !isAboutHiding(event))
  const session = sessionOf(events)
  const history = events
    .map((event, order) => ({ event, order }))
    .sort((a, b) => secondsOf(b.event) - secondsOf(a.event) || b.order - a.order)
    .slice(0, 100)
  return {
    through: all.at(-1)?.offset ?? -1,
    interactions: events.length,
    lastEventAt: events.length === 0 ? null : Math.max(...events.map(({ timestamp }) => timestamp)),
    sessionFrom: session.from,
    viewed: newestItems(events.filter(saysYes), 10),
    session: newestItems(session.events, 200),
    history: history.map(({ event }) => ({
      item: String(event.item_id),
      seconds: secondsOf(event),
      weight: Math.fround(weightIn(event)),
      type: TYPES.indexOf(event.event_type),
    })),
    hidden: hiddenItems(all),
    watched: new Set(events.filter(isWatching).map(({ item_id }) => String(item_id))),
  }
}

/** Returns the newest record of a user, as determined by the time in the record. */
export function newestOf<V extends { readonly updated_at: number }>(records: readonly Logged<V>[], user: string): V | undefined {
  return records
    .filter(({ key }) => String(key) === user)
    .reduce<V | undefined>(
      (newest, { value }) => (value !== null && value.updated_at >= (newest?.updated_at ?? 0) ? value : newest),
      undefined,
    )
}
