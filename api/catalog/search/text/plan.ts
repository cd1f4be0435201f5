import { type Word, wordsOf } from '../../../../state/indexes/catalog/words.ts'
import type { Synonyms } from './synonyms.ts'

/** A word of the query, with corrections that may replace it if the exact words find too few products. */
export interface PlannedWord extends Word {
  readonly corrections: readonly string[]
}

/** Adjacent words that synonyms may replace together. Most parts have one word and no synonyms. */
export interface PlannedPart {
  readonly words: readonly PlannedWord[]
  /** Alternatives to the words. Each alternative is a list of words, all of which must be found. */
  readonly synonyms: readonly (readonly string[])[]
}

/**
 * Which words of the query a product must contain. Units of numbers, and function words such as "with", are not
 * required if the query has other words.
 * - `all`: every word, in title, brand or attributes.
 * - `described`: every word or its correction, in title, brand, attributes or description.
 * - `most`: three quarters of the words, rounded down, but both words of a two-word query.
 * - `half`: half of the words, rounded down.
 */
export type Breadth = 'all' | 'described' | 'most' | 'half'

/**
 * The words that a search looks for. A cursor contains the breadth and the corrections, so that all pages of a search
 * look for the same words.
 */
export interface TextPlan {
  readonly breadth: Breadth
  readonly parts: readonly PlannedPart[]
}

/** Maximum number of words of a query that are used. Further words would add cost but hardly narrow the results. */
const MOST_WORDS = 24
/**
 * Maximum number of words of all synonyms together. The search server refuses queries with more than a thousand
 * clauses, and each of these words is one clause.
 */
export const MOST_SYNONYM_WORDS = 200

/** Returns the plan for the exact words of a query; undefined if the query has no words. */
export function planOf(query: string, synonyms: Synonyms): TextPlan | undefined {
  const words = wordsOf(query).slice(0, MOST_WORDS)
  if (words.length === 0) return undefined
  const parts: PlannedPart[] = []
  let room = MOST_SYNONYM_WORDS
  const fits = ({ length }: readonly string[]) => {
    room -= length
    return room >= 0
  }
  for (let at = 0; at < words.length; ) {
    const found = synonyms.at(words, at)
    const count = found?.count ?? 1
    parts.push({
      words: words.slice(at, at + count).map((word) => ({ ...word, corrections: [] })),
      synonyms: found?.alternatives.filter(fits) ?? [],
    })
    at += count
  }
  return { breadth: 'all', parts }
}

/**
 * Returns the plan with the given breadth, and with the corrections of its words.
 * @param corrections keyed by word
 */
export function corrected(plan: TextPlan, breadth: Breadth, corrections: ReadonlyMap<string, readonly string[]>): TextPlan {
  const parts = plan.parts.map((part) => ({
    ...part,
    words: part.words.map((word) => ({ ...word, corrections: corrections.get(word.text) ?? [] })),
  }))
  return { breadth, parts }
}

export function plannedWords(plan: TextPlan): PlannedWord[] {
  return plan.parts.flatMap(({ words }) => words)
}
