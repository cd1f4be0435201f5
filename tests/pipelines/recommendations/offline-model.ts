/**
 * This file computes the required results for a list of interactions naively from the whole list, without code of the
 * service. docs/services/recommendations.md defines these results. A list must be in log order, and must not contain an
 * event twice.
 */
export interface ModelEvent {
  readonly user: bigint
  readonly item: bigint
  readonly type: 'VIEW' | 'CLICK' | 'PURCHASE' | 'RATE' | 'SKIP' | 'DWELL'
  /** Epoch ms, always a multiple of 1,000. */
  readonly at: number
  readonly rating?: number
}

const DAYS = 86_400_000
const HOUR = 3_600_000
const HALF_HOUR = 30 * 60_000

const half = (ms: number, halfLife: number) => 0.5 ** (ms / halfLife)
const saysYes = ({ type }: ModelEvent) => type !== 'SKIP'

/**
 * Returns the ids of the items that a user viewed last, newest first. Every event except a skip counts as a view. An
 * item that was viewed several times appears once, at its newest position.
 */
function lastViewed(events: readonly ModelEvent[], count: number): bigint[] {
  const newest = new Map<bigint, { at: number; order: number }>()
  events.forEach((event, order) => {
    const known = newest.get(event.item)
    if (saysYes(event) && (known === undefined || event.at >= known.at)) newest.set(event.item, { at: event.at, order })
  })
  return [...newest]
    .sort(([, a], [, b]) => b.at - a.at || b.order - a.order)
    .slice(0, count)
    .map(([item]) => item)
}

export function modelUser(events: readonly ModelEvent[]) {
  const inTime = events.map((event, order) => ({ ...event, order })).sort((a, b) => a.at - b.at || a.order - b.order)
  let session: bigint[] = []
  let last = Number.NEGATIVE_INFINITY
  for (const event of inTime.filter(saysYes)) {
    if (event.at - last > HALF_HOUR) session = []
    session = [event.item, ...session.filter((item) => item !== event.item)]
    last = event.at
  }
  return {
    viewed: lastViewed(events, 10),
    history: inTime
      .toReversed()
      .slice(0, 100)
      .map(({ item, type }) => ({ item, type })),
    session,
    interactions: events.length,
    lastEventAt: Math.max(...events.map(({ at }) => at)),
  }
}

/**
 * Returns the weights of the neighbours of each item as of `now`. No item may have more neighbours than the service
 * keeps.
 */
export function modelNeighbours(events: readonly ModelEvent[], now: number): Map<bigint, Map<bigint, number>> {
  const weights = new Map<bigint, Map<bigint, number>>()
  const add = (a: bigint, b: bigint, weight: number) => {
    const of = weights.get(a) ?? new Map<bigint, number>()
    weights.set(a, of.set(b, (of.get(b) ?? 0) + weight))
  }
  for (const [index, event] of events.entries()) {
    if (!saysYes(event)) continue
    const own = events.slice(0, index + 1).filter(({ user }) => user === event.user)
    const viewed = lastViewed(own, 10)
    if (lastViewed(own.slice(0, -1), 10).includes(event.item)) continue
    const place = viewed.indexOf(event.item)
    viewed.forEach((other, otherPlace) => {
      if (place < 0 || other === event.item) return
      const weight = 0.8 ** (Math.abs(place - otherPlace) - 1) * half(now - event.at, 30 * DAYS)
      add(event.item, other, weight)
      add(other, event.item, weight)
    })
  }
  return weights
}

export function modelStats(events: readonly ModelEvent[], item: bigint, now: number) {
  const own = events.filter((event) => event.item === item)
  const sum = (chosen: readonly ModelEvent[], halfLife: number, of: (event: ModelEvent) => number = () => 1) =>
    chosen.reduce((total, event) => total + of(event) * half(now - event.at, halfLife), 0)
  const rated = own.filter(({ rating }) => rating !== undefined)
  return {
    interactions: own.length,
    popularity: sum(own.filter(saysYes), 30 * DAYS),
    recent: sum(own.filter(saysYes), 6 * HOUR),
    events: sum(own, 7 * DAYS),
    purchases: sum(
      own.filter(({ type }) => type === 'PURCHASE'),
      7 * DAYS,
    ),
    ratings: sum(rated, 7 * DAYS),
    rating_sum: sum(rated, 7 * DAYS, ({ rating }) => rating!),
  }
}

/**
 * Returns the trending items over all users, sorted by the sums of the weights of their events. The weight of an
 * event halves every six hours.
 */
export function modelTrending(events: readonly ModelEvent[], now: number): bigint[] {
  const weightOf = ({ type, rating }: ModelEvent) => {
    if (type === 'PURCHASE') return 4
    if (type === 'RATE') return rating! - 2.5
    return type === 'SKIP' || type === 'DWELL' ? 0 : 1
  }
  const amounts = new Map<bigint, number>()
  for (const event of events) {
    const weight = weightOf(event)
    if (weight > 0) amounts.set(event.item, (amounts.get(event.item) ?? 0) + weight * half(now - event.at, 6 * HOUR))
  }
  return [...amounts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([item]) => item)
}
