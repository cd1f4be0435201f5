import { termKey, termOfKey, woeidOfKey } from '../../schemas/trends/term.ts'
import type { TermBaseline, TermState } from '../../schemas/trends/types.ts'
import type { ByteSpan, PackedStore } from '../engine/index.ts'
import { type OnlyTweet, onlyTweetIn } from './only-tweet.ts'
import { RareRow, type RareTerm, stateIn } from './rare-terms.ts'

/** Number of stored terms visited between two pauses. The pauses let the event loop send heartbeats. */
export const TERMS_PER_PAUSE = 2_000

export interface TermStores {
  /** The rows of rare terms, by term. A row may be a note that its term is frequent. */
  readonly rare: Pick<PackedStore<string, RareTerm>, 'prefetch' | 'loadPrefetched' | 'findKey' | 'get' | 'scan'>
  /** The states of frequent terms, by region and term. */
  readonly frequent: Pick<PackedStore<string, TermState>, 'prefetch' | 'loadPrefetched' | 'get' | 'scan'>
}

/** All stores of terms, for code that also changes them. */
export interface AllTermStores {
  readonly rare: PackedStore<string, RareTerm>
  readonly frequent: PackedStore<string, TermState>
  /** The baselines, by region and term. */
  readonly baselines: PackedStore<string, TermBaseline>
}

/** Reads the states of terms in a region, whether they are stored as rare or as frequent terms. */
export interface StoredTerms {
  statesOf(woeid: number, terms: readonly string[]): (TermState | undefined)[]
  /**
   * Like `statesOf`, but returns an `OnlyTweet` for a rare term with a single contribution, because building a
   * `TermState` would be slower.
   */
  found(woeid: number, terms: readonly string[]): (TermState | OnlyTweet | undefined)[]
  /** Visits the rare terms in a fixed order, starting at a term. */
  rare(from?: string): Iterable<[term: string, row: RareTerm]>
  /** Visits the frequent terms of all regions in a fixed order, starting at a key. */
  frequent(from?: string): Iterable<[woeid: number, term: string, state: TermState, key: string]>
}

export function storedTerms({ rare, frequent }: TermStores): StoredTerms {
  const parts = new RareRow()

  function statesOf(woeid: number, terms: readonly string[]): (TermState | undefined)[] {
    return read(woeid, terms, (term) => stateIn(rare.get(term)!, woeid))
  }

  function found(woeid: number, terms: readonly string[]): (TermState | OnlyTweet | undefined)[] {
    return read(woeid, terms, (term, row) => onlyTweetIn(row, parts, woeid) ?? stateIn(rare.get(term)!, woeid))
  }

  /**
   * Reads terms in a region.
   * @param ofRare called for each rare term, after `parts` has read its row
   */
  function read<Found>(
    woeid: number,
    terms: readonly string[],
    ofRare: (term: string, row: Readonly<ByteSpan>) => Found,
  ): (TermState | Found | undefined)[] {
    for (const term of terms) rare.prefetch(term)
    rare.loadPrefetched()
    const frequentOnes = new Set<number>()
    const all = terms.map((term, i) => {
      const row = rare.findKey(term)
      if (row === undefined) return undefined
      if (parts.read(row).frequentHour === 0) return ofRare(term, row)
      frequentOnes.add(i)
      frequent.prefetch(termKey(woeid, term))
      return undefined
    })
    if (frequentOnes.size === 0) return all
    frequent.loadPrefetched()
    return all.map((each, i) => (frequentOnes.has(i) ? frequent.get(termKey(woeid, terms[i])) : each))
  }

  return {
    statesOf,
    found,
    *rare(from) {
      for (const entry of rare.scan({ gte: from })) if (!isFrequent(entry[1])) yield entry
    },
    *frequent(from) {
      for (const [key, state] of frequent.scan({ gte: from })) yield [woeidOfKey(key), termOfKey(key), state, key]
    },
  }
}

export function isFrequent(row: RareTerm | undefined): boolean {
  return row !== undefined && row.frequentHour !== 0
}
