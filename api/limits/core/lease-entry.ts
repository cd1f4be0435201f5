import type { Counter, Reading, Undecided } from './counter-store.ts'
import { capacityOf, elapsedUs, estimateOf, type Limit, refilled, US_PER_SECOND, windowIndexAt } from './formulas.ts'

/** The part of a limit that one instance may hold unspent. */
const GREATEST_SLICE = 0.01
/**
 * The part of a limit that all instances together may hold unspent: below the 5 % of the specification at the worst moment, when all hold a
 * whole slice and the limit is reached. An instance has of it what it has of all requests.
 */
const ALL_SLICES = 0.04
/** Until an instance knows its share of the requests. */
const FIRST_SHARE = GREATEST_SLICE / ALL_SLICES
/** The share is looked at in pieces of at least this: an instance among many asks seldom. */
const SHARE_SLOT_MS = 20
/** What another instance gives back, or a reset, is seen within this. */
const LOOK_EVERY_MS = 25
const US_PER_MS = 1_000
const MS_PER_SECOND = 1_000

/** What one instance knows of a counter. */
export interface Entry {
  counter: Counter
  hits: number
  slotAt: number
  /** Requests per ms. */
  rate: number
  /** Held, not spent. */
  units: number
  slice: number
  /** Units of slices whose answers were lost, perhaps taken: held by this instance as far as anybody knows, until `lostUntil`. */
  lost: number
  lostUntil: number
  /** Of all that is taken from the counter, the part that this instance takes; from what `shareFrom` said and `takenSince` then. */
  share: number
  shareFrom: Reading | undefined
  takenSince: number
  /** The store's answer that local readings continue from, and when it was asked for. */
  reading: Reading
  readAt: number
  /** Time alone makes room then: until then a refusal is certain but for what others give back or reset. */
  blockedUntil: number
  /** From then on one question asks whether somebody has; requests do not wait for its answer. */
  lookAt: number
  blockedUnits: number
  /** A look at a counter that refuses is under way. */
  isLookedAt: boolean
  renewal: Promise<Undecided | undefined> | undefined
}

const NOTHING: Reading = { taken: 0, nowUs: 0, held: 0, heldBefore: 0 }

export function newEntry(counter: Counter, now: number): Entry {
  const counts = { hits: 0, slotAt: now, rate: 0, units: 0, slice: 0, lost: 0, lostUntil: 0 }
  const share = { share: FIRST_SHARE, shareFrom: undefined, takenSince: 0 }
  const refusal = { blockedUntil: 0, lookAt: 0, blockedUnits: 0, isLookedAt: false }
  return { counter, ...counts, ...share, ...refusal, reading: NOTHING, readAt: now, renewal: undefined }
}

/** The window is part of a counter's key. */
export function isOther(one: Limit, other: Limit): boolean {
  return one !== other && (one.limit !== other.limit || one.burst !== other.burst)
}

export function greatestSlice({ counter, share, lost, lostUntil }: Entry, now: number): number {
  const greatest = capacityOf(counter.limit) * Math.min(GREATEST_SLICE, ALL_SLICES * share)
  return Math.floor(greatest) - (now < lostUntil ? lost : 0)
}

/** A slice may have been taken and never come: nobody gives it back, and it is forgotten with the window. */
export function losing(entry: Entry, units: number, now: number): void {
  entry.lost = (now < entry.lostUntil ? entry.lost : 0) + units
  entry.lostUntil = now + entry.counter.limit.windowSeconds * MS_PER_SECOND
}

/** Looks how much others took since the answer before, and learns this instance's share. */
export function learnShare(entry: Entry, reading: Reading): void {
  const { shareFrom, counter } = entry
  if (shareFrom !== undefined && reading.nowUs - shareFrom.nowUs < SHARE_SLOT_MS * US_PER_MS) {
    entry.takenSince += reading.taken
    return
  }
  const isOneWindow = shareFrom !== undefined && windowOf(counter, reading.nowUs) === windowOf(counter, shareFrom.nowUs)
  const taken = isOneWindow ? takenBetween(counter.limit, shareFrom, reading) : 0
  if (taken > 0) entry.share = (entry.share + Math.min(1, Math.max(0, entry.takenSince / taken))) / 2
  entry.shareFrom = reading
  entry.takenSince = reading.taken
}

/** By everybody. */
function takenBetween(limit: Limit, from: Reading, to: Reading): number {
  if (limit.burst === 0) return to.held - from.held
  return refilled(limit, from.held / US_PER_SECOND, to.nowUs - from.nowUs) - to.held / US_PER_SECOND
}

/** The store's clock now, counted from when it was asked: never behind it, so that a slice is not spent after its window. */
function storeTimeUs(entry: Entry, now: number): number {
  return entry.reading.nowUs + Math.round((now - entry.readAt) * US_PER_MS)
}

export function windowOf({ limit }: Counter, nowUs: number): number {
  return limit.burst > 0 ? 0 : windowIndexAt(nowUs, limit.windowSeconds)
}

export function isInWindow(entry: Entry, now: number): boolean {
  return windowOf(entry.counter, storeTimeUs(entry, now)) === windowOf(entry.counter, entry.reading.nowUs)
}

/** What the store would have answered: it counts what is held here as taken. */
export function localReading(entry: Entry | undefined, taken: number, now: number): Reading {
  if (entry === undefined) return NOTHING
  const { reading, units, counter } = entry
  const isBucket = counter.limit.burst > 0
  const held = isBucket ? reading.held - (reading.taken - units) * US_PER_SECOND : reading.held + reading.taken - units
  return { taken, nowUs: storeTimeUs(entry, now), held, heldBefore: reading.heldBefore }
}

/** A refusal is certain until time alone makes room, unless somebody gives back. */
export function block(entry: Entry, reading: Reading, now: number, units: number): void {
  entry.reading = entry.units === 0 ? reading : entry.reading
  if (entry.units === 0) entry.readAt = now
  entry.blockedUntil = now + untilRoomUs(entry.counter, reading, units) / US_PER_MS
  entry.lookAt = Math.min(entry.blockedUntil, now + LOOK_EVERY_MS)
  entry.blockedUnits = units
}

function untilRoomUs({ limit }: Counter, reading: Reading, units: number): number {
  const windowUs = limit.windowSeconds * US_PER_SECOND
  if (limit.burst > 0) return ((units * US_PER_SECOND - reading.held) / US_PER_SECOND / limit.limit) * windowUs
  const elapsed = elapsedUs(reading.nowUs, windowIndexAt(reading.nowUs, limit.windowSeconds), limit.windowSeconds)
  const { held: current, heldBefore: previous } = reading
  const room = limit.limit - units + 1
  if (current >= room) return windowUs - elapsed
  const over = estimateOf({ current, previous }, elapsed, limit.windowSeconds) - room
  // Each µs forgets previous / window.
  return previous === 0 ? 0 : (over / previous) * windowUs
}
