import { UNSAFE_ANYWHERE, UNSAFE_WORDS } from './unsafe-words.ts'

const MARKS = /\p{M}/gu
const words = new Set(UNSAFE_WORDS.map(withoutMarks))
const NO_LETTERS = /[^\p{L}\p{N}]+/u
/** Maximum number of cached results. Terms stay in lists for hours, so most terms are tested repeatedly. */
const MAX_KNOWN = 50_000
const known = new Map<string, boolean>()

/**
 * Returns whether a folded term contains an unsafe word. Hashtags have no spaces between words, so some words are
 * unsafe at any position.
 */
export function isUnsafe(term: string): boolean {
  let found = known.get(term)
  if (found === undefined) {
    if (known.size >= MAX_KNOWN) known.clear()
    found = hasUnsafeWord(withoutMarks(term))
    known.set(term, found)
  }
  return found
}

function hasUnsafeWord(text: string): boolean {
  return UNSAFE_ANYWHERE.some((part) => text.includes(part)) || text.split(NO_LETTERS).some((word) => words.has(word))
}

function withoutMarks(text: string): string {
  return text.normalize('NFKD').replace(MARKS, '')
}
