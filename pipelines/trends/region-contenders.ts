import { Contenders, type ContendersListener } from './contenders.ts'
import { Looks } from './looks.ts'
import type { Kind } from './saved-standings.ts'
import { SentDetails } from './sent-details.ts'
import { type TermBytes, TermTable } from './term-table.ts'

interface ContendersOptions {
  readonly keep: number
  readonly listener: ContendersListener
}

/** Number of evaluations kept per region in addition to the evaluations of the candidates. */
const MAX_SPARE_LOOKS = 128
/** The table of terms is replaced when it has more terms than this factor times the needed terms, plus SPARE_TERMS. */
const MAX_TABLE_FACTOR = 2
const SPARE_TERMS = 256

/** What a partition remembers about the leading terms of a region. */
export class RegionContenders {
  table = new TermTable()
  readonly fresh: Contenders
  readonly known: Contenders
  readonly looks = new Looks()
  readonly sent = new SentDetails()
  /** Number of terms in the table above which the table is replaced. */
  #fullTerms = SPARE_TERMS

  constructor(fresh: ContendersOptions, known: ContendersOptions) {
    this.fresh = new Contenders(fresh.keep, this.table, fresh.listener)
    this.known = new Contenders(known.keep, this.table, known.listener)
  }

  /**
   * Offers a term whose contributions have changed as a contender. May replace the table and thus change the numbers of
   * all terms.
   */
  offer(kind: Kind, term: TermBytes, bound: number): void {
    const number = this.table.find(term)
    if (number >= 0) this.looks.forget(number)
    this[kind].offer(term, bound, number)
    if (this.table.count > this.#fullTerms) this.#replaceTable()
  }

  /** Updates the evaluation of a term, if there is one. Must be called when the region has begun to track the term. */
  wasTracked(term: TermBytes): void {
    const number = this.table.find(term)
    if (number >= 0) this.looks.wasTracked(number)
  }

  /**
   * Must be called after each report. If the region has more than `MAX_SPARE_LOOKS` evaluations that are not of
   * candidates, forgets them.
   */
  ranked(candidates: readonly number[]): void {
    if (this.looks.size > MAX_SPARE_LOOKS + candidates.length) this.looks.keepOnly(candidates)
  }

  #replaceTable(): void {
    const old = this.table
    const table = new TermTable()
    const numbers = new Int32Array(old.count).fill(-1)
    for (let term = 0; term < old.count; term++) {
      if (this.fresh.remembers(term) || this.known.remembers(term) || this.looks.has(term)) numbers[term] = table.add(old.bytesOf(term))
    }
    this.table = table
    this.fresh.renumber(table, numbers)
    this.known.renumber(table, numbers)
    this.looks.renumber(numbers)
    this.#fullTerms = MAX_TABLE_FACTOR * table.count + SPARE_TERMS
  }
}
