import { Contenders, type ContendersListener } from './contenders.ts'
import { Looks } from './looks.ts'
import type { Kind } from './saved-standings.ts'
import { SentDetails } from './sent-details.ts'
import { type TermBytes, TermTable } from './term-table.ts'

interface ContendersOptions {
  readonly keep: number
  readonly listener: ContendersListener
}

/** Maximum number of evaluations kept per region in addition to the evaluations of the candidates. */
const MAX_SPARE_LOOKS = 256
/**
 * The table of terms is replaced when the number of its terms exceeds the number of needed terms multiplied by this
 * factor, plus SPARE_TERMS.
 */
const MAX_TABLE_FACTOR = 2
const SPARE_TERMS = 256

/** What a partition remembers about the leading terms of a region. */
export class RegionContenders {
  table = new TermTable()
  readonly fresh: Contenders
  readonly known: Contenders
  readonly looks = new Looks()
  readonly sent = new SentDetails()
  readonly #keep: Readonly<Record<Kind, number>>
  /** Number of terms in the table above which the table is replaced. */
  #fullTerms = SPARE_TERMS
  #refill: Readonly<Record<Kind, Contenders>> | undefined

  constructor(fresh: ContendersOptions, known: ContendersOptions) {
    this.#keep = { fresh: fresh.keep, known: known.keep }
    this.fresh = new Contenders(fresh.keep, this.table, fresh.listener)
    this.known = new Contenders(known.keep, this.table, known.listener)
  }

  /**
   * Offers a term whose contributions have changed. During a refill, also offers the term to the new contenders.
   * Forgets the last evaluation of the term. May replace the table and thus change the numbers of all terms.
   */
  offer(kind: Kind, term: TermBytes, bound: number): void {
    const number = this.table.find(term)
    if (number >= 0) this.looks.forget(number)
    this[kind].offer(term, bound, number)
    this.offerRefill(kind, term, bound)
    if (this.table.count > this.#fullTerms) this.#replaceTable()
  }

  /** Returns true if offering a term with this bound would change nothing. The term must not be a contender. */
  isBelow(kind: Kind, term: TermBytes, bound: number): boolean {
    return this[kind].isBelow(term, bound) && (this.#refill?.[kind].isBelow(term, bound) ?? true)
  }

  get isRefilled(): boolean {
    return this.#refill !== undefined
  }

  /**
   * Begins to collect new contenders, because the present ones are about to run out. From now on, `offer` also offers
   * terms to the new contenders. All terms that are not given to `offer` must be given to `offerRefill` before
   * `endRefill` is called.
   */
  beginRefill(): void {
    this.#refill = { fresh: new Contenders(this.#keep.fresh, this.table), known: new Contenders(this.#keep.known, this.table) }
  }

  /** Offers a term to the new contenders only. */
  offerRefill(kind: Kind, term: TermBytes, bound: number): void {
    if (this.#refill === undefined) return
    this.#refill[kind].offer(term, bound)
    if (this.table.count > this.#fullTerms) this.#replaceTable()
  }

  /** Replaces the contenders with the new ones. */
  endRefill(): void {
    if (this.#refill === undefined) return
    this.fresh.takeOver(this.#refill.fresh)
    this.known.takeOver(this.#refill.known)
    this.#refill = undefined
  }

  /** Forgets the contenders of all kinds. Every term must then be offered again. */
  restart(): void {
    this.fresh.restart()
    this.known.restart()
    this.#refill = undefined
  }

  /** Forgets the contenders with a baseline. Every term with a baseline must then be offered again. */
  restartKnown(): void {
    this.known.restart()
    this.#refill?.known.restart()
  }

  /** Updates the evaluation of a term, if there is one. Must be called when the region has begun to track the term. */
  wasTracked(term: TermBytes): void {
    const number = this.table.find(term)
    if (number >= 0) this.looks.wasTracked(number)
  }

  /**
   * Must be called after each report. Forgets the evaluations of all terms that are not candidates if there are more
   * than `MAX_SPARE_LOOKS` of them.
   */
  ranked(candidates: readonly number[]): void {
    if (this.looks.size > MAX_SPARE_LOOKS + candidates.length) this.looks.keepOnly(candidates)
  }

  #replaceTable(): void {
    const old = this.table
    const table = new TermTable()
    const numbers = new Int32Array(old.count).fill(-1)
    const all = [this.fresh, this.known, ...(this.#refill === undefined ? [] : [this.#refill.fresh, this.#refill.known])]
    for (let term = 0; term < old.count; term++) {
      if (this.looks.has(term) || all.some((contenders) => contenders.remembers(term))) numbers[term] = table.add(old.bytesOf(term))
    }
    this.table = table
    for (const contenders of all) contenders.renumber(table, numbers)
    this.looks.renumber(numbers)
    this.#fullTerms = MAX_TABLE_FACTOR * table.count + SPARE_TERMS
  }
}
