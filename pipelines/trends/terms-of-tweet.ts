import { foldTerm } from '../../schemas/trends/term.ts'
import type { Tweet } from '../../schemas/trends/types.ts'

/**
 * Maximum number of terms per tweet. A tweet has room for a few hundred n-grams. More are a producer's bug or an
 * attack, and each takes state in three regions.
 */
const MAX_TERMS_PER_TWEET = 500
/** Number of cached foldings. Most terms occur again and again in the same spelling. */
const REMEMBERED_FOLDS = 50_000

/** Extracts the distinct terms of a tweet, each with its first spelling. Caches recent foldings. */
export interface TermReader {
  /** Maps each term to its original spelling. Valid until the next call. */
  termsOf(tweet: Tweet): ReadonlyMap<string, string>
}

export function termReader(): TermReader {
  const folds = new Map<string, string>()
  let terms = new Map<string, string>()

  function termsOf(tweet: Tweet): ReadonlyMap<string, string> {
    terms = new Map()
    for (const original of tweet.hashtags) add(original)
    for (const original of tweet.phrases) add(original)
    return terms
  }

  function add(original: string): void {
    const term = fold(original)
    if (term === undefined || terms.has(term) || terms.size === MAX_TERMS_PER_TWEET) return
    terms.set(term, original)
  }

  function fold(original: string): string | undefined {
    const known = folds.get(original)
    if (known !== undefined) return known
    const term = foldTerm(original)
    // Not cached, because text that is not a term may have any length.
    if (term === undefined) return undefined
    if (folds.size === REMEMBERED_FOLDS) folds.clear()
    folds.set(original, term)
    return term
  }

  return { termsOf }
}
