import { termKey, termOfKey, woeidOfKey } from '../../schemas/trends/term.ts'
import type { TermState } from '../../schemas/trends/types.ts'
import type { KeyedStore, PackedStore } from '../engine/index.ts'
import { type RareTerm, stateIn } from './rare-terms.ts'

export interface TermStores {
  /** By term. It also knows which terms are frequent. */
  readonly rare: Pick<PackedStore<RareTerm>, 'prefetch' | 'loadPrefetched' | 'get' | 'scan'>
  /** By region and term. */
  readonly frequent: Pick<KeyedStore<string, TermState>, 'prefetch' | 'loadPrefetched' | 'get' | 'scan'>
}

/** Reads the states of terms in a region, wherever they are stored. */
export interface StoredTerms {
  statesOf(woeid: number, terms: readonly string[]): (TermState | undefined)[]
  rare(): Iterable<[term: string, row: RareTerm]>
  frequent(): Iterable<[woeid: number, term: string, state: TermState, key: string]>
}

export function storedTerms({ rare, frequent }: TermStores): StoredTerms {
  function statesOf(woeid: number, terms: readonly string[]): (TermState | undefined)[] {
    for (const term of terms) rare.prefetch(term)
    rare.loadPrefetched()
    const rows = terms.map((term) => rare.get(term))
    for (const [i, term] of terms.entries()) if (isFrequent(rows[i])) frequent.prefetch(termKey(woeid, term))
    frequent.loadPrefetched()
    return rows.map((row, i) => {
      if (row === undefined) return undefined
      return isFrequent(row) ? frequent.get(termKey(woeid, terms[i])) : stateIn(row, woeid)
    })
  }

  return {
    statesOf,
    *rare() {
      for (const entry of rare.scan()) if (!isFrequent(entry[1])) yield entry
    },
    *frequent() {
      for (const [key, state] of frequent.scan()) yield [woeidOfKey(key), termOfKey(key), state, key]
    },
  }
}

export function isFrequent(row: RareTerm | undefined): boolean {
  return row !== undefined && row.frequentHour !== 0
}
