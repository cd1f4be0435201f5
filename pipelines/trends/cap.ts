import { type Codec, CodecError } from '../../schemas/codec.ts'
import { WORLDWIDE } from '../../schemas/trends/places/regions.ts'
import { rawValue } from '../engine/index.ts'
import { MAX_PER_USER } from './max-per-user.ts'
import { CellReader, writeNumber } from './packed-cells.ts'
import { NO_REPEATS, type PlacedMinute, type Repeat, repeatsWith } from './repeats.ts'
import { MAX_AHEAD_MINUTES, WINDOW_MINUTES } from './time.ts'

/**
 * Maximum number of terms remembered per user. No person writes two thousand phrases in two hours. With up to nine
 * contributions per term, the state of a user stays below 110 KB.
 */
export const MAX_TERMS_PER_USER = 2_000

/**
 * A contribution that is this much older than the user's newest contribution shares no window with any future
 * contribution. A tweet is at most one window old when it is counted, its windows reach back one more window, and the
 * time of the newest tweet may be in the future.
 */
export const REMEMBERED_MINUTES = 2 * WINDOW_MINUTES + MAX_AHEAD_MINUTES

/**
 * A contribution as a number: the lower 27 bits are its minute since 1970 (enough until 2225), and the higher bits are
 * the position of its place in `places`. The 31 bits together are a small integer, for which V8 allocates no memory.
 */
type StoredContribution = number
const MINUTE_BITS = 27
const MINUTE_MASK = 2 ** MINUTE_BITS - 1

/**
 * Maximum number of places per user. Nearly all users have a single place. Contributions from further places are stored
 * as worldwide, so repeats among them are recognised only worldwide.
 */
const MAX_PLACES = 16

/**
 * One user's recent contributions. A term is stored as a 53-bit fingerprint. The probability that two of a user's terms
 * collide is below one in a billion. Two colliding terms would share the limit of three contributions. This would
 * affect no other user, so the fingerprint needs no secret.
 */
export class UserContributions {
  /**
   * The contributions, keyed by the fingerprint of their term. Several contributions to a term are in the order of
   * their minutes.
   */
  readonly #terms = new Map<number, StoredContribution | StoredContribution[]>()
  /** The user's places. A stored contribution refers to a place by its position in this list. */
  readonly places: number[] = []
  /** The minute of the newest counted contribution; -1 if there is none. */
  newest = -1
  /** Lower bound for the minutes of all contributions; Infinity if there are none. */
  #oldest = Infinity

  get size(): number {
    return this.#terms.size
  }

  /** Returns true if the term is already remembered, or if there is room for one more. */
  hasRoomFor(fingerprint: number): boolean {
    return this.#terms.size < MAX_TERMS_PER_USER || this.#terms.has(fingerprint)
  }

  /**
   * Counts a contribution unless some window of 60 minutes would then contain more than three contributions to this
   * term. Contributions that arrive first take precedence. Late contributions are checked against the windows before
   * and after them.
   * @param fingerprint the fingerprint of the term
   * @returns the repeats that the contribution creates; undefined if the contribution is not counted
   */
  admit(fingerprint: number, minute: number, place: number): readonly Repeat[] | undefined {
    const known = this.#terms.get(fingerprint)
    let repeats = NO_REPEATS
    if (known === undefined) {
      this.#put(fingerprint, this.#stored(minute, place))
    } else {
      const contributions = typeof known === 'number' ? [known] : known
      const all = contributions.map((each) => this.#placed(each))
      if (all.length >= MAX_PER_USER && fullestWindowWith(all, minute) > MAX_PER_USER) return undefined
      let at = all.length
      while (at > 0 && all[at - 1].minute > minute) at--
      repeats = repeatsWith(all, at, { minute, place })
      contributions.splice(at, 0, this.#stored(minute, place))
      this.#put(fingerprint, contributions)
    }
    this.#note(minute)
    return repeats
  }

  /** Deletes contributions before `oldest`, and terms without contributions. */
  forgetBefore(oldest: number): void {
    if (oldest <= this.#oldest) return
    this.#oldest = Infinity
    this.newest = -1
    for (const [fingerprint, known] of this.#terms) {
      const kept = (typeof known === 'number' ? [known] : known).filter((each) => minuteOf(each) >= oldest)
      if (kept.length === 0) {
        this.#terms.delete(fingerprint)
        continue
      }
      this.#put(fingerprint, kept.length === 1 ? kept[0] : kept)
      for (const each of kept) this.#note(minuteOf(each))
    }
    if (this.#terms.size === 0) this.places.length = 0
    else if (this.places.length > 1) this.#forgetPlaces()
  }

  /**
   * Drops the places without contributions. A user who tweets regularly would otherwise reach the maximum number of
   * places.
   */
  #forgetPlaces(): void {
    const used = new Set<number>()
    for (const known of this.#terms.values()) {
      if (typeof known === 'number') used.add(known >>> MINUTE_BITS)
      else for (const each of known) used.add(each >>> MINUTE_BITS)
    }
    if (used.size === this.places.length) return
    const before = this.places.splice(0)
    const moved = (each: StoredContribution) => this.#stored(minuteOf(each), before[each >>> MINUTE_BITS])
    for (const [fingerprint, known] of this.#terms) this.#put(fingerprint, typeof known === 'number' ? moved(known) : known.map(moved))
  }

  /** @internal for the codec */
  restore(fingerprint: number, contributions: StoredContribution | StoredContribution[]): void {
    this.#put(fingerprint, contributions)
    if (typeof contributions === 'number') this.#note(minuteOf(contributions))
    else for (const each of contributions) this.#note(minuteOf(each))
  }

  entries(): MapIterator<[fingerprint: number, contributions: StoredContribution | StoredContribution[]]> {
    return this.#terms.entries()
  }

  /** Returns what the state endpoint shows. */
  toJSON() {
    return [...this.#terms.values()].map((known) => (typeof known === 'number' ? [known] : known).map((each) => this.#placed(each)))
  }

  #placed(contribution: StoredContribution): PlacedMinute {
    return { minute: minuteOf(contribution), place: this.places[contribution >>> MINUTE_BITS] }
  }

  #stored(minute: number, place: number): StoredContribution {
    let at = this.places.indexOf(place)
    if (at < 0) {
      at = Math.min(this.places.length, MAX_PLACES - 1)
      this.places[at] = at === MAX_PLACES - 1 ? WORLDWIDE : place
    }
    return at * 2 ** MINUTE_BITS + minute
  }

  #put(fingerprint: number, contributions: StoredContribution | StoredContribution[]): void {
    this.#terms.set(fingerprint, contributions)
  }

  #note(minute: number): void {
    if (minute > this.newest) this.newest = minute
    if (minute < this.#oldest) this.#oldest = minute
  }
}

const FINGERPRINT_BYTES = 8
const MAX_NUMBER_BYTES = 5
const TWO_32 = 2 ** 32

function minuteOf(contribution: StoredContribution): number {
  return contribution & MINUTE_MASK
}

/**
 * The format of a row: the number of places and the places; then, for each term, its fingerprint, the number of its
 * contributions and the contributions.
 */
const codec: Codec<UserContributions> = {
  encode(user, out) {
    out.reserve((1 + user.places.length) * MAX_NUMBER_BYTES)
    writeNumber(user.places.length, out)
    for (const place of user.places) writeNumber(place, out)
    for (const [fingerprint, known] of user.entries()) {
      const count = typeof known === 'number' ? 1 : known.length
      out.reserve(FINGERPRINT_BYTES + (1 + count) * MAX_NUMBER_BYTES)
      out.buffer.writeUInt32LE(fingerprint % TWO_32, out.length)
      out.buffer.writeUInt32LE(Math.floor(fingerprint / TWO_32), out.length + FINGERPRINT_BYTES / 2)
      out.length += FINGERPRINT_BYTES
      writeNumber(count, out)
      if (typeof known === 'number') writeNumber(known, out)
      else for (const each of known) writeNumber(each, out)
    }
  },
  decode(buffer, start, end) {
    const reader = new CellReader(buffer, start, end)
    const user = new UserContributions()
    for (let left = reader.number(); left > 0; left--) user.places.push(reader.number())
    while (!reader.atEnd) {
      const at = reader.skip(FINGERPRINT_BYTES)
      const fingerprint = buffer.readUInt32LE(at) + buffer.readUInt32LE(at + FINGERPRINT_BYTES / 2) * TWO_32
      const count = reader.number()
      if (count === 0) throw new CodecError('a remembered term has no contributions')
      user.restore(fingerprint, count === 1 ? reader.number() : Array.from({ length: count }, () => reader.number()))
    }
    return user
  },
}

export const userContributions = rawValue(codec)

/**
 * Returns how many contributions the fullest window that contains `minute` would have after one more contribution in
 * `minute`.
 */
function fullestWindowWith(contributions: readonly PlacedMinute[], minute: number): number {
  const near = contributions.map((known) => known.minute).filter((known) => Math.abs(known - minute) < WINDOW_MINUTES)
  near.push(minute)
  near.sort((a, b) => a - b)
  let fullest = 0
  let oldest = 0
  for (let newest = 0; newest < near.length; newest++) {
    while (near[newest] - near[oldest] >= WINDOW_MINUTES) oldest++
    if (near[oldest] <= minute && minute <= near[newest]) fullest = Math.max(fullest, newest - oldest + 1)
  }
  return fullest
}
