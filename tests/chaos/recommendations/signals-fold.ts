import type { ItemActivity } from '../../../schemas/recommendations/types.ts'
import type { Evidence, Logged } from './evidence.ts'
import { countedEvents, newestItems, newestOf, saysYes, type UserEvent, weightIn } from './user-fold.ts'

/** The signals of an item, in the order in which they were counted. */
export type ExpectedActivity = { readonly [name in keyof ItemActivity]: unknown[] }

const LAST_VIEWS = 10
const LESS_PER_PLACE = 0.8

export const half = (ms: number, halfLifeMs: number) => 0.5 ** (ms / halfLifeMs)

/** Computes the signals of each item from the interactions and the served lists, without code of the service. */
export function expectedActivities({ logs }: Pick<Evidence, 'logs'>): Map<string, ExpectedActivity> {
  const found = new Map<string, ExpectedActivity>()
  const of = (item: string) => {
    const activity = found.get(item) ?? { events: [], near: [], entered: [], shown: [] }
    found.set(item, activity)
    return activity
  }
  const byUser = countedEvents(logs)
  const inOrder = [...byUser.values()].flat().sort((a, b) => a.offset - b.offset)
  for (const event of inOrder) {
    if (event.event_type === 'NOT_INTERESTED') continue
    const item = String(event.item_id)
    const { country = null, age_bucket = null } = newestOf(logs.users, event.user) ?? {}
    of(item).events.push({
      event_type: event.event_type,
      at: event.timestamp,
      weight: weightIn(event),
      mayBeChosen: saysYes(event) && isFromOwnList(event, logs.served),
      rating: event.rating,
      country,
      age_bucket,
    })
    for (const pair of pairsOf(event, byUser.get(event.user)!)) {
      of(item).near.push({ item_id: pair.other, closeness: pair.closeness, at: event.timestamp })
      of(pair.other).near.push({ item_id: item, closeness: pair.closeness, at: event.timestamp })
    }
    if (enters(event, byUser.get(event.user)!)) of(item).entered.push(event.timestamp)
  }
  for (const { value } of logs.served) for (const { item_id } of value?.items ?? []) of(String(item_id)).shown.push(value!.served_at)
  return found
}

/**
 * Returns true if the event names a list that was served to its user, and if the event's item was in any of the lists
 * that were served to this user.
 */
function isFromOwnList({ user, item_id, rec_request_id }: UserEvent, served: Evidence['logs']['served']): boolean {
  const own = served.flatMap(({ key, value }) => (String(key) === user && value !== null ? [value] : []))
  const isOffered = own.some(({ items }) => items.some((item) => item.item_id === item_id))
  return isOffered && own.some(({ request_id }) => request_id === rec_request_id)
}

function viewedAround(event: UserEvent, own: readonly UserEvent[]): { readonly before: string[]; readonly after: string[] } {
  const until = own.filter((other) => other.offset <= event.offset && saysYes(other))
  const ids = (events: readonly UserEvent[]) => newestItems(events, LAST_VIEWS).map(({ item }) => item)
  return { before: ids(until.filter((other) => other !== event)), after: ids(until) }
}

/**
 * Returns whether an event adds its item to the last views, that is, the item is among them after the event but not
 * before.
 */
function enters(event: UserEvent, own: readonly UserEvent[]): boolean {
  if (!saysYes(event)) return false
  const { before, after } = viewedAround(event, own)
  return after.includes(String(event.item_id)) && !before.includes(String(event.item_id))
}

function pairsOf(event: UserEvent, own: readonly UserEvent[]): { readonly other: string; readonly closeness: number }[] {
  if (!enters(event, own)) return []
  const { after } = viewedAround(event, own)
  const place = after.indexOf(String(event.item_id))
  return after.flatMap((other, otherPlace) =>
    otherPlace === place ? [] : [{ other, closeness: LESS_PER_PLACE ** (Math.abs(otherPlace - place) - 1) }],
  )
}

/** Joins all records of an item. The pipeline writes one record per commit, so the split into records varies. */
export function joined(records: readonly Logged<ItemActivity>[]): ExpectedActivity {
  const parts = records.map(({ value }) => value!)
  return {
    events: parts.flatMap(({ events }) => events),
    near: parts.flatMap(({ near }) => near.map((pair) => ({ ...pair, item_id: String(pair.item_id) }))),
    entered: parts.flatMap(({ entered }) => entered),
    shown: parts.flatMap(({ shown }) => shown),
  }
}
