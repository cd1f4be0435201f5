/** Maximum number of code points of a folded term. Hashtags and phrases with a longer folded term are ignored. */
export const MAX_TERM_CODE_POINTS = 140
/**
 * Maximum number of UTF-16 code units of a hashtag or phrase as it was sent. The length is limited because every
 * spelling is stored with its term. A term of maximum length fits even if each of its letters takes four code units,
 * for example a base letter with accents.
 */
const MAX_ORIGINAL_LENGTH = 4 * MAX_TERM_CODE_POINTS

const SPACE = 0x20
const HASH = 0x23
const UPPER_A = 0x41
const UPPER_Z = 0x5a
const TILDE = 0x7e
const LEADING_HASHES = /^[#\s]+/
/** Case folding does not change the dotless i, but the lower case of its upper case is an i with a dot. */
const DOTLESS_I = 'ı'

/**
 * Returns the term to which a hashtag or phrase belongs. Spellings that differ only in case, width, compatibility form,
 * leading # or surrounding space are one term. Applies NFKC, then Unicode's full case folding, then drops leading #.
 * Folding is idempotent.
 * @returns undefined when nothing is left, when the term is longer than MAX_TERM_CODE_POINTS or contains a NUL, or when
 * the original is longer than MAX_ORIGINAL_LENGTH, for example because it has very many # or accents
 */
export function foldTerm(original: string): string | undefined {
  if (original.length > MAX_ORIGINAL_LENGTH) return undefined
  const folded = foldAscii(original) ?? foldUnicode(original).replace(LEADING_HASHES, '').trim()
  if (folded === '' || folded.includes('\0') || isTooLong(folded)) return undefined
  return folded
}

/**
 * Folds printable ASCII without regular expressions. Nearly all terms are ASCII, and half of these are already folded.
 * @returns undefined for other text
 */
function foldAscii(text: string): string | undefined {
  let start = 0
  let end = text.length
  let hasUpperCase = false
  for (let i = 0; i < end; i++) {
    const unit = text.charCodeAt(i)
    if (unit < SPACE || unit > TILDE) return undefined
    if (unit >= UPPER_A && unit <= UPPER_Z) hasUpperCase = true
    else if (i === start && (unit === SPACE || unit === HASH)) start++
  }
  while (end > start && text.charCodeAt(end - 1) === SPACE) end--
  const trimmed = start === 0 && end === text.length ? text : text.slice(start, end)
  return hasUpperCase ? trimmed.toLowerCase() : trimmed
}

/**
 * Folds and normalises. Folding can produce decomposed letters (upsilon with two accents), which need a second
 * normalisation.
 */
function foldUnicode(text: string): string {
  return foldCase(text.normalize('NFKC')).normalize('NFKC')
}

/**
 * Performs full case folding (Unicode, CaseFolding.txt, C + F) with JavaScript's own functions. Each code point is
 * converted to lower case, then to upper case, and then to lower case again. Code points are folded one at a time, so
 * that the final-sigma rule does not apply. Unlike in CaseFolding.txt, Cherokee letters become lower case instead of
 * upper case. This does not change which texts are equal after folding.
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

/** Returns the key of a term in one region, for topics and stores: `<woeid>:<term>`. */
export function termKey(woeid: number, term: string): string {
  return `${woeid}:${term}`
}

export function woeidOfKey(key: string): number {
  return Number(key.slice(0, key.indexOf(':')))
}

export function termOfKey(key: string): string {
  return key.slice(key.indexOf(':') + 1)
}
