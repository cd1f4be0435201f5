/**
 * A language as a number, to save space in the samples of terms. Tweets have ISO 639-1 tags, or longer tags that begin
 * with a language.
 */
export type LanguageCode = number

/**
 * The code for "no language". It stands for an empty tag, `und`, and tags whose first part does not have two or three
 * letters.
 */
export const NO_LANGUAGE: LanguageCode = 0

/** The number of codes. All codes are lower than this number. */
export const LANGUAGE_CODES = 27 ** 3

const LETTERS = 26
const LONGEST = 3
const FIRST_LETTER = 0x61
const LANGUAGE = /^[a-z]{2,3}(?![a-z])/
const UNDETERMINED = 'und'
/** Number of characters of a tag that determine its language: up to three letters, and the character after them. */
const DECISIVE = LONGEST + 1
/** Maximum number of cached tags. Tweets have a few dozen different tags. */
const MAX_REMEMBERED = 1_024
const remembered = new Map<string, LanguageCode>()

export function languageCode(tag: string): LanguageCode {
  // Only the beginning is remembered, because a faulty producer may send tags of any length.
  const start = tag.length > DECISIVE ? tag.slice(0, DECISIVE) : tag
  let code = remembered.get(start)
  if (code === undefined) {
    code = encoded(start)
    if (remembered.size === MAX_REMEMBERED) remembered.clear()
    remembered.set(start, code)
  }
  return code
}

function encoded(tag: string): LanguageCode {
  const [language] = LANGUAGE.exec(tag.toLowerCase()) ?? []
  if (language === undefined || language === UNDETERMINED) return NO_LANGUAGE
  let code = 0
  for (let i = 0; i < LONGEST; i++) code = code * (LETTERS + 1) + (i < language.length ? language.charCodeAt(i) - FIRST_LETTER + 1 : 0)
  return code
}

/** Returns the language in lower case; empty for `NO_LANGUAGE`. */
export function languageOf(code: LanguageCode): string {
  let language = ''
  for (let rest = code; rest > 0; rest = Math.floor(rest / (LETTERS + 1))) {
    const letter = rest % (LETTERS + 1)
    if (letter > 0) language = String.fromCharCode(FIRST_LETTER + letter - 1) + language
  }
  return language
}

/**
 * Returns the most common language. Of equally common languages, it returns the first in the alphabet. Returns an empty
 * text if no sample has a language.
 */
export function commonestLanguage(samples: readonly { readonly lang: LanguageCode }[]): string {
  let best = NO_LANGUAGE
  let most = 0
  for (const { lang } of samples) {
    if (lang === NO_LANGUAGE || lang === best) continue
    let count = 0
    for (const other of samples) if (other.lang === lang) count++
    if (count > most || (count === most && lang < best)) {
      best = lang
      most = count
    }
  }
  return languageOf(best)
}
