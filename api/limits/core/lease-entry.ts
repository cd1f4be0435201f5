import type { Counter, Reading, Undecided } from './counter.ts'
import { capacityOf, elapsedUs, estimateOf, type Limit, refilled, US_PER_SECOND, windowIndexAt } from './formulas.ts'

/** Maximum share of a limit that one instance may have taken but not spent. */
const GREATEST_SLICE = 0.01
/**
 * Maximum share of a limit that all instances together should have taken but not spent. In the worst case, every
 * instance has an unspent slice when the limit is reached. The limiter then refuses requests although this share of the
 * limit is unused. A deviation of up to 5 % is acceptable. The slice of each instance is proportional to its share of
 * the requests. Shares are measured, so they may add up to as much as 1.3 for a moment.
 */
const ALL_SLICES = 0.035
/** The share of a counter's requests that an instance assumes to be its own, until it has measured its real share. */
const FIRST_SHARE = GREATEST_SLICE / ALL_SLICES
/**
 * Minimum interval for measuring the share. The interval is longer if the instance asks the store less often, as it
 * does when there are many instances.
 */
const SHARE_INTERVAL_MS = 20
/**
 * Interval at which an instance asks the store again after a refusal, so that it detects that the counter was reset or
 * that other instances have returned units.
 */
const RECHECK_EVERY_MS = 25
const US_PER_MS = 1_000
const MS_PER_SECOND = 1_000

/** The state of a counter in one instance. */
export interface LeaseEntry {
  counter: Counter
  /** Number of requests since `intervalAt`, which is in monotonic ms. */
  requests: number
  intervalAt: number
  /** Requests per ms. */
  rate: number
  /** Number of units that this instance has taken but not spent. */
  units: number
  /** Number of unspent units immediately after the last slice arrived. */
  slice: number
  /**
   * Units of slices whose answers were lost. The store may have granted them, so they count as taken until `lostUntil`.
   */
  lost: number
  lostUntil: number
  /**
   * A moving average of this instance's share of all units taken from the counter. The next measurement begins at the
   * reading `shareFrom`.
   */
  share: number
  shareFrom: Reading | undefined
  /** Number of units that this instance has taken since the reading `shareFrom`. */
  takenSince: number
  /** The store's answer that local readings are based on. `readAt` is the time of the request for this answer. */
  reading: Reading
  readAt: number
  /**
   * Until this time, requests are refused without asking the store. Only returned units, a reset of the counter or a
   * changed rule could end the refusals earlier.
   */
  refusedUntil: number
  /** Requests for at least this number of units are refused until `refusedUntil`. */
  refusedUnits: number
  /** When the instance next asks the store whether units are available again. No request waits for the answer. */
  recheckAt: number
  isRechecking: boolean
  renewal: Promise<Undecided | undefined> | undefined
}

const NOTHING: Reading = { taken: 0, nowUs: 0, held: 0, heldBefore: 0 }

export function newEntry(counter: Counter, now: number): LeaseEntry {
  const counts = { requests: 0, intervalAt: now, rate: 0, units: 0, slice: 0, lost: 0, lostUntil: 0 }
  const share = { share: FIRST_SHARE, shareFrom: undefined, takenSince: 0 }
  const refusal = { refusedUntil: 0, refusedUnits: 0, recheckAt: 0, isRechecking: false }
  return { counter, ...counts, ...share, ...refusal, reading: NOTHING, readAt: now, renewal: undefined }
}

/** Returns whether a rule's limit or burst has changed. The window is part of the counter's key. */
export function hasChanged(one: Limit, other: Limit): boolean {
  return one !== other && (one.limit !== other.limit || one.burst !== other.burst)
}

export function greatestSlice({ counter, share, lost, lostUntil }: LeaseEntry, now: number): number {
  const greatest = capacityOf(counter.limit) * Math.min(GREATEST_SLICE, ALL_SLICES * share)
  return Math.floor(greatest) - (now < lostUntil ? lost : 0)
}

/**
 * Records a slice whose answer was lost. Redis may have granted the slice, and this instance cannot return it. The
 * slice therefore counts as taken for the length of a window. At the end of this time, the slice's window has ended.
 */
export function addLostSlice(entry: LeaseEntry, units: number, now: number): void {
  entry.lost = (now < entry.lostUntil ? entry.lost : 0) + units
  entry.lostUntil = now + entry.counter.limit.windowSeconds * MS_PER_SECOND
}

/**
 * Updates this instance's share, by comparing two answers of the store with the units that this instance took between
 * them.
 */
export function learnShare(entry: LeaseEntry, reading: Reading): void {
  const { shareFrom, counter } = entry
  // The time is 0 if the shard did not answer. Such a reading is made up, so it cannot be used to measure the share.
  if (reading.nowUs === 0) return
  if (shareFrom !== undefined && reading.nowUs - shareFrom.nowUs < SHARE_INTERVAL_MS * US_PER_MS) {
    entry.takenSince += reading.taken
    return
  }
  const isOneWindow = shareFrom !== undefined && windowOf(counter, reading.nowUs) === windowOf(counter, shareFrom.nowUs)
  const taken = isOneWindow ? takenBetween(counter.limit, shareFrom, reading) : 0
  if (taken > 0) entry.share = (entry.share + Math.min(1, Math.max(0, entry.takenSince / taken))) / 2
  entry.shareFrom = reading
  entry.takenSince = reading.taken
}

/** Returns the number of units that all instances together took between two readings. */
function takenBetween(limit: Limit, from: Reading, to: Reading): number {
  if (limit.burst === 0) return to.held - from.held
  return refilled(limit, from.held / US_PER_SECOND, to.nowUs - from.nowUs) - to.held / US_PER_SECOND
}

/**
 * Estimates the store's current time from the time of the request for its last answer. The estimate is never behind the
 * store's clock, so a slice is not spent after its window.
 */
function storeTimeUs(entry: LeaseEntry, now: number): number {
  return entry.reading.nowUs + Math.round((now - entry.readAt) * US_PER_MS)
}

export function windowOf({ limit }: Counter, nowUs: number): number {
  return limit.burst > 0 ? 0 : windowIndexAt(nowUs, limit.windowSeconds)
}

export function isInWindow(entry: LeaseEntry, now: number): boolean {
  return windowOf(entry.counter, storeTimeUs(entry, now)) === windowOf(entry.counter, entry.reading.nowUs)
}

/**
 * Returns the answer that the store would give if this instance's unspent units had not been taken. If the counter is
 * not tracked, its state is unknown, so the reading contains only `taken`. This suffices, because a counter that
 * refuses a request locally is always tracked.
 */
export function localReading(entry: LeaseEntry | undefined, taken: number, now: number): Reading {
  if (entry === undefined) return { ...NOTHING, taken }
  const { reading, units, counter } = entry
  const isBucket = counter.limit.burst > 0
  const held = isBucket ? reading.held - (reading.taken - units) * US_PER_SECOND : reading.held + reading.taken - units
  return { taken, nowUs: storeTimeUs(entry, now), held, heldBefore: reading.heldBefore }
}

/**
 * Remembers a refusal. Requests for at least as many units are then refused locally, until the store would have enough
 * units again even if no instance returns any.
 */
export function rememberRefusal(entry: LeaseEntry, reading: Reading, now: number, units: number): void {
  entry.reading = entry.units === 0 ? reading : entry.reading
  if (entry.units === 0) entry.readAt = now
  entry.refusedUntil = now + timeUntilRoomUs(entry.counter, reading, units) / US_PER_MS
  entry.recheckAt = Math.min(entry.refusedUntil, now + RECHECK_EVERY_MS)
  entry.refusedUnits = units
}

function timeUntilRoomUs({ limit }: Counter, reading: Reading, units: number): number {
  const windowUs = limit.windowSeconds * US_PER_SECOND
  if (limit.burst > 0) return ((units * US_PER_SECOND - reading.held) / US_PER_SECOND / limit.limit) * windowUs
  const elapsed = elapsedUs(reading.nowUs, windowIndexAt(reading.nowUs, limit.windowSeconds), limit.windowSeconds)
  const { held: current, heldBefore: previous } = reading
  const room = limit.limit - units + 1
  if (current >= room) return windowUs - elapsed
  const over = estimateOf({ current, previous }, elapsed, limit.windowSeconds) - room
  // The estimate decreases by previous / window per µs.
  return previous === 0 ? 0 : (over / previous) * windowUs
}
