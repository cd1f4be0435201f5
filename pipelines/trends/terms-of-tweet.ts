import { foldTerm } from '../../schemas/trends/term.ts'
import type { Tweet } from '../../schemas/trends/types.ts'

/** A tweet has room for some hundred n-grams; more is a producer's fault or an attack, and each costs state in three regions. */
const MAX_TERMS_PER_TWEET = 500
/** Most terms are written the same way again and again: folding them once is enough. */
const REMEMBERED_FOLDS = 50_000

/** The terms of tweets, each once per tweet, with the spelling that came first. Remembers recent foldings. */
export interface TermReader {
  /** Term → original. Valid until the next call. */
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
    // What is no term may be of any length.
    if (term === undefined) return undefined
    if (folds.size === REMEMBERED_FOLDS) folds.clear()
    folds.set(original, term)
    return term
  }

  return { termsOf }
}
