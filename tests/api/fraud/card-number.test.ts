import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasCardNumber } from '../../../api/fraud/score/card-number.ts'
import { endsInTime } from '../../ends-in-time.ts'
import '../../property-limit.ts'

/** A test number that a card scheme publishes. */
const VISA = '4111111111111111'

test.each([
  ['one piece', VISA],
  ['groups', '4111 1111 1111 1111'],
  ['dashes', '4111-1111-1111-1111'],
  ['a typographic dash and a no-break space', '4111\u20131111\u00a01111 1111'],
  ['13 digits', '4222222222222'],
  ['19 digits', '6304000000000000000'],
  ['American Express', '3782 822463 10005'],
  ['other numbers next to it', '12 4111 1111 1111 1111 12/29 123'],
  ['words next to it', 'card:4111111111111111;exp'],
  ['letters next to it', `card${VISA}x`],
  ['letters next to its groups', 'card4111 1111 1111 1111x'],
  ['letters that are hexadecimal digits', `a${VISA}f`],
  ['magnetic stripe data', `${VISA}D25122010000012345678F`],
  ['next to a hash', `${'0123456789abcdef'.repeat(4)} ${VISA}`],
  ['inside a token', `tok_${VISA}_QxZ`],
  ['full-width digits', '\uff14111111111111111'],
  ['next to a UUID', '09239179-5708-4188-9fbf-c4db127086b1 4111-1111-1111-1111'],
  ['digits in the form of a UUID', '41111111-1111-1111-1111-111111111111'],
  ['digits in the form of a UUID, before a letter', '41111111-1111-1111-1111-111111111111-a'],
  ['a number', 4111111111111111],
  ['a number whose last digits were rounded', Number('6304000000000000123')],
  ['a deep value', { a: [{ b: { c: [null, VISA] } }] }],
  ['a name', { [VISA]: true }],
])('a card number is found: %s', (_what, value) => {
  expect(hasCardNumber(value)).toBe(true)
})

test.each([
  ['a wrong check digit', '4111111111111112'],
  ['12 digits', '411111111116'],
  ['20 digits', '41111111111111111111'],
  ['20 digits in letters', `card${VISA}1111x`],
  ['a hash that contains digits', `${VISA}fade`.padEnd(32, '0')],
  ['a hash after a word', `token${VISA}fade`.padEnd(64, '0')],
  ['letters between the groups', '4111a1111b1111c1111'],
  ['a UUID whose first groups end with a valid check digit', '09239179-5708-4188-9fbf-c4db127086b1'],
  ['the same UUID after a word', 'card-09239179-5708-4188-9FBF-C4DB127086B1'],
  ['a fraction', 41111111111.11111],
  ['a number that is greater than any card number', 1e30],
  ['nothing', { type: null, expires: true, digits: [], amount: 20 }],
])('another value is not mistaken for a card number: %s', (_what, value) => {
  expect(hasCardNumber(value)).toBe(false)
})

test('every number of 13 to 19 digits with a valid check digit is found, whatever spaces and dashes it contains', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 12, maxLength: 18 }),
      fc.array(fc.constantFrom('', '', ' ', '-', ' - '), { minLength: 18, maxLength: 18 }),
      (digits, separators) => {
        const number = [...digits, checkDigit(digits)]
        expect(
          hasCardNumber(
            number
              .map((digit, index) => `${digit}${separators[index] ?? ''}`)
              .join('')
              .replace(/\D+$/, ''),
          ),
        ).toBe(true)
      },
    ),
  )
})

// In a text of this length, a search that began again at each digit would take many minutes. So would normalisation
// that sorted all combining marks of the text together.
test.each(['1-', '12-', '1 ', '12345678-1234-', 'a1', '\uff11-', '\u0301\u0316'])(
  'a long text that repeats %j is checked within the time limit',
  (piece) => {
    const text = piece.repeat(1_000_000 / piece.length)
    expect(endsInTime(() => hasCardNumber(text))).toBe(false)
  },
)

test.each<[string, (hash: Buffer) => string]>([
  ['SHA-256 in hexadecimal digits', (hash) => hash.toString('hex')],
  ['128 bits in hexadecimal digits', (hash) => hash.toString('hex').slice(0, 32)],
  ['UUIDs', (hash) => hash.toString('hex').replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, '$1-$2-4$3-8$4-$5')],
  ['SHA-256 in base64', (hash) => hash.toString('base64url')],
  ['64 bits in base 36', (hash) => `tok_${hash.readBigUInt64LE().toString(36)}`],
])('none of 20,000 random tokens is mistaken for a card number: %s', (_what, tokenOf) => {
  const hashes = Array.from({ length: 20_000 }, (_, index) => tokenOf(createHash('sha256').update(String(index)).digest()))
  expect(hashes.filter(hasCardNumber)).toEqual([])
})

/**
 * Returns the check digit that makes the Luhn sum a multiple of 10. Unlike the code under test, this function adds from
 * the left.
 */
function checkDigit(digits: readonly number[]): number {
  const sum = digits.reduce((total, digit, index) => {
    const isDoubled = (digits.length - index) % 2 === 1
    return total + (isDoubled ? [0, 2, 4, 6, 8, 1, 3, 5, 7, 9][digit] : digit)
  }, 0)
  return (10 - (sum % 10)) % 10
}
