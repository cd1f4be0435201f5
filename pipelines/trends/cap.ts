import { type Codec, CodecError } from '../../schemas/codec.ts'
import { rawValue } from '../engine/index.ts'
import { CellReader, writeNumber } from './packed-cells.ts'
import { MAX_AHEAD_MINUTES, WINDOW_MINUTES } from './time.ts'

/**
 * Maximum number of contributions of one user to a term in any window, over all regions:
 * docs/services/trends.md#spam-cap
 */
export const MAX_PER_USER = 3

/**
 * Maximum number of terms remembered per user. Nobody writes two thousand phrases in two hours. With up to nine minutes
 * per term, the state of a user stays below 110 KB.
 */
export const MAX_TERMS_PER_USER = 2_000

/**
 * Contributions that are this much older than a user's newest one share no window with any future contribution. A tweet
 * is at most one window old when it is counted, its windows reach back one more, and the newest may be dated ahead.
 */
export const REMEMBERED_MINUTES = 2 * WINDOW_MINUTES + MAX_AHEAD_MINUTES

/**
 * One user's recent contributions. A term is stored as a 53-bit fingerprint. The probability that two of a user's terms
 * collide is below one in a billion. They would then share their three contributions, which affects no other user, so
 * the fingerprint needs no secret.
 */
export class UserContributions {
  /** The minute of each contribution, keyed by the fingerprint of its term. Several minutes are in ascending order. */
  readonly #terms = new Map<number, number | number[]>()
  /** The minute of the newest counted contribution; -1 if there is none. */
  newest = -1
  /** No contribution is older. */
  #oldest = Infinity

  get size(): number {
    return this.#terms.size
  }

  /** Returns true if the term is already remembered, or if there is room for one more. */
  hasRoomFor(term: string): boolean {
    return this.#terms.size < MAX_TERMS_PER_USER || this.#terms.has(fingerprintOf(term))
  }

  /**
   * Counts a contribution unless some window of 60 minutes would then contain more than three for this term. The order
   * of arrival decides. Late contributions are checked against the windows before and after them.
   * @returns whether it counts
   */
  admit(term: string, minute: number): boolean {
    const fingerprint = fingerprintOf(term)
    const known = this.#terms.get(fingerprint)
    if (known === undefined) {
      this.#put(fingerprint, minute)
    } else {
      const minutes = typeof known === 'number' ? [known] : known
      if (minutes.length >= MAX_PER_USER && fullestWindowWith(minutes, minute) > MAX_PER_USER) return false
      let place = minutes.length
      while (place > 0 && minutes[place - 1] > minute) place--
      minutes.splice(place, 0, minute)
      this.#put(fingerprint, minutes)
    }
    this.#note(minute)
    return true
  }

  /** Deletes contributions before `oldest`, and terms without contributions. */
  forgetBefore(oldest: number): void {
    if (oldest <= this.#oldest) return
    this.#oldest = Infinity
    this.newest = -1
    for (const [fingerprint, known] of this.#terms) {
      const minutes = (typeof known === 'number' ? [known] : known).filter((minute) => minute >= oldest)
      if (minutes.length === 0) {
        this.#terms.delete(fingerprint)
        continue
      }
      this.#put(fingerprint, minutes.length === 1 ? minutes[0] : minutes)
      for (const minute of minutes) this.#note(minute)
    }
  }

  /** @internal for the codec */
  restore(fingerprint: number, minutes: number | number[]): void {
    this.#put(fingerprint, minutes)
    if (typeof minutes === 'number') this.#note(minutes)
    else for (const minute of minutes) this.#note(minute)
  }

  entries(): MapIterator<[fingerprint: number, minutes: number | number[]]> {
    return this.#terms.entries()
  }

  /** What the state endpoint shows. */
  toJSON() {
    return [...this.#terms.values()]
  }

  #put(fingerprint: number, minutes: number | number[]): void {
    this.#terms.set(fingerprint, minutes)
  }

  #note(minute: number): void {
    if (minute > this.newest) this.newest = minute
    if (minute < this.#oldest) this.#oldest = minute
  }
}

const FINGERPRINT_BYTES = 8
const MAX_NUMBER_BYTES = 5
const TWO_32 = 2 ** 32

/** A row has, for each term, the fingerprint, the number of minutes, and the minutes. */
const codec: Codec<UserContributions> = {
  encode(user, out) {
    for (const [fingerprint, known] of user.entries()) {
      const count = typeof known === 'number' ? 1 : known.length
      out.reserve(FINGERPRINT_BYTES + (1 + count) * MAX_NUMBER_BYTES)
      out.buffer.writeUInt32LE(fingerprint % TWO_32, out.length)
      out.buffer.writeUInt32LE(Math.floor(fingerprint / TWO_32), out.length + FINGERPRINT_BYTES / 2)
      out.length += FINGERPRINT_BYTES
      writeNumber(count, out)
      if (typeof known === 'number') writeNumber(known, out)
      else for (const minute of known) writeNumber(minute, out)
    }
  },
  decode(buffer, start, end) {
    const reader = new CellReader(buffer, start, end)
    const user = new UserContributions()
    while (!reader.atEnd) {
      const at = reader.skip(FINGERPRINT_BYTES)
      const fingerprint = buffer.readUInt32LE(at) + buffer.readUInt32LE(at + FINGERPRINT_BYTES / 2) * TWO_32
      const count = reader.number()
      if (count === 0) throw new CodecError('a remembered term has no minutes')
      user.restore(fingerprint, count === 1 ? reader.number() : Array.from({ length: count }, () => reader.number()))
    }
    return user
  },
}

export const userContributions = rawValue(codec)

/** Hashes with two variants of FNV-1a, and mixes the bits as MurmurHash3 does. */
function fingerprintOf(term: string): number {
  let low = 0x811c9dc5
  let high = 0x9747b28c
  for (let i = 0; i < term.length; i++) {
    const unit = term.charCodeAt(i)
    low = Math.imul(low ^ unit, 0x01000193)
    high = Math.imul(high ^ unit, 0x5bd1e995) + 0x1b873593
  }
  // 21 bits, so that the result is an exact number.
  return (mixed(high) >>> 11) * TWO_32 + (mixed(low) >>> 0)
}

function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}

/** Returns the greatest number of contributions in any window that contains `minute`, plus a new one in `minute`. */
function fullestWindowWith(minutes: readonly number[], minute: number): number {
  const near = minutes.filter((known) => Math.abs(known - minute) < WINDOW_MINUTES)
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
