/** Code points of a folded term, at most; longer hashtags and phrases are no terms. */
export const MAX_TERM_CODE_POINTS = 140
/**
 * UTF-16 units of a hashtag or phrase as it was sent, at most: every spelling is kept beside its term. Room for a term of the greatest length with
 * letters in four parts (base and accents), or outside the basic plane, and its #.
 */
const MAX_ORIGINAL_LENGTH = 4 * MAX_TERM_CODE_POINTS

const ASCII_ONLY = /^[\x20-\x7e]*$/
const LEADING_HASHES = /^[#\s]+/
/** Unicode gives the dotless i no other case; going over capitals would make it an i with a dot. */
const DOTLESS_I = 'ı'

/**
 * The identity of a trend: hashtags and phrases that differ in case, width, compatibility form, leading # or surrounding space are one term.
 * NFKC, then Unicode's full case folding, then leading # dropped. Folding a folded term changes nothing.
 * @returns undefined when nothing is left, when it is longer than MAX_TERM_CODE_POINTS or was sent with four times as many characters (a flood of #
 * or of accents), or when it holds a NUL, which no store or client would keep
 */
export function foldTerm(original: string): string | undefined {
  if (original.length > MAX_ORIGINAL_LENGTH) return undefined
  const folded = (ASCII_ONLY.test(original) ? original.toLowerCase() : foldUnicode(original)).replace(LEADING_HASHES, '').trim()
  if (folded === '' || folded.includes('\0') || isTooLong(folded)) return undefined
  return folded
}

/** Folding can leave letters in two parts (upsilon with two accents), hence the second normalisation. */
function foldUnicode(text: string): string {
  return foldCase(text.normalize('NFKC')).normalize('NFKC')
}

/**
 * Full case folding (Unicode, CaseFolding.txt, C + F) as the language offers it: lower case of the upper case of each code point alone, so that
 * no final-sigma rule applies. Cherokee ends in small letters instead of capitals, which groups the same words.
 */
function foldCase(text: string): string {
  let folded = ''
  for (const char of text) folded += char === DOTLESS_I ? char : foldCodePoint(char)
  return folded
}

function foldCodePoint(char: string): string {
  const upper = char.toLowerCase().toUpperCase()
  if (upper.length === 1) return upper.toLowerCase()
  let folded = ''
  for (const each of upper) folded += each.toLowerCase()
  return folded
}

function isTooLong(text: string): boolean {
  if (text.length <= MAX_TERM_CODE_POINTS) return false
  if (text.length > 2 * MAX_TERM_CODE_POINTS) return true
  let codePoints = 0
  for (const _ of text) codePoints++
  return codePoints > MAX_TERM_CODE_POINTS
}

/** A term of one region, as the key of topics and stores: `<woeid>:<term>`. */
export function termKey(woeid: number, term: string): string {
  return `${woeid}:${term}`
}

export function woeidOfKey(key: string): number {
  return Number(key.slice(0, key.indexOf(':')))
}

export function termOfKey(key: string): string {
  return key.slice(key.indexOf(':') + 1)
}
