import { type Word, wordsOf } from '../../../../state/indexes/catalog/words.ts'

/** A group of terms with the same or similar meanings. */
export interface SynonymGroup {
  /** Words, or phrases of up to `MOST_TERM_WORDS` words. */
  readonly terms: readonly string[]
  /** Whether a search for the first term also finds the other terms, but not vice versa. */
  readonly one_way: boolean
}

export interface FoundSynonyms {
  /** Number of words of the query that the term covers. */
  readonly count: number
  /** The synonyms that the groups define for the term, each as a list of words. */
  readonly alternatives: readonly (readonly string[])[]
}

/** Finds the synonyms of words in a query. */
export interface Synonyms {
  /** Returns the synonyms of the longest term that starts at the given word. */
  at(words: readonly Word[], start: number): FoundSynonyms | undefined
}

export const NO_SYNONYMS: Synonyms = { at: () => undefined }

export const MOST_TERM_WORDS = 4

/** Builds a lookup by term from all groups. */
export function synonymsOf(groups: Iterable<SynonymGroup>): Synonyms {
  const byTerm = new Map<string, string[][]>()
  for (const { terms, one_way } of groups) {
    const all = terms.map(textsOf).filter((words) => words.length > 0)
    for (const term of one_way ? all.slice(0, 1) : all) {
      const key = term.join(' ')
      const others = all.filter((other) => other !== term && other.join(' ') !== key)
      byTerm.set(key, [...(byTerm.get(key) ?? []), ...others])
    }
  }
  if (byTerm.size === 0) return NO_SYNONYMS
  return {
    at(words, start) {
      for (let count = Math.min(MOST_TERM_WORDS, words.length - start); count > 0; count--) {
        const alternatives = byTerm.get(keyOf(words.slice(start, start + count)))
        if (alternatives !== undefined) return { count, alternatives }
      }
      return undefined
    },
  }
}

function textsOf(term: string): string[] {
  return wordsOf(term).map(({ text }) => text)
}

function keyOf(words: readonly Word[]): string {
  return words.map(({ text }) => text).join(' ')
}
