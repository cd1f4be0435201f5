import { normalised } from '../../../schemas/normalised.ts'

/** Minimum and maximum number of digits of the card numbers that are found. ISO/IEC 7812-1 sets the maximum. */
const MIN_DIGITS = 13
const MAX_DIGITS = 19
/** Characters that people write between groups of digits. */
const SEPARATORS = /[\s\-\u2010-\u2015]+/
const DIGITS = /^\d+$/
/**
 * A UUID with at least one letter. UUIDs are ignored, because their first three groups may happen to be 16 digits with
 * a valid check digit. Without this exception, one in 8,000 random UUIDs would be refused as a card number. The search
 * for a letter ends with the UUID, for two reasons: a letter after a UUID of digits must not count, and searching the
 * whole text again at each digit could block this process for seconds.
 */
const UUID = /(?<![\p{L}\p{N}])(?=[\d-]{0,35}[a-f])[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}(?![\p{L}\p{N}])/giu
/**
 * A hash or another random token of at least 96 bits, in hexadecimal digits. Such tokens are ignored if they contain at
 * least `MIN_HASH_LETTERS` letters, because one in 900 random tokens of 96 bits has 13 to 19 adjacent digits with a
 * valid check digit. Shorter tokens are treated like any other text.
 */
const HEX = /[\da-f]{24,}/gi
/**
 * Minimum number of letters in a hash. The minimum must exceed two, because the magnetic stripe data of a card, in
 * hexadecimal digits, has two letters: the separator D after the card number, and the padding F. Some random tokens
 * have fewer letters than this minimum: one in 700 tokens of 96 bits, and one in 17,000 tokens of 128 bits. Few of
 * these tokens also have a valid check digit. For the measured shares, see docs/services/fraud.md#scoring
 */
const MIN_HASH_LETTERS = 3
const RADIX = 10
/** Replaces a token in a string, so that the digits before and after the token do not become neighbours. */
const BREAK = '.'
const ASCII = /^[\x20-\x7e]*$/
/** Largest integer up to which JSON parsing loses no digits. */
const MAX_EXACT = Number.MAX_SAFE_INTEGER

/**
 * Returns whether any text, number or name in a JSON value contains the number of a payment card. A card number has 13
 * to 19 digits with a valid check digit, in one piece or in groups that are separated by spaces or dashes. Letters may
 * be next to the card number. Digits in UUIDs and hexadecimal hashes that contain letters are ignored, because these
 * can contain a valid sequence by chance.
 */
export function hasCardNumber(value: unknown): boolean {
  if (typeof value === 'string') return isCardText(value)
  if (typeof value === 'number') return isCardNumber(value)
  if (Array.isArray(value)) return value.some(hasCardNumber)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, part]) => isCardText(name) || hasCardNumber(part))
}

/**
 * Returns whether a number may be a card number. A number that may have lost digits cannot be checked, so it is treated
 * as a card number unless it is too long for one.
 */
function isCardNumber(value: number): boolean {
  if (!Number.isInteger(value)) return false
  if (Math.abs(value) <= MAX_EXACT) return isCardText(String(Math.abs(value)))
  return Math.abs(value) < RADIX ** MAX_DIGITS
}

function isCardText(text: string): boolean {
  if (text.length < MIN_DIGITS) return false
  const plain = ASCII.test(text) ? text : normalised(text, 'NFKC')
  const tokens = plain.replaceAll(UUID, BREAK).replaceAll(HEX, (digits) => (isHash(digits) ? BREAK : digits))
  return tokens.split(/[^\d\s\-\u2010-\u2015]+/).some(hasCardGroups)
}

function isHash(digits: string): boolean {
  return digits.replaceAll(/\d/g, '').length >= MIN_HASH_LETTERS
}

/** Checks all runs of adjacent groups, because other numbers may precede or follow the card number. */
function hasCardGroups(text: string): boolean {
  const groups = text.split(SEPARATORS)
  return groups.some((_group, first) => {
    let digits = ''
    for (let index = first; index < groups.length && DIGITS.test(groups[index]); index++) {
      digits += groups[index]
      if (digits.length > MAX_DIGITS) return false
      if (digits.length >= MIN_DIGITS && hasCheckDigit(digits)) return true
    }
    return false
  })
}

/** The Luhn check of ISO/IEC 7812-1. */
function hasCheckDigit(digits: string): boolean {
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index])
    const doubled = 2 * digit
    if (index % 2 === 0) sum += digit
    else sum += doubled >= RADIX ? doubled - (RADIX - 1) : doubled
  }
  return sum % RADIX === 0
}
