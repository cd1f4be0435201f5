import { foldTerm } from '../../schemas/trends/term.ts'
import type { Tweet } from '../../schemas/trends/types.ts'

/**
 * Maximum number of terms per tweet. A tweet has room for a few hundred n-grams. A tweet with more terms is a
 * producer's bug or an attack, and each term takes up state in three regions.
 */
const MAX_TERMS_PER_TWEET = 500

/** Returns the distinct terms of a tweet, each with its first spelling. */
export function termsOf({ hashtags, phrases }: Tweet): ReadonlyMap<string, string> {
  const terms = new Map<string, string>()
  for (const originals of [hashtags, phrases]) {
    for (const original of originals) {
      const term = foldTerm(original)
      if (term !== undefined && !terms.has(term) && terms.size < MAX_TERMS_PER_TWEET) terms.set(term, original)
    }
  }
  return terms
}
