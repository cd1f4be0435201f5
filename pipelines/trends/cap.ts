import { type ByteWriter, type Codec, CodecError } from '../../schemas/codec.ts'
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

/** Number of terms for which a new object reserves memory. V8 keeps such small arrays in its own heap. */
const FIRST_TERMS = 8

/**
 * One user's recent contributions. A term is stored as a 53-bit fingerprint. The probability that two of a user's terms
 * collide is below one in a billion. Two colliding terms would share the limit of three contributions. This would
 * affect no other user, so the fingerprint needs no secret.
 *
 * The contributions are in flat arrays, so one object can be reused for all users without allocating memory for each of
 * their terms.
 */
export class UserContributions {
  /** The fingerprints of the terms, in the order of their first contributions. */
  #fingerprints = new Float64Array(FIRST_TERMS)
  /**
   * For each term, the position in `#contributions` at which its contributions end and those of the next term begin.
   */
  #ends = new Int32Array(FIRST_TERMS)
  #terms = 0
  /** The contributions of all terms. Those of one term are in the order of their minutes. */
  #contributions = new Int32Array(FIRST_TERMS)
  /** The user's places. A stored contribution refers to a place by its position in this list. */
  readonly places: number[] = []
  /** The minute of the newest counted contribution; -1 if there is none. */
  newest = -1
  /** Lower bound for the minutes of all contributions; Infinity if there are none. */
  #oldest = Infinity

  get size(): number {
    return this.#terms
  }

  /** Returns true if the term is already remembered, or if there is room for one more. */
  hasRoomFor(fingerprint: number): boolean {
    return this.#terms < MAX_TERMS_PER_USER || this.#find(fingerprint) >= 0
  }

  /**
   * Counts a contribution unless some window of 60 minutes would then contain more than three contributions to this
   * term. Contributions that arrive first take precedence. Late contributions are checked against the windows before
   * and after them.
   * @param fingerprint the fingerprint of the term
   * @returns the repeats that the contribution creates; undefined if the contribution is not counted
   */
  admit(fingerprint: number, minute: number, place: number): readonly Repeat[] | undefined {
    const term = this.#find(fingerprint)
    let repeats = NO_REPEATS
    if (term < 0) {
      this.#addTerm(fingerprint)
      this.#insert(this.#terms - 1, this.#count, this.#stored(minute, place))
    } else {
      const all = this.#placedOf(term)
      if (all.length >= MAX_PER_USER && fullestWindowWith(all, minute) > MAX_PER_USER) return undefined
      let at = all.length
      while (at > 0 && all[at - 1].minute > minute) at--
      repeats = repeatsWith(all, at, { minute, place })
      this.#insert(term, this.#startOf(term) + at, this.#stored(minute, place))
    }
    this.#note(minute)
    return repeats
  }

  /** Deletes contributions before `oldest`, and terms without contributions. */
  forgetBefore(oldest: number): void {
    if (oldest <= this.#oldest) return
    this.#oldest = Infinity
    this.newest = -1
    let keptTerms = 0
    let kept = 0
    let from = 0
    for (let term = 0; term < this.#terms; term++) {
      const first = kept
      const end = this.#ends[term]
      for (; from < end; from++) {
        const contribution = this.#contributions[from]
        if (minuteOf(contribution) < oldest) continue
        this.#contributions[kept++] = contribution
        this.#note(minuteOf(contribution))
      }
      if (kept === first) continue
      this.#fingerprints[keptTerms] = this.#fingerprints[term]
      this.#ends[keptTerms++] = kept
    }
    this.#terms = keptTerms
    if (keptTerms === 0) this.places.length = 0
    else if (this.places.length > 1) this.#forgetPlaces()
  }

  /**
   * Drops the places without contributions. A user who tweets regularly would otherwise reach the maximum number of
   * places.
   */
  #forgetPlaces(): void {
    const used = new Set<number>()
    for (let i = 0; i < this.#count; i++) used.add(this.#contributions[i] >>> MINUTE_BITS)
    if (used.size === this.places.length) return
    const before = this.places.splice(0)
    for (let i = 0; i < this.#count; i++) {
      const contribution = this.#contributions[i]
      this.#contributions[i] = this.#stored(minuteOf(contribution), before[contribution >>> MINUTE_BITS])
    }
  }

  /** Replaces all contributions with those of an encoded user. */
  read(buffer: Buffer, start: number, end: number): this {
    this.clear()
    const reader = new CellReader(buffer, start, end)
    for (let left = reader.number(); left > 0; left--) this.places.push(reader.number())
    while (!reader.atEnd) {
      const at = reader.skip(FINGERPRINT_BYTES)
      let left = reader.number()
      if (left === 0) throw new CodecError('a remembered term has no contributions')
      this.#addTerm(buffer.readUInt32LE(at) + buffer.readUInt32LE(at + FINGERPRINT_BYTES / 2) * TWO_32)
      for (; left > 0; left--) {
        const contribution = reader.number()
        this.#insert(this.#terms - 1, this.#count, contribution)
        this.#note(minuteOf(contribution))
      }
    }
    return this
  }

  /** Appends the encoded user. */
  write(out: ByteWriter): void {
    out.reserve((1 + this.places.length) * MAX_NUMBER_BYTES + this.#terms * (FINGERPRINT_BYTES + MAX_NUMBER_BYTES))
    writeNumber(this.places.length, out)
    for (const place of this.places) writeNumber(place, out)
    let from = 0
    for (let term = 0; term < this.#terms; term++) {
      const fingerprint = this.#fingerprints[term]
      const end = this.#ends[term]
      out.reserve(FINGERPRINT_BYTES + (1 + end - from) * MAX_NUMBER_BYTES)
      out.buffer.writeUInt32LE(fingerprint % TWO_32, out.length)
      out.buffer.writeUInt32LE(Math.floor(fingerprint / TWO_32), out.length + FINGERPRINT_BYTES / 2)
      out.length += FINGERPRINT_BYTES
      writeNumber(end - from, out)
      for (; from < end; from++) writeNumber(this.#contributions[from], out)
    }
  }

  clear(): void {
    this.#terms = 0
    this.places.length = 0
    this.newest = -1
    this.#oldest = Infinity
  }

  /** Returns what the state endpoint shows. */
  toJSON() {
    return Array.from({ length: this.#terms }, (_, term) => this.#placedOf(term))
  }

  /** Returns the number of the term; -1 if it is not remembered. */
  #find(fingerprint: number): number {
    const fingerprints = this.#fingerprints
    for (let term = 0; term < this.#terms; term++) if (fingerprints[term] === fingerprint) return term
    return -1
  }

  /** Number of contributions. */
  get #count(): number {
    return this.#startOf(this.#terms)
  }

  #startOf(term: number): number {
    return term === 0 ? 0 : this.#ends[term - 1]
  }

  #placedOf(term: number): PlacedMinute[] {
    const placed: PlacedMinute[] = []
    for (let i = this.#startOf(term); i < this.#ends[term]; i++) {
      const contribution = this.#contributions[i]
      placed.push({ minute: minuteOf(contribution), place: this.places[contribution >>> MINUTE_BITS] })
    }
    return placed
  }

  /** Adds a term without contributions. */
  #addTerm(fingerprint: number): void {
    const term = this.#terms
    if (term === this.#fingerprints.length) {
      const fingerprints = new Float64Array(2 * term)
      fingerprints.set(this.#fingerprints)
      this.#fingerprints = fingerprints
      this.#ends = enlarged(this.#ends)
    }
    this.#fingerprints[term] = fingerprint
    this.#ends[term] = this.#count
    this.#terms++
  }

  /** Inserts a contribution of a term at this position. */
  #insert(term: number, at: number, contribution: StoredContribution): void {
    const count = this.#count
    if (count === this.#contributions.length) this.#contributions = enlarged(this.#contributions)
    if (at < count) this.#contributions.copyWithin(at + 1, at, count)
    this.#contributions[at] = contribution
    for (let next = term; next < this.#terms; next++) this.#ends[next]++
  }

  #stored(minute: number, place: number): StoredContribution {
    let at = this.places.indexOf(place)
    if (at < 0) {
      at = Math.min(this.places.length, MAX_PLACES - 1)
      this.places[at] = at === MAX_PLACES - 1 ? WORLDWIDE : place
    }
    return at * 2 ** MINUTE_BITS + minute
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

function enlarged(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * numbers.length)
  larger.set(numbers)
  return larger
}

/**
 * The format of a row: the number of places and the places; then, for each term, its fingerprint, the number of its
 * contributions and the contributions.
 */
const codec: Codec<UserContributions> = {
  encode: (user, out) => user.write(out),
  decode: (buffer, start, end) => new UserContributions().read(buffer, start, end),
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
