import { type HourlyUsual, usualInWindow } from './baseline.ts'
import { trendScore } from './score.ts'
import { NO_BASELINE } from './term-state.ts'

/** The evaluation of a term. It stays valid until one of the values on which it is based changes. */
export interface Look {
  /** Contributions in the window. */
  readonly count: number
  /** The highest count that the term can have from now on without further contributions. */
  readonly greatest: number
  /** Newest bucket of the last window for which the evaluation is valid, if no contribution arrives. */
  readonly through: number
  readonly tracked: boolean
  /** The usual counts of the term; undefined if it has no baseline. */
  readonly usual: HourlyUsual | undefined
  /** True if the candidate contains its drawn tweets (see drawn-tweets.ts). */
  readonly hasDrawn: boolean
}

/** Number of integers that are stored per term. The constants below are their positions. */
const NUMBERS = 8
const FLAGS = 0
const COUNT = 1
const GREATEST = 2
const THROUGH = 3
const SENT_IN = 4
const SENT_AT = 5
const SENT_BYTES = 6
const SENT_UNTIL = 7
/** Flags of an evaluated term. */
const PRESENT = 1
const TRACKED = 2
const DRAWN = 4
const KNOWN = 8
/** Number of usual counts that are stored per term. The constants below are their positions. */
const USUALS = 4
const BASELINE = 0
const BEFORE = 1
const DURING = 2
const LEAST = 3
const FIRST_TERMS = 16

/**
 * The evaluations of the leading terms of a region, and what was sent about these terms, by term number. Most
 * evaluations are unchanged at the next renewal. They are stored as numbers, because a partition has hundreds of
 * thousands of them, and garbage collection would have to visit each of them again and again if they were objects.
 */
export class Looks {
  #size = 0
  #numbers = new Int32Array(0)
  /** The usual counts of terms with a baseline. The array is empty as long as no term has a baseline. */
  #usuals = new Float64Array(0)

  /** Number of evaluated terms. */
  get size(): number {
    return this.#size
  }

  has(term: number): boolean {
    return this.#has(term, PRESENT)
  }

  #has(term: number, flag: number): boolean {
    return (this.#numbers[term * NUMBERS + FLAGS] & flag) !== 0
  }

  #flag(term: number, flag: number): void {
    this.#numbers[term * NUMBERS + FLAGS] |= flag
  }

  set(term: number, { count, greatest, through, tracked, usual, hasDrawn }: Look): void {
    const at = term * NUMBERS
    if (at >= this.#numbers.length) this.#grow(term)
    if (!this.has(term)) this.#size++
    const numbers = this.#numbers
    numbers[at + FLAGS] = PRESENT | (tracked ? TRACKED : 0) | (hasDrawn ? DRAWN : 0) | (usual === undefined ? 0 : KNOWN)
    numbers[at + COUNT] = count
    numbers[at + GREATEST] = greatest
    numbers[at + THROUGH] = through
    numbers.fill(0, at + SENT_IN, at + NUMBERS)
    if (usual === undefined) return
    if (this.#usuals.length === 0) this.#usuals = new Float64Array((this.#numbers.length / NUMBERS) * USUALS)
    this.#usuals[term * USUALS + BEFORE] = usual.before
    this.#usuals[term * USUALS + DURING] = usual.during
    this.#usuals[term * USUALS + LEAST] = usual.least
  }

  #grow(term: number): void {
    const capacity = Math.max(FIRST_TERMS, 2 ** Math.ceil(Math.log2(term + 1)))
    const numbers = new Int32Array(capacity * NUMBERS)
    numbers.set(this.#numbers)
    this.#numbers = numbers
    if (this.#usuals.length === 0) return
    const usuals = new Float64Array(capacity * USUALS)
    usuals.set(this.#usuals)
    this.#usuals = usuals
  }

  forget(term: number): void {
    if (!this.has(term)) return
    this.#numbers[term * NUMBERS + FLAGS] = 0
    this.#size--
  }

  /** Forgets all terms except these, which must have been evaluated. */
  keepOnly(terms: readonly number[]): void {
    const numbers = this.#numbers
    const kept = terms.map((term) => numbers[term * NUMBERS + FLAGS])
    for (let at = FLAGS; at < numbers.length; at += NUMBERS) numbers[at] = 0
    for (const [i, term] of terms.entries()) numbers[term * NUMBERS + FLAGS] = kept[i]
    this.#size = terms.length
  }

  /**
   * Updates the baseline of a term that has one. The baseline, and with it the score, changes from minute to minute.
   */
  renew(term: number, lastMinute: number): void {
    if (!this.isKnown(term)) return
    const at = term * USUALS
    const usual = { before: this.#usuals[at + BEFORE], during: this.#usuals[at + DURING], least: this.#usuals[at + LEAST] }
    this.#usuals[at + BASELINE] = usualInWindow(usual, lastMinute)
  }

  /** Returns true if the term has a baseline. */
  isKnown(term: number): boolean {
    return this.#has(term, KNOWN)
  }

  /** Returns the value that ranks the term: its score if it has a baseline, or else its count. */
  valueOf(term: number): number {
    const count = this.countOf(term)
    return count > 0 && this.isKnown(term) ? trendScore(count, this.baselineOf(term)) : count
  }

  /** Returns the highest value that the term can have without further contributions. */
  boundOf(term: number): number {
    const greatest = this.#numbers[term * NUMBERS + GREATEST]
    return this.isKnown(term) ? trendScore(greatest, this.#usuals[term * USUALS + LEAST]) : greatest
  }

  countOf(term: number): number {
    return this.#numbers[term * NUMBERS + COUNT]
  }

  baselineOf(term: number): number {
    return this.isKnown(term) ? this.#usuals[term * USUALS + BASELINE] : NO_BASELINE
  }

  throughOf(term: number): number {
    return this.#numbers[term * NUMBERS + THROUGH]
  }

  isTracked(term: number): boolean {
    return this.#has(term, TRACKED)
  }

  wasTracked(term: number): void {
    if (this.has(term)) this.#flag(term, TRACKED)
  }

  hasDrawn(term: number): boolean {
    return this.#has(term, DRAWN)
  }

  wasDrawn(term: number): void {
    this.#flag(term, DRAWN)
  }

  /** Returns the number of the renewal whose report has the details; 0 if they were not sent. */
  sentIn(term: number): number {
    return this.#numbers[term * NUMBERS + SENT_IN]
  }

  /** Returns the position of the details in the report of that renewal. */
  sentAt(term: number): number {
    return this.#numbers[term * NUMBERS + SENT_AT]
  }

  sentBytes(term: number): number {
    return this.#numbers[term * NUMBERS + SENT_BYTES]
  }

  /** Returns the last renewal whose report may refer to these details. */
  sentUntil(term: number): number {
    return this.#numbers[term * NUMBERS + SENT_UNTIL]
  }

  wasSent(term: number, sent: { readonly in: number; readonly at: number; readonly bytes: number; readonly until: number }): void {
    const at = term * NUMBERS
    this.#numbers[at + SENT_IN] = sent.in
    this.#numbers[at + SENT_AT] = sent.at
    this.#numbers[at + SENT_BYTES] = sent.bytes
    this.#numbers[at + SENT_UNTIL] = sent.until
  }

  /**
   * Renumbers the terms.
   * @param numbers the new number of each term; all evaluated terms have one
   */
  renumber(numbers: Int32Array): void {
    const old = { numbers: this.#numbers, usuals: this.#usuals }
    const terms = old.numbers.length / NUMBERS
    let last = -1
    for (let term = 0; term < terms; term++) if (this.has(term)) last = Math.max(last, numbers[term])
    this.#numbers = new Int32Array(0)
    this.#usuals = new Float64Array(0)
    if (last < 0) return
    this.#grow(last)
    if (old.usuals.length > 0) this.#usuals = new Float64Array((this.#numbers.length / NUMBERS) * USUALS)
    for (let term = 0; term < terms; term++) {
      if ((old.numbers[term * NUMBERS + FLAGS] & PRESENT) === 0) continue
      this.#numbers.set(old.numbers.subarray(term * NUMBERS, (term + 1) * NUMBERS), numbers[term] * NUMBERS)
      if (old.usuals.length > 0) this.#usuals.set(old.usuals.subarray(term * USUALS, (term + 1) * USUALS), numbers[term] * USUALS)
    }
  }
}
