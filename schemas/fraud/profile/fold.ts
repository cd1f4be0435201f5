import { ENTITY_KINDS, type EntityKind } from '../entity.ts'
import type { FraudEvent } from '../event.ts'
import { USD_PER_UNIT } from '../money.ts'
import type { FraudKnownUser, FraudProfile } from '../types.ts'
import { byTime, EVENT_BYTES, eventCount, eventTime, eventUnits, firstRowFrom, hasEvent, withEvents } from './events.ts'
import { withPlaces } from './places.ts'
import { type Sighting, withSightings } from './seen.ts'
import type { ProfileShape } from './shape.ts'
import { type SumEntry, withSums } from './sums.ts'

const NONE = Buffer.alloc(0)
const NO_EVENTS: readonly FraudEvent[] = []

/** The profile of an entity without any history. */
export const NEW_PROFILE: FraudProfile = {
  txn_count: 0,
  txn_units: 0,
  mean_usd: 0,
  m2_usd: 0,
  first_seen: 0,
  newest_at: 0,
  events: NONE,
  sums: NONE,
  places: NONE,
  users: NONE,
  devices: NONE,
  ips: NONE,
  cards: NONE,
  merchants: NONE,
  user_ids: [],
  tier: 'NORMAL',
  fraud_count: 0,
  included: NONE,
}

/**
 * The number of transactions in one second or minute, and the sum of their amounts. Nothing else is known about them.
 */
export interface CountedSecond {
  /** Beginning of the second or minute, epoch ms. */
  readonly at: number
  readonly count: number
  readonly units: number
}

/** The statistics of all amounts of a profile. */
export type Amounts = Pick<FraudProfile, 'txn_count' | 'txn_units' | 'mean_usd' | 'm2_usd'>

/** For each kind of entity, the column of a profile that lists the entities of this kind. */
export const SEEN_COLUMNS = { user: 'users', device: 'devices', ip: 'ips', card: 'cards', merchant: 'merchants' } as const

/**
 * Adds transactions to a profile. Transactions that the profile still contains individually are not added again. The
 * order of transactions does not matter, except for rounding in mean and deviation and for transactions that exceed the
 * limits of the shape.
 * @returns a new profile, or the given one if nothing was added; the given profile is not changed
 */
export function foldEvents(profile: FraudProfile, shape: ProfileShape, events: readonly FraudEvent[]): FraudProfile {
  const added = newEvents(profile, events)
  return added.length === 0 ? profile : withNewEvents(profile, shape, added, sightingsOf)
}

/**
 * Adds transactions that the profile does not include, as `foldEvents` does.
 * @param added at least one, in order
 * @param seenIn returns the sightings of a kind of entity in the given transactions
 */
export function withNewEvents(
  profile: FraudProfile,
  shape: ProfileShape,
  added: readonly FraudEvent[],
  seenIn: (kind: EntityKind, added: readonly FraudEvent[]) => Sighting[],
): FraudProfile {
  const next = { ...profile }
  next.newest_at = Math.max(profile.newest_at, added[added.length - 1].at)
  next.first_seen = profile.txn_count === 0 ? added[0].at : Math.min(profile.first_seen, added[0].at)
  for (const { units } of added) countAmounts(next, 1, units)
  keepEvents(next, shape, added)
  for (const kind of ENTITY_KINDS) {
    const limit = shape.seen[kind]
    if (limit === undefined) continue
    const sightings = seenIn(kind, added)
    const column = SEEN_COLUMNS[kind]
    if (sightings.length > 0) next[column] = withSightings(profile[column], sightings, limit, next.newest_at)
  }
  if (shape.userIds > 0) next.user_ids = withUsers(profile.user_ids, added, shape.userIds)
  if (shape.places > 0) next.places = withPlaces(profile.places, added, shape.places)
  return next
}

/**
 * Adds transactions for which only sums per second or minute are known, because an entity has too many transactions in
 * flight. For the deviation, each transaction is assumed to have the mean amount of its second or minute.
 */
export function foldSeconds(profile: FraudProfile, shape: ProfileShape, seconds: readonly CountedSecond[]): FraudProfile {
  if (seconds.length === 0) return profile
  const next = { ...profile }
  for (const { at, count, units } of seconds) {
    next.first_seen = next.txn_count === 0 ? at : Math.min(next.first_seen, at)
    next.newest_at = Math.max(next.newest_at, at)
    countAmounts(next, count, units)
  }
  const entries = seconds.map(({ at, count, units }) => ({ at, count, frauds: 0, units }))
  next.sums = withSums(next.sums, entries, shape.levels, next.newest_at)
  return next
}

/** Returns the transactions that the profile does not contain individually, each once and in order. */
export function newEvents({ events: rows }: FraudProfile, events: readonly FraudEvent[]): readonly FraudEvent[] {
  if (events.length === 1) return hasEvent(rows, events[0]) ? NO_EVENTS : events
  const added = events.filter((event) => !hasEvent(rows, event))
  if (added.length < 2) return added
  return added.sort(byTime).filter((event, index) => index === 0 || byTime(added[index - 1], event) !== 0)
}

/**
 * Adds `count` equal amounts, whose sum is `units`, to the count, the sum, the mean and the squared deviations. The
 * formula for one amount is from Welford, Technometrics 4 (1962), 419; for several amounts at once, from Chan, Golub
 * and LeVeque (1979).
 */
export function countAmounts(profile: Amounts, count: number, units: number): void {
  const before = profile.txn_count
  profile.txn_count += count
  profile.txn_units += units
  const delta = (units / count) * USD_PER_UNIT - profile.mean_usd
  profile.mean_usd += (delta * count) / profile.txn_count
  profile.m2_usd += (delta * delta * before * count) / profile.txn_count
}

/** Keeps transactions individually as far as the shape allows, and adds all other transactions to the sums. */
function keepEvents(profile: FraudProfile, { exactMs, mostEvents, levels }: ProfileShape, added: readonly FraudEvent[]): void {
  if (mostEvents === 0) {
    profile.sums = withSums(profile.sums, added.map(asSum), levels, profile.newest_at)
    return
  }
  const all = withEvents(profile.events, added)
  const first = Math.max(firstRowFrom(all, profile.newest_at - exactMs + 1), eventCount(all) - mostEvents)
  const leaving: SumEntry[] = []
  for (let row = 0; row < first; row++) leaving.push({ at: eventTime(all, row), count: 1, frauds: 0, units: eventUnits(all, row) })
  profile.events = first === 0 ? all : all.subarray(first * EVENT_BYTES)
  profile.sums = withSums(profile.sums, leaving, levels, profile.newest_at)
}

function asSum({ at, units }: FraudEvent): SumEntry {
  return { at, count: 1, frauds: 0, units }
}

function sightingsOf(kind: EntityKind, events: readonly FraudEvent[]): Sighting[] {
  const sightings: Sighting[] = []
  for (const event of events) {
    const hash = event[kind]
    if (hash !== null) sightings.push({ hash, at: event.at })
  }
  return sightings
}

/** Adds the users of transactions to the known users. Returns the `most` users that were seen last, newest first. */
export function withUsers(known: FraudKnownUser[], events: readonly Pick<FraudEvent, 'user_id' | 'at'>[], most: number): FraudKnownUser[] {
  const [only] = events
  if (events.length === 1 && known.length > 0 && only.user_id === known[0].user_id) {
    return only.at <= known[0].last_at ? known : [{ user_id: only.user_id, last_at: only.at }, ...known.slice(1)]
  }
  const lastSeen = new Map(known.map(({ user_id, last_at }) => [user_id, last_at]))
  for (const { user_id, at } of events) if (user_id !== null) lastSeen.set(user_id, Math.max(at, lastSeen.get(user_id) ?? at))
  const users = Array.from(lastSeen, ([user_id, last_at]) => ({ user_id, last_at }))
  return users.sort((a, b) => b.last_at - a.last_at || (a.user_id < b.user_id ? -1 : 1)).slice(0, most)
}
