import { compareUtf8 } from './candidate.ts'
import type { TermBytes, TermTable } from './term-table.ts'

/** A lower limit: all terms that rank above it, by value and then by text, are remembered. */
export interface Floor {
  readonly term: string
  readonly value: number
}

/** Receives the changes that must be saved. */
export interface ContendersListener {
  added(term: string): void
  floorMoved(floor: Floor): void
}

/** Evaluates terms. Terms are given by their numbers in the table. */
export interface Evaluator {
  /** Called with the terms whose bounds are not enough to rank them, before their values are requested. */
  evaluate(terms: readonly number[]): void
  /** Returns the exact current value. */
  valueOf(term: number): number
  /** Returns the highest value that the term can have until it is offered again; at least its current value. */
  boundOf(term: number): number
}

export interface Best {
  readonly terms: readonly number[]
  /** Upper bound for the value of any omitted term. */
  readonly rest: number
}

/**
 * Factor by which the number of remembered terms may exceed `keep` before they are trimmed to `keep`. Trimming is
 * therefore rare.
 */
const TRIM_FACTOR = 2
const FIRST_TERMS = 16
/** Flags of a term. */
const REMEMBERED = 1
/** The term is in `#order`. */
const ORDERED = 2
/** The value of the term is known. Otherwise its bound is used. */
const EXACT = 4

/**
 * The values by which terms are ranked, indexed by the number of the term. They are needed only while terms are ranked,
 * so all instances of `Contenders` share one array.
 */
let values = new Float64Array(FIRST_TERMS)

/**
 * Tracks the terms that may rank among the best in one region, without remembering all terms of the region.
 *
 * Remembers at most 2 × `keep` terms, once their bounds are known. A term is offered with the highest value that it can
 * have until its next offer. A term that was below the floor when it was last offered is therefore still below the
 * floor, and the best terms above the floor are exact.
 */
export class Contenders {
  readonly #keep: number
  #table: TermTable
  readonly #listener: ContendersListener | undefined
  #bounds = new Float64Array(0)
  #flags = new Uint8Array(0)
  #size = 0
  /**
   * All remembered terms and some forgotten ones, in the order of the last ranking, followed by the terms that were
   * added since. An array that is almost in order is sorted much faster.
   */
  #order: number[] = []
  /** The floor above which all terms are remembered. Without a floor, all terms are remembered. */
  #floor: { readonly term: Buffer; readonly value: number } | undefined
  /** Number of loaded terms whose bounds are not known. */
  #unknown = 0
  #isLow = false

  /**
   * @param keep must be greater than the `count` that is passed to `best`. The surplus is the number of terms that
   * may fall below the floor before all terms must be offered again
   * @param table numbers the terms
   */
  constructor(keep: number, table: TermTable, listener?: ContendersListener) {
    this.#keep = keep
    this.#table = table
    this.#listener = listener
  }

  get size(): number {
    return this.#size
  }

  /** True if, at the last call to `best`, fewer than `count` + `reserve` terms were above the floor. */
  get isLow(): boolean {
    return this.#isLow
  }

  get floor(): Floor | undefined {
    return this.#floor && { term: this.#floor.term.toString(), value: this.#floor.value }
  }

  remembers(term: number): boolean {
    return (this.#flags[term] & REMEMBERED) !== 0
  }

  names(): string[] {
    const names: string[] = []
    for (let term = 0; term < this.#flags.length; term++) if (this.remembers(term)) names.push(this.#table.text(term))
    return names
  }

  /**
   * Records the highest value that a term can have until it is offered again; 0 if it has no value. Offer every term
   * whenever its value may have grown.
   * @param known the number of the term; -1 if the table does not have it
   */
  offer(bytes: TermBytes, bound: number, known = this.#table.find(bytes)): void {
    if (known >= 0 && this.remembers(known)) {
      if (this.#bounds[known] === Infinity) this.#unknown--
      this.#bounds[known] = bound
      if (bound === 0) this.#forget(known)
      return
    }
    if (bound === 0 || this.isBelow(bytes, bound)) return
    this.#add(known < 0 ? this.#table.add(bytes) : known, bound)
    this.#listener?.added(bytes.record.toString('utf8', bytes.termStart, bytes.termEnd))
    this.#trimIfFull()
  }

  /** Returns true if a term with this bound is below the floor. */
  isBelow({ record, termStart, termEnd }: TermBytes, bound: number): boolean {
    const floor = this.#floor
    if (floor === undefined || bound > floor.value) return false
    return bound < floor.value || compareUtf8(floor.term, 0, floor.term.length, record, termStart, termEnd) < 0
  }

  #add(term: number, bound: number): void {
    if (term >= this.#flags.length) this.#grow(term)
    this.#bounds[term] = bound
    if ((this.#flags[term] & ORDERED) === 0) this.#order.push(term)
    this.#flags[term] = REMEMBERED | ORDERED
    this.#size++
  }

  #grow(term: number): void {
    const capacity = Math.max(FIRST_TERMS, 2 ** Math.ceil(Math.log2(term + 1)))
    const bounds = new Float64Array(capacity)
    bounds.set(this.#bounds)
    this.#bounds = bounds
    const flags = new Uint8Array(capacity)
    flags.set(this.#flags)
    this.#flags = flags
  }

  #forget(term: number): void {
    this.#flags[term] &= ~(REMEMBERED | EXACT)
    this.#size--
  }

  /** Sorts the terms by their bounds. */
  #sortByBound(): void {
    if (values.length < this.#bounds.length) values = new Float64Array(this.#bounds.length)
    this.#dropForgotten()
    for (const term of this.#order) {
      values[term] = this.#bounds[term]
      this.#flags[term] &= ~EXACT
    }
    this.#sort()
  }

  #dropForgotten(): void {
    const order = this.#order
    let kept = 0
    for (const term of order) {
      if (this.remembers(term)) order[kept++] = term
      else this.#flags[term] = 0
    }
    order.length = kept
  }

  #sort(): void {
    const table = this.#table
    this.#order.sort((a, b) => values[b] - values[a] || table.compare(a, b))
  }

  /** While the bound of a term is unknown, the term cannot be compared with others, so nothing is trimmed. */
  #trimIfFull(): void {
    if (this.#size > this.#keep * TRIM_FACTOR && this.#unknown === 0) this.#trim()
  }

  #trim(): void {
    this.#sortByBound()
    for (const term of this.#order.splice(this.#keep)) {
      this.#forget(term)
      this.#flags[term] = 0
    }
    const last = this.#order[this.#keep - 1]
    const value = this.#bounds[last]
    const bytes = this.#table.bytesOf(last)
    // The floor never falls, because a term that was forgotten under a higher floor may still have a value just below
    // that floor.
    if (this.isBelow(bytes, value)) return
    this.#floor = { term: Buffer.from(bytes.record.subarray(bytes.termStart, bytes.termEnd)), value }
    this.#listener?.floorMoved({ term: this.#floor.term.toString(), value })
  }

  /**
   * Returns the best `count` terms, sorted by value and then by text, without terms of value 0.
   * @param reserve the contenders count as low if fewer than this many further terms are above the floor
   * @returns undefined if forgotten terms might be among the best; then call `restart` and offer every term again
   */
  best(count: number, evaluator: Evaluator, reserve = 0): Best | undefined {
    this.#sortByBound()
    const evaluated = this.#floor === undefined ? count : count + reserve
    for (;;) {
      const open = this.#order.slice(0, evaluated).filter((term) => (this.#flags[term] & EXACT) === 0)
      if (open.length === 0) break
      evaluator.evaluate(open)
      for (const term of open) {
        this.#bounds[term] = evaluator.boundOf(term)
        values[term] = evaluator.valueOf(term)
        this.#flags[term] |= EXACT
        if (this.#bounds[term] === 0) this.#forget(term)
      }
      this.#dropForgotten()
      this.#sort()
    }
    const best = this.#bestOf(count)
    this.#isLow = !this.#reaches(evaluated)
    // Terms whose bounds were not known were at the beginning of `#order`, so the loop has evaluated all of them.
    if (this.#unknown > 0) {
      this.#unknown = 0
      this.#trimIfFull()
    }
    return best
  }

  /**
   * Takes the best terms from the beginning of `#order`. Terms of value 0 are at its end. Returns undefined if
   * forgotten terms might be among the best.
   */
  #bestOf(count: number): Best | undefined {
    if (!this.#reaches(count)) return undefined
    const terms = this.#order.slice(0, count).filter((term) => values[term] > 0)
    const next = this.#order.length > count ? values[this.#order[count]] : 0
    return { terms, rest: Math.max(next, this.#floor?.value ?? 0) }
  }

  /** Returns whether the first `count` terms of `#order` are the best ones, and not below forgotten terms. */
  #reaches(count: number): boolean {
    if (this.#floor === undefined) return true
    if (this.#order.length < count) return false
    const last = this.#order[count - 1]
    return values[last] > 0 && !this.isBelow(this.#table.bytesOf(last), values[last])
  }

  /** Replaces the terms and the floor with those of other contenders, which must use the same table. */
  takeOver(other: Contenders): void {
    this.#bounds = other.#bounds
    this.#flags = other.#flags
    this.#size = other.#size
    this.#order = other.#order
    this.#floor = other.#floor
    this.#unknown = other.#unknown
    this.#isLow = false
  }

  /** Forgets all terms. */
  restart(): void {
    this.#flags.fill(0)
    this.#order = []
    this.#size = 0
    this.#floor = undefined
    this.#unknown = 0
    this.#isLow = false
  }

  /** Loads terms. Their bounds are not known until the next call to `best`. */
  load(terms: Iterable<TermBytes>, loaded: Floor | undefined): void {
    this.#floor = loaded && { term: Buffer.from(loaded.term), value: loaded.value }
    for (const term of terms) this.#add(this.#table.add(term), Infinity)
    this.#unknown = this.#size
  }

  /**
   * Switches to another table.
   * @param numbers the new number of each term; all remembered terms have one
   */
  renumber(table: TermTable, numbers: Int32Array): void {
    const bounds = this.#bounds
    const order = this.#order.filter((term) => this.remembers(term))
    this.#table = table
    this.#order = []
    this.#size = 0
    this.#bounds = new Float64Array(0)
    this.#flags = new Uint8Array(0)
    for (const term of order) this.#add(numbers[term], bounds[term])
  }
}
