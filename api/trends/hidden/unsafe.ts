import { UNSAFE_ANYWHERE, UNSAFE_WORDS } from './unsafe-words.ts'

const MARKS = /\p{M}/gu
const words = new Set(UNSAFE_WORDS.map(withoutMarks))
const NO_LETTERS = /[^\p{L}\p{N}]+/u
/** Terms stay in lists for hours, so most are asked for again. */
const MAX_KNOWN = 50_000
const known = new Map<string, boolean>()

/**
 * Returns whether a folded term has one of the unsafe words. Hashtags have no spaces between words, so some words count
 * wherever they are.
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
