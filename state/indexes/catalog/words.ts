import { normalised } from '../../../schemas/normalised.ts'
import { unitOf } from './units.ts'

/**
 * A word of a title or a query as the index stores it.
 * - `word`: letters, or letters and digits.
 * - `number`: an integer, decimal or fraction, such as `3-1/2`.
 * - `measure`: a number together with its unit, such as `3-1/2in`. The list of words contains it after the number
 *   itself.
 * - `function`: a word such as "with", which says little about a product.
 */
export interface Word {
  readonly text: string
  readonly kind: 'word' | 'number' | 'measure' | 'function'
}

const FUNCTION_WORDS = new Set('a an and at by for from in is of on or per the to w with x'.split(' '))
const FRACTIONS: ReadonlyMap<string, string> = new Map([
  ['half', '1/2'],
  ['quarter', '1/4'],
])

/**
 * Matches a number or a word. A word with a capital letter in the middle, such as DeckOver, is stored as one word. A
 * single letter before a hyphen, as in `4 L-brackets`, is matched together with the hyphen, so that it is not mistaken
 * for a unit.
 */
const TOKEN = /\d+(?:\.\d+)?-\d+\/\d+|\d+\/\d+|\.\d+|(?<=\s)\p{L}-(?=\p{L})|[\p{L}\p{N}]+(?:\.\d+)?/gu
const NUMBER = /^(?:\d+(?:\.\d+)?(?:-\d+\/\d+)?|\d+\/\d+)$/
const NUMBER_WITH_UNIT = /^(\d+(?:\.\d+)?)(\p{L}+)$/u
const SURFACE_OR_VOLUME = /\b(sq|square|cu|cubic)\.?\s*(ft|feet|foot|in|inch|inches)\b\.?/g

/**
 * Splits text into words. Titles and queries go through this same function, so that `1/2"`, `1/2 in.` and `half inch`
 * are the same words. The result contains only letters, digits and `/ . -`, regardless of the text.
 */
export function wordsOf(text: string): Word[] {
  const tokens = tokensOf(text)
  const words: Word[] = []
  for (let at = 0; at < tokens.length; at++) {
    const unit = at + 1 < tokens.length ? unitOf(tokens[at + 1]) : undefined
    const token = unit === 'in' ? (FRACTIONS.get(tokens[at]) ?? tokens[at]) : tokens[at]
    if (!NUMBER.test(token)) {
      const word = token.replace('-', '')
      words.push({ text: spelled(word), kind: FUNCTION_WORDS.has(word) ? 'function' : 'word' })
      continue
    }
    words.push({ text: token, kind: 'number' })
    if (unit === undefined) continue
    words.push({ text: token + unit, kind: 'measure' })
    at++
  }
  return words
}

/**
 * Returns the last word of a text without replacing a unit with its usual spelling; undefined if the text has no words.
 * The word may be the beginning of a longer one: `ga` is a unit, but also begins `garden`.
 */
export function lastWordAsTyped(text: string): string | undefined {
  return tokensOf(text).at(-1)
}

/**
 * Spells a unit without a number as it is spelled after a number. Leaves single letters unchanged, because most of them
 * are not units.
 */
function spelled(token: string): string {
  return token.length === 1 ? token : (unitOf(token) ?? token)
}

function tokensOf(text: string): string[] {
  return [...tidied(text).matchAll(TOKEN)].flatMap(([token]) => {
    if (token.startsWith('.')) return [`0${token}`]
    const measure = NUMBER_WITH_UNIT.exec(token)
    return measure !== null && unitOf(measure[2]) !== undefined ? [measure[1], measure[2]] : [token]
  })
}

/**
 * Removes differences in spelling that do not change the meaning: case, accents, thousands separators and unit signs
 * such as `"`. In each pattern, only one part can match a given space. Otherwise, the time for a match would grow with
 * the square of the number of spaces.
 */
function tidied(text: string): string {
  return normalised(text, 'NFKD')
    .replace(/\p{M}/gu, '')
    .replaceAll('⁄', '/')
    .toLowerCase()
    .replace(/(\p{L})['’]s\b/gu, '$1s')
    .replace(/(\d),(?=\d{3}\b)/g, '$1')
    .replace(
      SURFACE_OR_VOLUME,
      (_, kind: string, unit: string) => (kind.startsWith('s') ? 'sq' : 'cu') + (unit.startsWith('f') ? 'ft' : 'in'),
    )
    .replace(/(\d)\s+(?=\d+\/\d)/g, '$1-')
    .replace(/(\d)\s*(?:["”″]|'')/g, '$1 in ')
    .replace(/(\d)\s*['’′](?!\p{L})/gu, '$1 ft ')
    .replace(/(\d(?:\s*(?:in|ft|cm|mm))?\.?)\s*[x*×]\s*(?=\d|\.\d)/g, '$1 x ')
}

/**
 * Words and signs that end a product's name in a title. The text after them describes what the product has or is for,
 * not what the product is.
 */
const END_OF_NAME = /\s(?:with|without|in|for|by|from|-|–|—)\s|,/i
const IN_BRACKETS = /\([^)]*\)/g
/**
 * Number of words at the end of a product's name that say what the product is. In English, a name ends with the noun
 * for the product, and the words before it narrow it down.
 */
const HEAD_WORDS = 3

/** Returns the last words of a product's name, which say what the product is. Leaves out numbers and measures. */
export function headOf(title: string): Word[] {
  const [name] = title.replace(IN_BRACKETS, ' ').split(END_OF_NAME, 1)
  return wordsOf(name)
    .filter(({ kind }) => kind === 'word' || kind === 'function')
    .slice(-HEAD_WORDS)
}
