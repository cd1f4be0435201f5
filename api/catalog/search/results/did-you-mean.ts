import { plannedWords, type TextPlan } from '../text/plan.ts'

const WORD = /[\p{L}\p{N}\p{M}]+/gu

/** Returns the query with the first correction of each misspelt word; null if nothing was corrected. */
export function didYouMean(query: string, plan: TextPlan): string | null {
  const corrections = new Map(
    plannedWords(plan).flatMap(({ text, corrections: [first] }) => (first === undefined ? [] : [[text, first] as const])),
  )
  if (corrections.size === 0) return null
  const changed = query.replace(WORD, (word) => corrections.get(word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()) ?? word)
  return changed === query ? null : changed
}
